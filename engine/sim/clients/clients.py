"""Simulated clients: small state machines that speak to brokers like real ones.

They record what the checks need: each send, its result, and each read.  A send ends in one of
three ways (as in Jepsen's tests): acknowledged, refused for certain, or unknown.  An unknown
record may or may not be in the log.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from engine.events import Answered, Effect, Event, Expired, Outbox, Response
from engine.records import batch
from engine.wire import messages as m
from engine.wire.errors import Errors
from engine.wire.structures import Message, RequestMessage

_HERE = "sim.clients.clients"
REQUEST_TIMEOUT_US = 3_000_000
RETRY_US = 100_000
ANSWERS_KEPT = 64
REFUSED = (
    Errors.MESSAGE_TOO_LARGE,
    Errors.INVALID_RECORD,
    Errors.CORRUPT_MESSAGE,
    Errors.INVALID_REQUIRED_ACKS,
    Errors.OUT_OF_ORDER_SEQUENCE_NUMBER,
)


class Routes:
    """The leaders by partition, from Metadata answers; asks the bootstrap brokers in turn."""

    def __init__(self, outbox: Outbox, brokers: tuple[int, ...]) -> None:
        self.outbox = outbox
        self.brokers = brokers
        self.turn = 0
        self.leaders: dict[tuple[str, int], int] = {}
        self.epochs: dict[tuple[str, int], int] = {}
        self.topic_ids: dict[str, bytes] = {}
        self.asking = False
        self.will_ask = False

    def ask_later(self, now: int) -> None:
        """Asks again in a moment, unless that is already planned."""
        if not self.will_ask:
            self.will_ask = True
            self.outbox.set_timer(("retry",), now + RETRY_US)

    def ask(self, topic: str) -> None:
        self.will_ask = False
        if self.asking:
            return
        self.asking = True
        self.turn += 1
        broker = self.brokers[self.turn % len(self.brokers)]
        body = m.MetadataRequest(
            topics=[m.MetadataRequest.MetadataRequestTopic(name=topic)],
            allow_auto_topic_creation=False,
        )
        self.outbox.send(broker, ("metadata",), body, REQUEST_TIMEOUT_US)

    def learn(self, now: int, body: Answered) -> None:
        """Takes in an answer; asks again if none came."""
        self.asking = False
        if not isinstance(body, m.MetadataResponse):
            self.ask_later(now)
            return
        for topic in body.topics:
            if topic.error_code != Errors.NONE or topic.name is None:
                continue
            if self.topic_ids.get(topic.name, topic.topic_id) != topic.topic_id:
                # Created again under its old name: another topic, whose epochs begin at 0.
                self.epochs = {at: e for at, e in self.epochs.items() if at[0] != topic.name}
                self.leaders = {at: b for at, b in self.leaders.items() if at[0] != topic.name}
            self.topic_ids[topic.name] = topic.topic_id
            for partition in topic.partitions:
                key = (topic.name, partition.partition_index)
                # A cut-off broker has old metadata; the epoch exposes it (KIP-320).
                if partition.leader_epoch >= self.epochs.get(key, -1):
                    self.epochs[key] = partition.leader_epoch
                    self.leaders[key] = partition.leader_id


@dataclass(slots=True)
class Sent:
    """One batch of the load and its result; `offset` is -1 unless acknowledged."""

    value: str
    sequence: int
    batch: bytes
    first_sent_us: int
    verdict: str = "pending"
    offset: int = -1
    attempts: int = 0
    asked_us: int = 0
    ended_us: int = -1


class Producer:
    """Sends one record every `period_us` to each partition in turn; retries until it ends.

    With `idempotent`, batches carry a producer id and sequence numbers.  One batch is in
    flight per partition, so order is kept.

    Simplified: each partition has a connection of its own, as if it had a producer of its own;
    the Java client puts all partitions that a broker leads into one request.
    """

    def __init__(
        self,
        name: str,
        topic: str,
        partitions: int,
        brokers: tuple[int, ...],
        *,
        acks: int = -1,
        period_us: int = 20_000,
        count: int = 1_000_000,
        idempotent: bool = False,
        delivery_timeout_us: int = 30_000_000,
    ) -> None:
        self.name = name
        self.topic = topic
        self.acks = acks
        self.period_us = period_us
        self.count = count
        self.idempotent = idempotent
        self.delivery_timeout_us = delivery_timeout_us
        self.outbox = Outbox()
        self.routes = Routes(self.outbox, brokers)
        self.brokers = brokers
        self.producer_id = -1
        self.made = 0
        self.queues: dict[int, list[Sent]] = {index: [] for index in range(partitions)}
        self.in_flight: dict[int, bool] = dict.fromkeys(range(partitions), False)
        self.history: dict[int, list[Sent]] = {index: [] for index in range(partitions)}

    @property
    def idle(self) -> bool:
        return self.made >= self.count and not any(self.queues.values())

    def finish(self, now: int) -> list[Effect]:
        """Stops making records; those already made are still sent."""
        self.count = self.made
        return self.outbox.drain()

    def start(self, now: int) -> list[Effect]:
        self.routes.ask(self.topic)
        if self.idempotent:
            self._ask_producer_id()
        self.outbox.set_timer(("make",), now + self.period_us)
        return self.outbox.drain()

    def _ask_producer_id(self) -> None:
        body = m.InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=0)
        broker = self.brokers[self.routes.turn % len(self.brokers)]
        self.routes.turn += 1
        self.outbox.send(broker, ("producer-id",), body, REQUEST_TIMEOUT_US)

    def step(self, now: int, event: Event) -> list[Effect]:
        match event:
            case Expired(("make",)):
                self._make(now)
            case Expired(("retry",)):
                self.routes.ask(self.topic)
            case Expired(("producer-id",)):
                self._ask_producer_id()
            case Response(_, ("metadata",), body):
                self.routes.learn(now, body)
            case Response(_, ("producer-id",), m.InitProducerIdResponse(error_code=0) as body):
                self.producer_id = body.producer_id
            case Response(_, ("producer-id",)):
                self.outbox.set_timer(("producer-id",), now + RETRY_US)
            case Response(_, ("produce", int(index)), body):
                self._answered(now, index, body)
        for index in self.queues:
            self._send(now, index)
        return self.outbox.drain()

    def _make(self, now: int) -> None:
        if self.made >= self.count:
            return
        if not self.idempotent or self.producer_id >= 0:
            index = self.made % len(self.queues)
            sequence = len(self.history[index])
            value = f"{self.name}-{index}-{sequence}"
            record = batch.Record(0, now // 1000, None, value.encode(), ())
            producer = (self.producer_id, 0, sequence) if self.idempotent else (-1, -1, -1)
            data = batch.encode(
                [record],
                producer_id=producer[0],
                producer_epoch=producer[1],
                base_sequence=producer[2],
            )
            sent = Sent(value, sequence, data, now)
            self.queues[index].append(sent)
            self.history[index].append(sent)
            self.made += 1
        if self.made < self.count:
            self.outbox.set_timer(("make",), now + self.period_us)

    def _send(self, now: int, index: int) -> None:
        queue = self.queues[index]
        while queue and not self.in_flight[index]:
            first = queue[0]
            if now - first.first_sent_us > self.delivery_timeout_us:
                first.verdict = "unknown" if first.attempts else "refused"
                first.ended_us = now
                queue.pop(0)
                continue
            leader = self.routes.leaders.get((self.topic, index), -1)
            if leader < 0:
                self.routes.ask_later(now)
                return
            first.attempts += 1
            first.asked_us = now
            self.in_flight[index] = True
            request = m.ProduceRequest
            part = request.PartitionProduceData(index=index, records=first.batch)
            topic = request.TopicProduceData(
                topic_id=self.routes.topic_ids[self.topic], partition_data=[part]
            )
            body = request(acks=self.acks, timeout_ms=2_000, topic_data=[topic])
            connection = f"partition-{index}"
            self.outbox.send(
                leader, ("produce", index), body, REQUEST_TIMEOUT_US, connection=connection
            )

    def _answered(self, now: int, index: int, body: Answered) -> None:
        self.in_flight[index] = False
        first = self.queues[index][0]
        answered = body.responses if isinstance(body, m.ProduceResponse) else ()
        answer = answered[0].partition_responses[0] if answered else None
        error = Errors(answer.error_code) if answer is not None else Errors.NETWORK_EXCEPTION
        if answer is not None and error == Errors.NONE:
            first.verdict, first.offset = "acknowledged", answer.base_offset
            first.ended_us = now
            self.queues[index].pop(0)
            if self.acks == -1:
                self.outbox.trace(f"{_HERE}.Producer", "acknowledged", f"{self.topic}-{index}",
                                  value=first.value, offset=first.offset,
                                  asked_us=first.asked_us)  # fmt: skip
        elif error in REFUSED:
            first.verdict = "unknown" if first.attempts > 1 else "refused"
            first.ended_us = now
            self.queues[index].pop(0)
        else:
            self.routes.leaders[self.topic, index] = -1
            self.routes.ask_later(now)


def create_topics(
    name: str,
    partitions: int,
    replicas: int,
    config: Mapping[str, object] | None,
    assignment: Mapping[int, list[int]] | None,
) -> m.CreateTopicsRequest:
    """A CreateTopics request for one topic; an `assignment` names the replicas itself."""
    request = m.CreateTopicsRequest
    topic = request.CreatableTopic(
        name=name,
        num_partitions=-1 if assignment else partitions,
        replication_factor=-1 if assignment else replicas,
        assignments=[
            request.CreatableReplicaAssignment(partition_index=index, broker_ids=brokers)
            for index, brokers in (assignment or {}).items()
        ],
        configs=[
            request.CreatableTopicConfig(name=key, value=str(value))
            for key, value in (config or {}).items()
        ],
    )
    return request(topics=[topic], timeout_ms=10_000)


class Admin:
    """Sends single requests, such as CreateTopics, and keeps the last answers by number.

    Each request has a connection of its own, as from a command-line tool.
    """

    def __init__(self) -> None:
        self.outbox = Outbox()
        self.answers: dict[int, Answered] = {}
        self.asked = 0

    def start(self, now: int) -> list[Effect]:
        return []

    def ask(
        self, broker: int, body: RequestMessage[Message], version_max: int | None = None
    ) -> tuple[int, list[Effect]]:
        """Gives the number under which the answer will be found, and the effects to carry out."""
        self.asked += 1
        self.outbox.send(
            broker, ("admin", self.asked), body, REQUEST_TIMEOUT_US, connection=None,
            version_max=version_max,
        )  # fmt: skip
        return self.asked, self.outbox.drain()

    def step(self, now: int, event: Event) -> list[Effect]:
        match event:
            case Response(_, ("admin", int(number)), body):
                self.answers[number] = body
                if len(self.answers) > ANSWERS_KEPT:
                    del self.answers[min(self.answers)]
        return self.outbox.drain()
