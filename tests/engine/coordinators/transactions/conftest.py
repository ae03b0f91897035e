"""A cluster that has nothing but transaction coordinators, and a producer to talk to them.

Brokers 101 and 102 share the log of the one `__transaction_state` partition; one of them leads it.
Every request and answer goes through the codec in its version.  Time moves only in `wait`; appends
are replicated at once, or when `replicate` says so.  Markers go out as `Send` effects, and `mark`
answers them as the leaders would.
"""

from __future__ import annotations

import pickle
from random import Random
from typing import Any

import pytest

from engine import api
from engine.coordinators.offsets_topic import OFFSETS_TOPIC
from engine.coordinators.transactions.markers import MarkerRound
from engine.coordinators.transactions.transaction_coordinator import TransactionCoordinator
from engine.coordinators.transactions.transaction_records import TRANSACTIONS_TOPIC
from engine.events import (
    Appended,
    CancelTimer,
    Outbox,
    Reply,
    Request,
    Send,
    SetTimer,
    Token,
    Trace,
)
from engine.metadata.image import BrokerImage, MetadataImage, PartitionImage, TopicImage
from engine.settings import Settings
from engine.wire import codec
from engine.wire import messages as m
from engine.wire.errors import Errors
from tests.engine.coordinators.conftest import SharedPartition

START_US = 1_800_000_000_000_000
RETRY_MS = 100


class Replicas:
    def __init__(self, node_id: int, partition: SharedPartition) -> None:
        self.node_id = node_id
        self.shared = partition

    def partition(self, topic: str, index: int) -> SharedPartition | None:
        return self.shared if (topic, index) == (TRANSACTIONS_TOPIC, 0) else None

    def append(
        self,
        now: int,
        topic: str,
        index: int,
        batch: bytes,
        then: Appended,
        timeout_ms: int,
        *rest: object,
    ) -> Errors:
        shared = self.shared
        if shared.leader != self.node_id:
            return Errors.NOT_LEADER_OR_FOLLOWER
        if shared.refuses is not Errors.NONE:
            return shared.refuses
        assert not shared.delivering, "an append must not begin inside another one's end"
        shared.log.append(batch)
        shared.under_way.append((then, shared.log.log_end_offset))
        if not shared.holds:
            self.deliver(now)
        return Errors.NONE

    def deliver(self, now: int, error: Errors = Errors.NONE) -> None:
        shared = self.shared
        under_way, shared.under_way = shared.under_way, []
        shared.delivering = True
        for then, end in under_way:
            if error is Errors.NONE:
                shared.high_watermark = max(shared.high_watermark, end)
            then.appended(now, error)
        shared.delivering = False


class StubBroker:
    def __init__(
        self, node_id: int, settings: Settings, metadata: MetadataImage, shared: SharedPartition
    ) -> None:
        self.node_id = node_id
        self.controller_id = 100
        self.settings = settings
        self.metadata = metadata
        self.ids = Random(node_id)
        self.outbox = Outbox()
        self.replicas = Replicas(node_id, shared)
        self.new_ids = list(range(node_id * 10 + 1, node_id * 10 + 9))
        self.transactions = TransactionCoordinator(self)

    def new_producer_id(self) -> int | None:
        return self.new_ids.pop(0) if self.new_ids else None


