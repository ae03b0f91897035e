"""Transaction coordinators on the bench of two brokers (bench.py), and a producer to talk to them.

Markers go out as `Send` effects, and `mark` answers them as the leaders would.
"""

from __future__ import annotations

from typing import Any

import pytest

from engine.coordinators.offsets_topic import OFFSETS_TOPIC
from engine.coordinators.transactions.markers import MarkerRound
from engine.coordinators.transactions.transaction_coordinator import TransactionCoordinator
from engine.coordinators.transactions.transaction_records import TRANSACTIONS_TOPIC
from engine.metadata.image import PartitionImage, TopicImage
from engine.wire import messages as m
from engine.wire.errors import Errors
from tests.engine.coordinators import bench

RETRY_MS = 100


class StubBroker(bench.StubBroker):
    def __init__(self, node_id: int, *parts: Any) -> None:
        super().__init__(node_id, *parts)
        self.new_ids = list(range(node_id * 10 + 1, node_id * 10 + 9))
        self.transactions = TransactionCoordinator(self)

    @property
    def coordinator(self) -> TransactionCoordinator:
        return self.transactions

    def new_producer_id(self) -> int | None:
        return self.new_ids.pop(0) if self.new_ids else None


class Transactions(bench.Bench):
    """The cluster, with a third broker that leads partitions and coordinates nothing."""

    def __init__(self, version: int = 0, **overrides: Any) -> None:
        settings = {"transaction.state.log.num.partitions": 1}
        features = {"transaction.version": version}
        super().__init__(
            StubBroker, TRANSACTIONS_TOPIC, (101, 102, 103), features, settings, overrides
        )
        self.add_topic("orders", 2, leader=103)
        self.add_topic("payments", 1, leader=102)
        self.add_topic(OFFSETS_TOPIC, 1, leader=103)
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

    def call(self, body: Any, version: int | None = None) -> Any:
        number = self.ask(body, version)
        self.wait(0)
        return self.answers[number]

    def replicate(self, error: Errors = Errors.NONE) -> None:
        super().replicate(error)
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
