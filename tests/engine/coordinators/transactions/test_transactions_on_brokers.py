"""Transactions on whole brokers in virtual time: their coordinator dies in each of their states."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest

from engine import api
from engine.coordinators.transactions.transaction_records import TRANSACTIONS_TOPIC
from engine.coordinators.transactions.transactions_topic import creation_request, partition_of
from engine.settings import Settings
from engine.sim.world.world import World
from engine.wire import messages as m
from engine.wire.errors import Errors
from tests.engine.coordinators.transactions.conftest import add_request, added

SETTINGS = {"transaction.state.log.num.partitions": 2}
WAIT = (
    Errors.NOT_COORDINATOR,
    Errors.COORDINATOR_NOT_AVAILABLE,
    Errors.COORDINATOR_LOAD_IN_PROGRESS,
    Errors.CONCURRENT_TRANSACTIONS,
)


class Leaders:
    """Stands in for WriteTxnMarkers on the brokers: notes the markers, or holds them back."""

    def __init__(self) -> None:
        self.written: list[tuple[str, int, bool, int, int]] = []
        self.holds = False

    def handle(self, broker: Any, now: int, request: Any) -> None:
        response = m.WriteTxnMarkersResponse
        (marker,) = request.body.markers
        rows = []
        for topic in marker.topics:
            results = []
            for index in topic.partition_indexes:
                replica = broker.replicas.partition(topic.name, index)
                is_leader = replica is not None and replica.is_leader
                error = Errors.NONE if is_leader else Errors.NOT_LEADER_OR_FOLLOWER
                if self.holds:
                    error = Errors.REQUEST_TIMED_OUT
                if error is Errors.NONE:
                    self.written.append(
                        (
                            topic.name,
                            index,
                            marker.transaction_result,
                            marker.producer_epoch,
                            marker.coordinator_epoch,
                        )
                    )
                results.append(response.WritableTxnMarkerPartitionResult(index, error))
            rows.append(response.WritableTxnMarkerTopicResult(topic.name, results))
        body = response(markers=[response.WritableTxnMarkerResult(marker.producer_id, rows)])
        broker.outbox.reply(request, body)


@pytest.fixture
def leaders(monkeypatch: pytest.MonkeyPatch) -> Iterator[Leaders]:
    stand_in = Leaders()
    module = ModuleType("engine.api.write_txn_markers")
    module.handle = stand_in.handle  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    api._module.cache_clear()
    yield stand_in
    api._module.cache_clear()


class Producer:
    """Finds its coordinator, and repeats what one that moves or is busy refuses."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.id = (-1, -1)

    @property
    def coordinator(self) -> int:
        image = self.world.image()
        index = partition_of("t", image, Settings(SETTINGS))
        return image.topic(TRANSACTIONS_TOPIC).partitions[index].leader

    def ask(self, body: Any, error_of: Callable[[Any], int]) -> Any:
        for _ in range(300):
            if self.coordinator in self.world.cluster.nodes:
                answer = self.world.ask(body, self.coordinator)
                if answer is not None and error_of(answer) not in WAIT:
                    return answer
            self.world.run(for_s=0.2)
        raise AssertionError("no coordinator to be found")

    def start(self) -> None:
        answer = self.ask(m.InitProducerIdRequest("t", 60_000), lambda a: a.error_code)
        assert answer.error_code == Errors.NONE
        self.id = (answer.producer_id, answer.producer_epoch)

    def add(self, *partitions: tuple[str, int]) -> Errors:
        body = add_request(self.id, partitions, 5)
        return added(self.ask(body, lambda a: added(a, 5)[0]), 5)[0]

    def end(self, committed: bool = True) -> Errors:
        answer = self.ask(m.EndTxnRequest("t", *self.id, committed), lambda a: a.error_code)
        if answer.error_code == Errors.NONE:
            self.id = (answer.producer_id, answer.producer_epoch)
        return Errors(answer.error_code)

    @property
    def shown(self) -> dict[str, Any]:
        return self.world.snapshot()["transactions"].get("t", {})

    def reaches(self, state: str, within_s: float = 60) -> bool:
        return self.world.run(until=lambda _: self.shown.get("state") == state, for_s=within_s)


def begin(seed: int = 1) -> Producer:
    """A producer with an open transaction on two partitions."""
    world = World(seed, settings=SETTINGS)
    world.create_topic("orders", partitions=2)
    world.ask(creation_request(Settings(SETTINGS)))
    producer = Producer(world)
    assert world.run(until=lambda w: w.image().topic(TRANSACTIONS_TOPIC) is not None, for_s=30)
    producer.start()
    assert producer.add(("orders", 0), ("orders", 1)) is Errors.NONE
    return producer