class Transactions:
    """The cluster, its clock, and the answers that came back, by request number."""

    def __init__(self, version: int = 0, **overrides: Any) -> None:
        self.now = START_US
        self.settings = Settings(
            {
                "transaction.state.log.num.partitions": 1,
                **{name.replace("_", "."): value for name, value in overrides.items()},
            }
        )
        self.metadata = MetadataImage(features={"transaction.version": version})
        for node in (101, 102, 103):
            self.metadata.brokers[node] = BrokerImage(
                node, 1, bytes(16), "localhost", node, fenced=False
            )
        self.add_topic("orders", 2, leader=103)
        self.add_topic("payments", 1, leader=102)
        self.add_topic(OFFSETS_TOPIC, 1, leader=103)
        self.shared = SharedPartition()
        self.shared.delivering = False
        self.brokers = {
            node: StubBroker(node, self.settings, self.metadata, self.shared) for node in (101, 102)
        }
        self.timers: dict[tuple[int, Token], int] = {}
        self.answers: dict[int, Any] = {}
        self.sent: list[Send] = []
        self.traced: list[Trace] = []
        self.last_request = 0
        self.shared.leader = -1
        self.lead(101)

    def add_topic(self, name: str, count: int, leader: int) -> None:
        topic_id = name.encode()[:16].ljust(16, b"\0")
        image = PartitionImage((101, 102, 103), (101, 102, 103), leader=leader)
        self.metadata.topics[topic_id] = TopicImage(
            name, topic_id, dict.fromkeys(range(count), image)
        )
        self.metadata.topic_ids[name] = topic_id

    def remove_topic(self, name: str) -> None:
        del self.metadata.topics[self.metadata.topic_ids.pop(name)]

    def lead(self, node: int, lose: bool = False, settled: bool = True) -> None:
        """Another coordinator: it has what is replicated, and unless `lose` the rest.

        With `settled` that is replicated by then; else its high watermark lags behind.
        """
        old = self.shared.leader
        mark = self.shared.high_watermark
        self.shared.leader, self.shared.under_way = node, []
        self.shared.lose_tail(lose)
        if not settled:
            self.shared.high_watermark = mark
        self.shared.leader_epoch += 1
        self.add_topic(TRANSACTIONS_TOPIC, 1, node)
        if old in self.brokers:
            self.brokers[old].transactions.on_resign(self.now, 0)
            self.carry_out(old)
        self.sent.clear()
        self.brokers[node].transactions.on_leader(self.now, 0)
        self.carry_out(node)
        self.wait(0)

    # -- requests, answers, time

    def ask(self, body: Any, version: int | None = None) -> int:
        node = self.shared.leader
        chosen = type(body).LATEST if version is None else version
        body = codec.decode(type(body).__name__, chosen, codec.encode(body, chosen))
        self.last_request += 1
        request = Request("conn", (self.last_request,), chosen, body, "c", "127.0.0.1")
        api.dispatch(self.brokers[node], self.now, request)  # type: ignore[arg-type]
        self.carry_out(node)
        return self.last_request

    def call(self, body: Any, version: int | None = None) -> Any:
        number = self.ask(body, version)
        self.wait(0)
        return self.answers[number]

    def carry_out(self, node: int) -> None:
        for effect in self.brokers[node].outbox.drain():
            if isinstance(effect, Reply):
                number = effect.token[0]
                assert number not in self.answers, f"request {number} was answered twice"
                name, version = type(effect.body).__name__, effect.version
                data = codec.encode(effect.body, version)
                self.answers[number] = codec.decode(name, version, data)
            elif isinstance(effect, SetTimer):
                self.timers[node, effect.token] = effect.at
            elif isinstance(effect, CancelTimer):
                self.timers.pop((node, effect.token), None)
            elif isinstance(effect, Send):
                self.sent.append(effect)
            else:
                self.traced.append(effect)

    def wait(self, ms: int) -> None:
        until = self.now + ms * 1000
        while self.timers:
            (node, token), at = min(self.timers.items(), key=lambda item: (item[1], str(item[0])))
            if at > until:
                break
            self.now = max(self.now, at)
            del self.timers[node, token]
            self.brokers[node].transactions.on_timer(self.now, token)
            self.carry_out(node)
        self.now = until

    def replicate(self, error: Errors = Errors.NONE) -> None:
        node = self.shared.leader
        self.brokers[node].replicas.deliver(self.now, error)
        self.carry_out(node)
        self.wait(0)

    def mark(self, *errors: Errors, lost: bool = False) -> list[tuple[int, Any]]:
        """Answers the WriteTxnMarkers under way, partitions in order; gives leader and marker."""
        rounds = [each for each in self.sent if isinstance(each.token, MarkerRound)]
        self.sent = [each for each in self.sent if each not in rounds]
        left, seen = list(errors), []
        for each in rounds:
            seen.append((each.destination, each.body.markers[0]))
            body = None if lost else marked(each.body, left)
            node = self.shared.leader
            self.brokers[node].transactions.markers_answered(self.now, each.token, body)
            self.carry_out(node)
        self.wait(0)
        return seen

    def restored(self) -> Transactions:
        return pickle.loads(pickle.dumps(self))

    # -- what a producer does

    def start(
        self,
        named: tuple[int, int] = (-1, -1),
        name: str = "t",
        timeout_ms: int = 60_000,
        version: int = 5,
    ) -> Any:
        return self.call(m.InitProducerIdRequest(name, timeout_ms, *named), version)

    def add(
        self, producer: tuple[int, int], *partitions: tuple[str, int], version: int = 3
    ) -> Errors:
        """AddPartitionsToTxn as a client asks it."""
        number = self.ask(add_request(producer, partitions, version), version)
        self.wait(0)
        return added(self.answers[number], version)[0]

    def end(
        self, producer: tuple[int, int], committed: bool = True, version: int = 4, name: str = "t"
    ) -> Any:
        return self.call(m.EndTxnRequest(name, *producer, committed), version)

    def begin(self, version: int = 3) -> tuple[int, int]:
        """A producer with an open transaction on orders-0 and payments-0."""
        answer = self.start()
        producer = answer.producer_id, answer.producer_epoch
        error = self.add(producer, ("orders", 0), ("payments", 0), version=version)
        assert error is Errors.NONE
        return producer

    @property
    def shown(self) -> dict[str, Any]:
        return self.brokers[self.shared.leader].transactions.snapshot()["t"]

    @property
    def state(self) -> str:
        return self.shown["state"]

    def story(self) -> list[str]:
        """The states that were traced."""
        return [dict(each.fields)["state"] for each in self.traced if each.kind == "transaction"]


