"""A transactional producer whose coordinators the test plays: it answers each request itself.

hand = Hand()
hand.ready()                      # init_transactions, answered
hand.do("begin_transaction")
hand.send(b"A")
hand.answer_add()                 # AddPartitionsToTxn
"""

from __future__ import annotations

from typing import Any

from engine.client.producer import Producer
from engine.client.settings import ProducerSettings
from engine.client.transaction_requests import GroupMetadata, Offset
from engine.events import Effect, Expired, Response, Send, Trace
from engine.wire import messages as m
from engine.wire.errors import Errors

TOPIC, TOPIC_ID = "orders", b"1" * 16
COORDINATOR, LEADER, GROUP_COORDINATOR = 102, 101, 103
BROKERS = (101, 102, 103)
GROUP = GroupMetadata("billing", 4, "member-1")
OFFSETS = {("orders", 0): Offset(7)}
PRODUCER_ID = 4000
SETTINGS: dict[str, object] = {"transactional.id": "till", "linger.ms": 0, "batch.size": 1}


class Hand:
    """`asked` are the requests without an answer, oldest first.  `version` is the finalised
    transaction.version, `init_max` the latest InitProducerId version that the brokers take."""

    def __init__(self, version: int = 2, init_max: int = 5, **settings: Any) -> None:
        given = SETTINGS | {name.replace("_", "."): value for name, value in settings.items()}
        self.producer = Producer("shop", (LEADER,), ProducerSettings.of(given))
        self.version = version
        self.init_max = init_max
        self.features_epoch = 1
        self.answers_metadata = True
        self.connects = True
        self.now = 1_000_000
        self.asked: list[Send] = []
        self.trace: list[Trace] = []
        self._carry_out(self.producer.start(self.now))
        self._connect()

    # -- the driver

    def _carry_out(self, effects: list[Effect]) -> None:
        self.asked += [effect for effect in effects if isinstance(effect, Send)]
        self.trace += [effect for effect in effects if isinstance(effect, Trace)]

    def _connect(self) -> None:
        """Answers ApiVersions and Metadata as they come."""
        for each in list(self.asked):
            if not any(asked is each for asked in self.asked):
                continue  # answered by an answer to another one
            if isinstance(each.body, m.ApiVersionsRequest) and self.connects:
                self.give(each, self._versions())
            elif isinstance(each.body, m.MetadataRequest) and self.answers_metadata:
                self.give(each, metadata())

    def _versions(self) -> m.ApiVersionsResponse:
        response = m.ApiVersionsResponse
        feature = response.FinalizedFeatureKey("transaction.version", self.version, self.version)
        return response(
            api_keys=[response.ApiVersion(m.InitProducerIdRequest.API_KEY, 0, self.init_max)],
            finalized_features_epoch=self.features_epoch,
            finalized_features=[feature] if self.version else [],
        )

    def reconnect(self) -> None:
        """The leader's connection is new, and with it its ApiVersions answer."""
        connections = self.producer.connections
        connections.node(LEADER).state = "down"
        connections.is_ready(self.now, LEADER)
        self.later(0)

    def give(self, asked: Send, body: Any) -> None:
        """One answer; None is the end of the connection."""
        self.asked.remove(asked)
        response = Response(asked.destination, asked.token, body)
        self._carry_out(self.producer.step(self.now, response))
        self._connect()

    def later(self, by_ms: float = 101) -> None:
        """By default long enough for a retry."""
        self.now += int(by_ms * 1000)
        self._carry_out(self.producer.step(self.now, Expired(("wake",))))
        self._connect()

    # -- the application

    def do(self, call: str, *arguments: Any) -> None:
        self._carry_out(getattr(self.producer, call)(self.now, *arguments))
        self._connect()

    def send(self, value: bytes = b"A", partition: int = 0) -> None:
        self.do("send", TOPIC, value, None, partition)

    def send_offsets(self) -> None:
        self.do("send_offsets_to_transaction", OFFSETS, GROUP)

    # -- the brokers

    def only(self, kind: type) -> Send:
        (found,) = [each for each in self.asked if isinstance(each.body, kind)]
        return found

    def waiting(self) -> list[str]:
        """The APIs of the requests that have no answer."""
        return [type(each.body).__name__.removesuffix("Request") for each in self.asked]

    def answer(self, api: str, error: Errors = Errors.NONE, **fields: Any) -> Any:
        """Answers the only request of an API; gives its body."""
        asked = self.only(getattr(m, f"{api}Request"))
        self.give(asked, ANSWERS[api](asked.body, int(error), **fields))
        return asked.body

    def lose(self, api: str) -> None:
        """The connection that a request went over ends before its answer."""
        self.give(self.only(getattr(m, f"{api}Request")), None)

    def find(self) -> None:
        """Answers FindCoordinator, and lets the request that waited for it go."""
        self.answer("FindCoordinator")
        self.later()

    def ready(self, epoch: int = 0) -> None:
        self.do("init_transactions")
        self.find()
        self.answer("InitProducerId", epoch=epoch)
        assert self.state == "Ready"

    def open(self, *values: bytes) -> None:
        """A transaction with these records, none of them answered."""
        self.ready()
        self.do("begin_transaction")
        for value in values:
            self.send(value)

    @property
    def state(self) -> str:
        assert self.producer.transactions is not None
        return self.producer.transactions.lifecycle.state.value

    @property
    def identity(self) -> tuple[int, int]:
        assert self.producer.identity is not None
        return self.producer.identity.identity


