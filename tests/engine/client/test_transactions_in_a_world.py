"""A transactional producer and a real coordinator, whose broker is killed again and again.

Stand-ins play what brokers do not offer yet: finding the coordinator, transactional batches, and
the markers in the partitions.  Each goes as soon as the engine offers the API itself.
"""

from __future__ import annotations

import sys
from random import Random
from types import ModuleType
from typing import Any

import pytest

from engine import api
from engine.api import find_coordinator
from engine.api.produce import produce
from engine.client.producer import Producer
from engine.coordinators.transactions.transaction_records import TRANSACTIONS_TOPIC
from engine.sim.world.world import World
from engine.wire import messages as m
from engine.wire.errors import Errors, KafkaError

SETTINGS = {
    "transactional.id": "till",
    "linger.ms": 0,
    "request.timeout.ms": 3_000,
    "delivery.timeout.ms": 30_000,
}
BROKERS = (101, 102, 103)
TRANSACTIONS = 6
COMPLETE = ("CompleteCommit", "CompleteAbort", "Empty")
CALLS = ("commit_transaction", "abort_transaction")


@pytest.fixture
def markers(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int, bool]]:
    """The markers that reached a partition's leader, where a stand-in takes them."""
    found: list[tuple[str, int, bool]] = []
    _stand_in_for_batches(monkeypatch)
    _stand_in_for_finding(monkeypatch)
    if "WriteTxnMarkers" in api.APIS:
        return found

    def write(broker: Any, now: int, request: Any) -> None:
        response = m.WriteTxnMarkersResponse
        (marker,) = request.body.markers
        topics = []
        for topic in marker.topics:
            results = []
            for index in topic.partition_indexes:
                replica = broker.replicas.partition(topic.name, index)
                leads = replica is not None and replica.is_leader
                if leads:
                    found.append((topic.name, index, marker.transaction_result))
                error = Errors.NONE if leads else Errors.NOT_LEADER_OR_FOLLOWER
                results.append(response.WritableTxnMarkerPartitionResult(index, error))
            topics.append(response.WritableTxnMarkerTopicResult(topic.name, results))
        body = response(markers=[response.WritableTxnMarkerResult(marker.producer_id, topics)])
        broker.outbox.reply(request, body)

    module = ModuleType("engine.api.write_txn_markers")
    module.handle = write  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    offered = {24: "AddPartitionsToTxn", 25: "AddOffsetsToTxn", 26: "EndTxn", 27: "WriteTxnMarkers"}
    for key, name in offered.items():
        if key not in api._BY_KEY:
            monkeypatch.setitem(api._BY_KEY, key, (name, 0, 5))
    api._module.cache_clear()
    return found


def _stand_in_for_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    known = getattr(produce, "_check", None)
    if known is None:
        return

    def check(*arguments: Any) -> None:
        try:
            known(*arguments)
        except KafkaError as error:
            if error.code != Errors.INVALID_TXN_STATE:
                raise

    monkeypatch.setattr(produce, "_check", check)


def _stand_in_for_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    known = getattr(find_coordinator, "_find", None)
    if known is None:
        return

    def find(broker: Any, key_type: int, key: str, answer: Any) -> None:
        known(broker, key_type, key, answer)
        if not answer.error_code:
            return
        leader = broker.transactions.find(key)
        if leader is None:
            answer.error_code = Errors.COORDINATOR_NOT_AVAILABLE
            return
        at = broker.metadata.brokers[leader]
        answer.error_code, answer.node_id = 0, leader
        answer.host, answer.port = at.host, at.port

    monkeypatch.setattr(find_coordinator, "_find", find)


class Shop:
    """A producer in a world, one call after the other."""

    def __init__(self, seed: int) -> None:
        self.chance = Random(seed)
        settings = {"transaction.state.log.num.partitions": 1}
        self.world = World(seed=seed, settings=settings, rewindable=False)
        self.world.create_topic("orders", partitions=2)
        self.world.add("shop", Producer("shop", BROKERS, SETTINGS))

    @property
    def producer(self) -> Producer:
        found: Producer = self.world.cluster.nodes["shop"]
        return found

    def call(self, name: str) -> None:
        self.world.tell("shop", name)
        assert self.world.run(until=lambda _: not self.producer.busy, for_s=90)
        assert self.producer.error == "", name

    @property
    def is_complete(self) -> bool:
        """All markers of the last transaction are written."""
        shown = self.world.snapshot()["transactions"].get("till", {})
        return shown.get("state") in COMPLETE

    def disturb(self) -> None:
        """Kills the coordinator or a leader; or lets the dead broker come back."""
        world = self.world
        down = [broker for broker in BROKERS if broker not in world.cluster.nodes]
        if down:
            world.start(down[0])
            world.run(for_s=5)  # until it is in sync, or the next one to die is the last
        elif self.chance.random() < 0.6:
            topic = self.chance.choice((TRANSACTIONS_TOPIC, "orders"))
            if (leader := world.leader(topic, 0)) > 0:
                world.kill(leader)
        world.run(for_s=self.chance.random())


@pytest.mark.parametrize("seed", range(4))
def test_every_transaction_ends_as_its_producer_said_though_coordinators_die(
    seed: int, markers: list[tuple[str, int, bool]]
) -> None:
    shop = Shop(seed)
    shop.call("init_transactions")
    for number in range(TRANSACTIONS):
        shop.world.tell("shop", "begin_transaction")
        for partition in (0, 1):
            shop.disturb()
            value = f"{number}-{partition}".encode()
            shop.world.tell("shop", "send", "orders", value, None, partition)
        shop.disturb()
        ends = shop.chance.choice(CALLS)
        shop.call(ends)
        assert shop.world.run(until=lambda _: shop.is_complete, for_s=60)
        commits = ends == "commit_transaction"
        if "WriteTxnMarkers" not in api.APIS and commits:
            assert {each[:2] for each in markers} == {("orders", 0), ("orders", 1)}
        assert all(each[2] == commits for each in markers)
        markers.clear()
    assert {each.verdict for each in shop.producer.sends} <= {"acknowledged", "refused"}
    assert shop.producer.sends[-1].text == f"{TRANSACTIONS - 1}-1"


def test_a_client_is_not_stuck_if_the_only_broker_that_it_knows_dies(
    markers: list[tuple[str, int, bool]],
) -> None:
    shop = Shop(7)
    shop.call("init_transactions")
    (known,) = shop.producer.metadata.nodes
    shop.world.kill(known)
    shop.world.tell("shop", "begin_transaction")
    shop.world.tell("shop", "send", "orders", b"A", None, 0)
    shop.call("commit_transaction")
    assert shop.producer.sends[0].verdict == "acknowledged"
