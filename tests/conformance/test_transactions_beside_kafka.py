"""Lives of transactional ids: each answer of EndTxn, on our coordinator and on a live Kafka.

Ours stands alone here, with leaders that write each marker at once.  A transactional id is brought
into a state, then it gets one EndTxn; what a client can see must be the same.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, Protocol

import pytest

from engine.coordinators.transactions.states import EndProtocol, EndRequest, TransactionState
from engine.wire import messages as m
from engine.wire.errors import Errors
from kit.clusters.kafka_cluster import KafkaCluster
from kit.probes.raw_client import RawClient
from tests.engine.coordinators.transactions.conftest import (
    Transactions,
    added,
)

pytestmark = [pytest.mark.real, pytest.mark.timeout(300)]

S, R = TransactionState, EndRequest
PATIENCE_S = 60
BUSY = (
    Errors.CONCURRENT_TRANSACTIONS,
    Errors.NOT_COORDINATOR,
    Errors.COORDINATOR_NOT_AVAILABLE,
    Errors.COORDINATOR_LOAD_IN_PROGRESS,
)


class Side(Protocol):
    def ask(self, name: str, body: Any, version: int) -> Any: ...


class Ours:
    """Our coordinator; markers are written as soon as they are sent."""

    def __init__(self) -> None:
        self.cluster = Transactions(version=2)

    def ask(self, name: str, body: Any, version: int) -> Any:
        answer = self.cluster.call(body, version)
        self.cluster.mark()
        return answer


class Theirs:
    """The coordinator of each id, found as a client finds it."""

    def __init__(self, cluster: KafkaCluster) -> None:
        self.cluster = cluster
        self.connections: dict[int, RawClient] = {}
        self.coordinators: dict[str, int] = {}

    def at(self, broker: int) -> RawClient:
        if broker not in self.connections:
            self.connections[broker] = RawClient(self.cluster, broker, "transactions")
        return self.connections[broker]

    def ask(self, name: str, body: Any, version: int) -> Any:
        if name not in self.coordinators:
            self.coordinators[name] = self.find(name)
        return self.at(self.coordinators[name]).ask(body, version)

    def find(self, name: str) -> int:
        until = time.monotonic() + PATIENCE_S
        while True:
            asked = m.FindCoordinatorRequest(key_type=1, coordinator_keys=[name])
            (row,) = self.at(101).ask(asked, 4).coordinators
            if row.error_code == Errors.NONE:
                return int(row.node_id)
            assert time.monotonic() < until, Errors(row.error_code)

    def close(self) -> None:
        for each in self.connections.values():
            each.close()


@pytest.fixture(scope="module")
def theirs(local_cluster: KafkaCluster) -> Iterator[Theirs]:
    local_cluster.create_topic("orders", partitions=2)
    side = Theirs(local_cluster)
    yield side
    side.close()


@pytest.fixture
def ours() -> Ours:
    return Ours()


class Life:
    """A transactional id on one side, and the answers that its producer has heard."""

    def __init__(self, side: Side, name: str) -> None:
        self.side, self.name = side, name
        self.producer = (-1, -1)
        self.first_id = -1

    def ask(self, body: Any, version: int) -> Any:
        """The first answer that does not say: wait."""
        until = time.monotonic() + PATIENCE_S
        while True:
            answer = self.side.ask(self.name, body, version)
            code = added(answer, 3)[0] if hasattr(answer, "results_by_transaction") else (
                answer.error_code
            )  # fmt: skip
            if code not in BUSY:
                return answer
            assert time.monotonic() < until, Errors(code)

    def start(self) -> None:
        answer = self.ask(m.InitProducerIdRequest(self.name, 60_000), 5)
        assert answer.error_code == Errors.NONE
        self.producer = (answer.producer_id, answer.producer_epoch)
        self.first_id = answer.producer_id

    def add(self) -> Errors:
        request = m.AddPartitionsToTxnRequest
        body = request(
            v3_and_below_transactional_id=self.name,
            v3_and_below_producer_id=self.producer[0],
            v3_and_below_producer_epoch=self.producer[1],
            v3_and_below_topics=[request.AddPartitionsToTxnTopic("orders", [0])],
        )
        return added(self.ask(body, 3), 3)[0]

    def end(self, committed: bool, protocol: EndProtocol, epoch: int | None = None) -> Any:
        number = self.producer[1] if epoch is None else epoch
        body = m.EndTxnRequest(self.name, self.producer[0], number, committed)
        return self.ask(body, 5 if protocol is EndProtocol.EPOCH_BUMPED else 4)

    def described(self) -> tuple[str, int, bool]:
        """State, epoch, and whether the producer id is the first one, once no marker is owed."""
        until = time.monotonic() + PATIENCE_S
        while True:
            body = m.DescribeTransactionsRequest([self.name])
            (row,) = self.side.ask(self.name, body, 0).transaction_states
            assert row.error_code == Errors.NONE
            if not row.transaction_state.startswith("Prepare"):
                return row.transaction_state, row.producer_epoch, row.producer_id == self.first_id
            assert time.monotonic() < until, row

    def reach(self, state: TransactionState, protocol: EndProtocol) -> None:
        """Two starts, so that there is an epoch before the current one; then `state`."""
        self.start()
        self.start()
        if state is S.EMPTY:
            return
        assert self.add() is Errors.NONE
        if state is not S.ONGOING:
            answer = self.end(state is S.COMPLETE_COMMIT, protocol)
            assert answer.error_code == Errors.NONE
            if protocol is EndProtocol.EPOCH_BUMPED:
                self.producer = (answer.producer_id, answer.producer_epoch)
        assert self.described()[0] == str(state)


def lived(side: Side, protocol: EndProtocol, state: TransactionState, asked: EndRequest) -> Any:
    """What the one EndTxn heard, and what the id is then."""
    life = Life(side, f"{protocol}-{state}-{asked.name}")
    life.reach(state, protocol)
    epoch = life.producer[1] - (asked in (R.COMMIT_AGAIN, R.ABORT_AGAIN))
    answer = life.end(asked in (R.COMMIT, R.COMMIT_AGAIN), protocol, epoch)
    same_id = answer.producer_id in (-1, life.first_id)
    return Errors(answer.error_code), answer.producer_epoch, same_id, life.described(), life.add()


@pytest.mark.parametrize("asked", EndRequest, ids=lambda each: each.name)
@pytest.mark.parametrize(
    "state", [S.EMPTY, S.ONGOING, S.COMPLETE_COMMIT, S.COMPLETE_ABORT], ids=str
)
@pytest.mark.parametrize("protocol", EndProtocol, ids=lambda each: each.name)
def test_an_end_is_answered_as_by_kafka(
    theirs: Theirs, ours: Ours, protocol: EndProtocol, state: TransactionState, asked: EndRequest
) -> None:
    expected = lived(theirs, protocol, state, asked)
    assert lived(ours, protocol, state, asked) == expected


def took_over(side: Side) -> list[Any]:
    """A second producer starts while the first has a transaction open."""
    life = Life(side, "taken-over")
    life.start()
    assert life.add() is Errors.NONE
    zombie = life.producer
    life.start()
    heard: list[Any] = [life.producer[1], life.producer[0] == zombie[0], life.described()]
    for version in (1, 2, 4, 5):
        ask = m.EndTxnRequest(life.name, *zombie, True)
        heard.append(Errors(life.ask(ask, version).error_code))
    for version in (3, 4, 5):
        ask_id = m.InitProducerIdRequest(life.name, 60_000, *zombie)
        heard.append(Errors(life.ask(ask_id, version).error_code))
    heard.append(life.add())
    again = life.ask(m.InitProducerIdRequest(life.name, 60_000, -1, -1), 5)
    return [*heard, again.error_code, again.producer_epoch]


def test_a_takeover_is_what_it_is_in_kafka(theirs: Theirs, ours: Ours) -> None:
    assert took_over(ours) == took_over(theirs)


def recovered(side: Side) -> list[Any]:
    """A producer names the id and epoch that it has, right, repeated, and wrong (KIP-360)."""
    life = Life(side, "recovered")
    life.start()
    producer_id, epoch = life.producer
    heard: list[Any] = []
    for named in ((producer_id, epoch), (producer_id, epoch), (producer_id, epoch + 5),
                  (producer_id + 1, epoch), (producer_id, -1), (-1, epoch)):  # fmt: skip
        answer = life.ask(m.InitProducerIdRequest(life.name, 60_000, *named), 5)
        heard.append((Errors(answer.error_code), answer.producer_epoch))
    for timeout_ms in (0, -1, 900_001):
        answer = life.ask(m.InitProducerIdRequest(life.name, timeout_ms), 5)
        heard.append(Errors(answer.error_code))
    return heard


def test_a_recovery_is_what_it_is_in_kafka(theirs: Theirs, ours: Ours) -> None:
    assert recovered(ours) == recovered(theirs)


def late_end(side: Side, protocol: EndProtocol) -> list[Any]:
    """An abort that was asked for twice; the second time it meets the next transaction."""
    life = Life(side, f"late-{protocol}")
    life.start()
    assert life.add() is Errors.NONE
    epoch = life.producer[1]
    first = life.end(False, protocol)
    assert first.error_code == Errors.NONE
    if protocol is EndProtocol.EPOCH_BUMPED:
        life.producer = (first.producer_id, first.producer_epoch)
    assert life.described()[0] == str(S.COMPLETE_ABORT)
    assert life.add() is Errors.NONE
    late = Errors(life.end(False, protocol, epoch).error_code)
    between = life.described()[0]
    assert life.add() is Errors.NONE
    return [late, between, Errors(life.end(True, protocol).error_code), life.described()[0]]


TORN = [Errors.NONE, str(S.COMPLETE_ABORT), Errors.NONE, str(S.COMPLETE_COMMIT)]
FENCED = [Errors.PRODUCER_FENCED, str(S.ONGOING), Errors.NONE, str(S.COMPLETE_COMMIT)]


@pytest.mark.parametrize(
    ("protocol", "expected"), [(EndProtocol.EPOCH_STAYS, TORN), (EndProtocol.EPOCH_BUMPED, FENCED)]
)
def test_a_late_end_meets_the_next_transaction(
    theirs: Theirs, ours: Ours, protocol: EndProtocol, expected: list[Any]
) -> None:
    """KAFKA-17754: the client never hears that what it commits is the second half."""
    assert late_end(theirs, protocol) == expected
    assert late_end(ours, protocol) == expected