def add_request(producer: tuple[int, int], partitions: Any, version: int, **more: Any) -> Any:
    request = m.AddPartitionsToTxnRequest
    topics: dict[str, Any] = {}
    for topic, index in partitions:
        row = topics.setdefault(topic, request.AddPartitionsToTxnTopic(topic, []))
        row.partitions.append(index)
    rows = list(topics.values())
    if version >= 4:
        whole = request.AddPartitionsToTxnTransaction("t", *producer, topics=rows, **more)
        return request(transactions=[whole])
    return request(
        v3_and_below_transactional_id="t",
        v3_and_below_producer_id=producer[0],
        v3_and_below_producer_epoch=producer[1],
        v3_and_below_topics=rows,
    )


def added(answer: Any, version: int) -> list[Errors]:
    topics = answer.results_by_topic_v3_and_below
    if version >= 4:
        topics = answer.results_by_transaction[0].topic_results
    return [
        Errors(each.partition_error_code) for topic in topics for each in topic.results_by_partition
    ]


def marked(body: Any, errors: list[Errors]) -> Any:
    response = m.WriteTxnMarkersResponse
    return response(
        markers=[
            response.WritableTxnMarkerResult(
                marker.producer_id,
                [
                    response.WritableTxnMarkerTopicResult(
                        topic.name,
                        [
                            response.WritableTxnMarkerPartitionResult(
                                index, errors.pop(0) if errors else Errors.NONE
                            )
                            for index in topic.partition_indexes
                        ],
                    )
                    for topic in marker.topics
                ],
            )
            for marker in body.markers
        ]
    )


@pytest.fixture
def make() -> type[Transactions]:
    """The cluster's class: call it with a transaction.version and settings."""
    return Transactions


@pytest.fixture
def cluster() -> Transactions:
    """A cluster whose coordinator is broker 101, at transaction.version 0."""
    return Transactions()
