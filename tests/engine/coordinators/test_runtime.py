"""The runtime under a state machine that has nothing to do with groups: balances by name."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field
from random import Random

import pytest

from engine.coordinators.runtime.runtime import Runtime
from engine.coordinators.runtime.shard import AppendTerms, LogTopic, Shard
from engine.events import Outbox, Stored
from engine.metadata.active_controller import ActiveController
from engine.metadata.image import MetadataImage
from engine.records import batch
from engine.settings import Settings
from engine.wire.errors import Errors

TOPIC = "__balances"
NOW = 1_800_000_000_000_000


@dataclass(frozen=True, slots=True)
class Balance:
    name: str
    amount: int


def encode(record: Balance) -> tuple[bytes, bytes | None]:
    return record.name.encode(), str(record.amount).encode()


def decode(key: bytes | None, value: bytes | None) -> Balance | None:
    if key is None or value is None or key == b"of another time":
        return None
    return Balance(key.decode(), int(value))


def terms(settings: Settings) -> AppendTerms:
    return AppendTerms(compression=0, timeout_ms=settings["request.timeout.ms"])


BALANCES = LogTopic(TOPIC, encode, decode, terms)


class Balances:
    """The state machine."""

    def __init__(self, log: Shard[Balance, Balances]) -> None:
        self.log = log
        self.by_name: dict[str, int] = {}
        self.story: list[str] = []

    def replay(self, record: Balance) -> None:
        self.by_name[record.name] = record.amount
        self.story.append("replayed")

    def replicated(self, record: Balance) -> None:
        self.by_name[record.name] = record.amount
        self.story.append("replicated")

    def loaded(self, now: int) -> None:
        self.story.append("loaded")

    def unloaded(self, now: int) -> None:
        self.story.append("unloaded")


@dataclass
class FakeLog:
    log_start_offset: int = 0
    log_end_offset: int = 0
    batches: list[bytes] = field(default_factory=list)

    def read(self, offset: int, max_bytes: int) -> bytes:
        ahead = (each for each in self.batches if batch.read_header(each).last_offset >= offset)
        return next(ahead, b"")


@dataclass
class FakePartition:
    log: FakeLog = field(default_factory=FakeLog)
    high_watermark: int = 0


class FakeReplicas:
    """Partition 0 of the topic, appends that end when the test says so."""

    def __init__(self) -> None:
        self.hosted = FakePartition()
        self.refuses = Errors.NONE
        self.under_way: list[Stored] = []

    def partition(self, topic: str, index: int) -> FakePartition | None:
        return self.hosted if (topic, index) == (TOPIC, 0) else None

    def append(
        self,
        now: int,
        topic: str,
        index: int,
        batch: bytes,
        then: Stored,
        timeout_ms: int,
        *rest: object,
    ) -> Errors:
        if self.refuses is Errors.NONE:
            self.add(batch)
            self.under_way.append(then)
        return self.refuses

    def add(self, data: bytes) -> None:
        log = self.hosted.log
        log.batches.append(bytes(batch.assign(data, log.log_end_offset, 0)))
        log.log_end_offset = batch.read_header(log.batches[-1]).next_offset

    def end(self, error: Errors = Errors.NONE) -> None:
        """The appends under way end, all alike."""
        if error is Errors.NONE:
            self.hosted.high_watermark = self.hosted.log.log_end_offset
        under_way, self.under_way = self.under_way, []
        for each in under_way:
            each.stored(NOW, error)


class FakeHost:
    node_id, controller = 101, ActiveController((100,))

    def __init__(self, replicas: FakeReplicas) -> None:
        self.outbox = Outbox()
        self.settings = Settings()
        self.metadata = MetadataImage()
        self.ids = Random(1)
        self.replicas = replicas


class Bank:
    """A coordinator's runtime on one broker, and what those who wait have heard."""

    def __init__(self, replicas: FakeReplicas | None = None) -> None:
        self.replicas = replicas or FakeReplicas()
        self.runtime: Runtime[Balance, Balances] = Runtime(
            FakeHost(self.replicas), BALANCES, Balances
        )
        self.runtime.on_leader(NOW, 0)
        self.heard: list[tuple[str, Errors]] = []

    @property
    def shard(self) -> Shard[Balance, Balances]:
        return self.runtime.shards[0]

    @property
    def balances(self) -> dict[str, int]:
        return self.shard.state.by_name

    def store(self, name: str, amount: int) -> Errors:
        return self.shard.store(NOW, [Balance(name, amount)], Waiting(self, name))


@dataclass
class Waiting:
    bank: Bank
    name: str

    def stored(self, now: int, error: Errors) -> None:
        self.bank.heard.append((self.name, error))