def metadata() -> m.MetadataResponse:
    response = m.MetadataResponse
    parts = [
        response.MetadataResponsePartition(partition_index=i, leader_id=LEADER, leader_epoch=0)
        for i in range(2)
    ]
    topic = response.MetadataResponseTopic(name=TOPIC, topic_id=TOPIC_ID, partitions=parts)
    nodes = [response.MetadataResponseBroker(node_id=n, host="h", port=n) for n in BROKERS]
    return response(brokers=nodes, topics=[topic])


def _find(asked: Any, error: int) -> Any:
    response = m.FindCoordinatorResponse
    node = -1 if error else (GROUP_COORDINATOR, COORDINATOR)[asked.key_type]
    return response(coordinators=[
        response.Coordinator(
            key=asked.coordinator_keys[0], node_id=node, host="h", port=node, error_code=error
        )
    ])  # fmt: skip


def _init(asked: Any, error: int, epoch: int | None = None) -> Any:
    after = asked.producer_epoch + 1 if epoch is None else epoch
    return m.InitProducerIdResponse(
        error_code=error, producer_id=-1 if error else PRODUCER_ID,
        producer_epoch=-1 if error else after,
    )  # fmt: skip


def _add(asked: Any, error: int, only: int | None = None) -> Any:
    response = m.AddPartitionsToTxnResponse
    return response(results_by_topic_v3_and_below=[
        response.AddPartitionsToTxnTopicResult(
            name=topic.name,
            results_by_partition=[
                response.AddPartitionsToTxnPartitionResult(
                    index, error if only in (None, index) else 0
                )
                for index in topic.partitions
            ],
        )
        for topic in asked.v3_and_below_topics
    ])  # fmt: skip


def _produce(asked: Any, error: int) -> Any:
    response = m.ProduceResponse
    parts = [
        response.PartitionProduceResponse(
            index=each.index, error_code=error, base_offset=-1 if error else 0,
            log_start_offset=0, current_leader=response.LeaderIdAndEpoch(),
        )
        for each in asked.topic_data[0].partition_data
    ]  # fmt: skip
    topic = response.TopicProduceResponse(name=TOPIC, topic_id=TOPIC_ID, partition_responses=parts)
    return response(responses=[topic])


def _commit(asked: Any, error: int) -> Any:
    response = m.TxnOffsetCommitResponse
    return response(topics=[
        response.TxnOffsetCommitResponseTopic(
            name=topic.name,
            partitions=[
                response.TxnOffsetCommitResponsePartition(each.partition_index, error)
                for each in topic.partitions
            ],
        )
        for topic in asked.topics
    ])  # fmt: skip


def _end(asked: Any, error: int, identity: tuple[int, int] = (-1, -1)) -> Any:
    return m.EndTxnResponse(error_code=error, producer_id=identity[0], producer_epoch=identity[1])


ANSWERS = {
    "FindCoordinator": _find,
    "InitProducerId": _init,
    "AddPartitionsToTxn": _add,
    "AddOffsetsToTxn": lambda asked, error: m.AddOffsetsToTxnResponse(error_code=error),
    "TxnOffsetCommit": _commit,
    "Produce": _produce,
    "EndTxn": _end,
}