def test_the_topic_is_what_kafka_makes_of_it(leaders):
    world = begin().world
    image = world.image()
    assert image.configs[2, TRANSACTIONS_TOPIC] == {
        "cleanup.policy": "compact",
        "compression.type": "uncompressed",
        "min.insync.replicas": "2",
        "segment.bytes": "104857600",
        "unclean.leader.election.enable": "false",
    }
    partitions = image.topic(TRANSACTIONS_TOPIC).partitions
    assert [len(each.replicas) for each in partitions.values()] == [3, 3]


@pytest.mark.parametrize("committed", [True, False])
def test_a_transaction_ends_everywhere_alike(leaders, committed):
    producer = begin()
    before = producer.id
    assert producer.end(committed) is Errors.NONE
    assert producer.id == (before[0], before[1] + 1)
    assert producer.reaches("CompleteCommit" if committed else "CompleteAbort")
    assert sorted(each[:4] for each in leaders.written) == [
        ("orders", 0, committed, before[1] + 1),
        ("orders", 1, committed, before[1] + 1),
    ]


def test_a_coordinator_that_dies_leaves_an_open_transaction_open(leaders):
    producer = begin()
    old = producer.coordinator
    producer.world.kill(old)
    assert producer.add(("orders", 1)) is Errors.NONE
    assert producer.coordinator != old
    assert producer.shown["state"] == "Ongoing"
    assert producer.shown["coordinator"] == producer.coordinator
    assert producer.end() is Errors.NONE
    assert producer.reaches("CompleteCommit")
    assert {epoch for *_, epoch in leaders.written} == {producer.shown["coordinator_epoch"]}


@pytest.mark.parametrize("committed", [True, False])
def test_a_coordinator_that_dies_after_its_decision_has_a_successor_that_finishes(
    leaders, committed
):
    producer = begin()
    leaders.holds = True
    assert producer.end(committed) is Errors.NONE
    assert producer.shown["state"] == ("PrepareCommit" if committed else "PrepareAbort")
    old = producer.coordinator
    producer.world.kill(old)
    producer.world.run(for_s=0.5)  # a marker that the old coordinator sent may still arrive
    assert leaders.written == []
    leaders.holds = False
    assert producer.reaches("CompleteCommit" if committed else "CompleteAbort")
    assert producer.shown["coordinator"] != old
    assert [each[2] for each in leaders.written] == [committed] * 2


@pytest.mark.parametrize("committed", [True, False])
def test_a_coordinator_that_dies_after_the_end_has_nothing_left_to_do(leaders, committed):
    producer = begin()
    assert producer.end(committed) is Errors.NONE
    done = "CompleteCommit" if committed else "CompleteAbort"
    assert producer.reaches(done)
    written = list(leaders.written)
    producer.world.kill(producer.coordinator)
    assert producer.add(("orders", 0)) is Errors.NONE, "its epoch is known to the successor"
    assert leaders.written == written
    assert producer.shown["state"] == "Ongoing"


def test_a_zombie_is_fenced(leaders):
    zombie = begin()
    second = Producer(zombie.world)
    second.start()
    assert [each[2] for each in leaders.written] == [False, False]
    assert second.id[0] == zombie.id[0]
    assert second.id[1] > zombie.id[1]
    assert zombie.end() is Errors.PRODUCER_FENCED
    assert zombie.add(("orders", 0)) is Errors.PRODUCER_FENCED
    assert second.add(("orders", 0)) is Errors.NONE


def test_a_transaction_whose_producer_is_gone_is_aborted_in_time(leaders):
    producer = begin()
    assert producer.reaches("CompleteAbort", within_s=80)
    assert [each[2] for each in leaders.written] == [False, False]
    assert producer.add(("orders", 0)) is Errors.PRODUCER_FENCED
    assert producer.end() is Errors.INVALID_TXN_STATE, "it cannot commit what is aborted"
    why = [each.why for _, _, each in producer.world.cluster.trace if each.kind == "transaction"]
    assert any("transaction.timeout.ms" in each for each in why)


def test_a_leader_that_dies_gets_its_marker_from_the_next_one(leaders):
    producer = begin()
    world = producer.world
    leaders.holds = True
    assert producer.end() is Errors.NONE
    leader = world.image().topic("orders").partitions[0].leader
    world.kill(leader)
    leaders.holds = False
    assert producer.reaches("CompleteCommit")
    assert {each[1] for each in leaders.written} == {0, 1}
