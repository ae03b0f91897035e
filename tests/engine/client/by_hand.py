"""A producer whose requests the test answers itself, one by one, at its own time."""

from __future__ import annotations

from typing import Any

from engine.client.producer import Producer
from engine.client.settings import ProducerSettings
from engine.events import Effect, Expired, Response, Send
from engine.wire import messages as m

TOPIC, TOPIC_ID = "orders", b"1" * 16


class ByHand:
    """`asked` are the requests without an answer, oldest first; time moves with `later`."""

    def __init__(self, **settings: Any) -> None:
        given = {name.replace("_", "."): value for name, value in settings.items()}
        self.producer = Producer("shop", (101,), ProducerSettings.of(given))
        self.now = 1_000_000
        self.asked: list[Send] = []
        self._carry_out(self.producer.start(self.now))

    def _carry_out(self, effects: list[Effect]) -> None:
        self.asked += [effect for effect in effects if isinstance(effect, Send)]

    def send(self, value: bytes, partition: int = 0) -> None:
        self._carry_out(self.producer.send(self.now, TOPIC, value, None, partition))

    def later(self, by_ms: int) -> None:
        self.now += by_ms * 1000
        self._carry_out(self.producer.step(self.now, Expired(("wake",))))

    def waiting(self, kind: type) -> list[Send]:
        """The requests of one kind that have no answer yet."""
        return [each for each in self.asked if isinstance(each.body, kind)]

    def answer(self, body: Any, request: type) -> None:
        """Answers the oldest request of a kind."""
        asked = self.waiting(request)[0]
        self.asked.remove(asked)
        response = Response(asked.destination, asked.token, body)
        self._carry_out(self.producer.step(self.now, response))

    def connect(self) -> None:
        self.answer(m.ApiVersionsResponse(), m.ApiVersionsRequest)

    def tell_leader(self, leader: int, *brokers: int, partitions: int = 1) -> None:
        """Answers a Metadata request: who leads all partitions, and which brokers there are."""
        response = m.MetadataResponse
        parts = [
            response.MetadataResponsePartition(partition_index=i, leader_id=leader, leader_epoch=0)
            for i in range(partitions)
        ]
        topic = response.MetadataResponseTopic(name=TOPIC, topic_id=TOPIC_ID, partitions=parts)
        nodes = [response.MetadataResponseBroker(node_id=n, host="h", port=n) for n in brokers]
        self.answer(response(brokers=nodes, topics=[topic]), m.MetadataRequest)

    def settle_produce(self, error: int = 0, partition: int = 0, **fields: Any) -> None:
        """Answers a Produce request for one partition; `fields` are the response's own."""
        response = m.ProduceResponse
        leader = fields.pop("current_leader", None) or response.LeaderIdAndEpoch()
        part = response.PartitionProduceResponse(
            index=partition, error_code=error, base_offset=-1 if error else 0,
            current_leader=leader,
        )  # fmt: skip
        topic = response.TopicProduceResponse(topic_id=TOPIC_ID, partition_responses=[part])
        self.answer(response(responses=[topic], **fields), m.ProduceRequest)