def test_a_record_takes_effect_when_it_is_replicated():
    bank = Bank()
    bank.store("ann", 5)
    assert (bank.balances, bank.heard) == ({}, [])
    assert list(bank.shard.on_their_way()) == [Balance("ann", 5)]
    bank.replicas.end()
    assert (bank.balances, bank.heard) == ({"ann": 5}, [("ann", Errors.NONE)])
    assert not bank.shard.writes


def test_writes_settle_in_the_logs_order():
    bank = Bank()
    bank.store("ann", 5)
    end = bank.replicas.hosted.log.log_end_offset
    bank.store("ann", 7)
    bank.replicas.hosted.high_watermark = end
    bank.shard.settle(NOW)
    assert bank.balances == {"ann": 5}
    bank.replicas.end()
    assert bank.balances == {"ann": 7}


def test_a_late_write_is_an_error_and_takes_effect_all_the_same():
    bank = Bank()
    bank.store("ann", 5)
    bank.replicas.end(Errors.REQUEST_TIMED_OUT)
    assert bank.heard == [("ann", Errors.COORDINATOR_NOT_AVAILABLE)]
    bank.replicas.end()
    bank.shard.settle(NOW)
    assert bank.balances == {"ann": 5}
    assert len(bank.heard) == 1


@pytest.mark.parametrize("refused", [True, False])
def test_a_failed_append_leaves_nothing_behind(refused: bool):
    bank = Bank()
    if refused:
        bank.replicas.refuses = Errors.NOT_LEADER_OR_FOLLOWER
        assert bank.store("ann", 5) == Errors.NOT_COORDINATOR
    else:
        assert bank.store("ann", 5) == Errors.NONE
        bank.replicas.end(Errors.NOT_LEADER_OR_FOLLOWER)
    assert bank.heard == [("ann", Errors.NOT_COORDINATOR)]
    assert not bank.shard.writes
    assert bank.balances == {}


def test_a_decision_to_write_nothing_waits_for_the_writes_it_rests_on():
    bank = Bank()
    bank.shard.store(NOW, [], Waiting(bank, "nothing is under way"))
    bank.store("ann", 5)
    bank.shard.store(NOW, [], Waiting(bank, "ann is under way"))
    assert bank.heard == [("nothing is under way", Errors.NONE)]
    bank.replicas.end(Errors.REQUEST_TIMED_OUT)
    bank.shard.store(NOW, [], Waiting(bank, "ann is late"))
    late = Errors.COORDINATOR_NOT_AVAILABLE
    assert bank.heard[1:] == [("ann", late), ("ann is under way", late), ("ann is late", late)]


def test_the_next_leader_reads_what_is_in_the_log():
    bank = Bank()
    for amount in (5, 7):
        bank.store("ann", amount)
    bank.replicas.add(batch.encode([batch.Record(0, 0, b"of another time", b"?", ())]))
    bank.store("bob", 1)
    successor = Bank(bank.replicas)
    assert successor.balances == {"ann": 7, "bob": 1}
    assert successor.shard.state.story == ["replayed"] * 3 + ["loaded"]
    assert not successor.shard.settle(NOW), "what was loaded may still be lost"
    bank.replicas.end()
    assert successor.shard.settle(NOW)


def test_a_leader_that_resigns_sends_the_waiting_away_and_forgets():
    bank = Bank()
    bank.store("ann", 5)
    shard, state = bank.shard, bank.shard.state
    bank.runtime.on_resign(NOW, 0)
    assert bank.heard == [("ann", Errors.NOT_COORDINATOR)]
    assert (state.story, bank.runtime.shards) == (["loaded", "unloaded"], {})
    assert shard.store(NOW, [], None) == Errors.NONE


def test_a_late_word_about_a_write_of_a_former_term_changes_nothing():
    bank = Bank()
    bank.store("ann", 5)
    bank.runtime.on_resign(NOW, 0)
    bank.runtime.on_leader(NOW, 0)
    (former,) = bank.replicas.under_way
    bank.store("bob", 1)
    former.stored(NOW, Errors.NOT_LEADER_OR_FOLLOWER)
    assert bank.heard == [("ann", Errors.NOT_COORDINATOR)]
    assert [each.name for each in bank.shard.on_their_way()] == ["bob"]


def test_a_partition_that_is_not_here_has_no_shard():
    bank = Bank()
    bank.runtime.on_leader(NOW, 7)
    assert list(bank.runtime.shards) == [0]
    bank.runtime.on_resign(NOW, 7)


def test_the_state_survives_a_pickle():
    bank = Bank()
    bank.store("ann", 5)
    copy = pickle.loads(pickle.dumps(bank))
    copy.replicas.end()
    assert (copy.balances, bank.balances) == ({"ann": 5}, {})
