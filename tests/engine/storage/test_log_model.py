"""Random histories of a log, compared step by step with a plain list of batches."""

from __future__ import annotations

import random
import tempfile
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.records.batch import Record, encode, iterate
from engine.storage.disk import Disk
from engine.storage.log import Log
from engine.storage.log_config import LogConfig
from engine.storage.log_loader import Checkpointed
from engine.storage.memory_disk import MemoryDisk
from engine.storage.real_disk import RealDisk

NOW_MS = 1_700_000_000_000
NOW = NOW_MS * 1000
CONFIG = LogConfig(segment_bytes=700, index_interval_bytes=150)
PRODUCER = 7


@dataclass
class Model:
    """What a log is, without files: batches, a start, an end."""

    batches: list[tuple[int, int, int, bytes]] = field(default_factory=list)
    """(base offset, next offset, epoch, bytes)"""
    start: int = 0
    end: int = 0
    epoch: int = 0
    flushed: int = 0

    def truncate(self, offset: int) -> None:
        while self.batches and self.batches[-1][1] > offset:
            offset = min(offset, self.batches[-1][0])
            self.batches.pop()
        self.end = min(self.end, offset)
        self.start = min(self.start, self.end)
        self.flushed = min(self.flushed, self.end)

    @property
    def readable(self) -> list[bytes]:
        return [data for _, next_offset, _, data in self.batches if next_offset > self.start]

    @property
    def epochs(self) -> list[tuple[int, int]]:
        found: list[tuple[int, int]] = []
        for base, next_offset, epoch, _ in self.batches:
            if next_offset > self.start and (not found or found[-1][0] != epoch):
                found.append((epoch, max(base, self.start)))
        return found


class Driver:
    """Does the same to the log and to the model."""

    def __init__(self, disk: Disk) -> None:
        self.disk = disk
        self.log = Log(disk, "orders-0", CONFIG, NOW)
        self.model = Model()

    def append(self, count: int, size: int, idempotent: bool) -> None:
        fields: dict[str, Any] = {}
        if idempotent:
            known = self.log.producers.get(PRODUCER)
            sequence = known.last_sequence + 1 if known else 0
            fields = {"producer_id": PRODUCER, "producer_epoch": 0, "base_sequence": sequence}
        sent = encode([Record(0, NOW_MS, None, b"v" * size)] * count, **fields)
        info = self.log.append_as_leader(sent, self.model.epoch, NOW)
        assert (info.base_offset, info.last_offset) == (self.model.end, self.model.end + count - 1)
        if idempotent:
            again = self.log.append_as_leader(sent, self.model.epoch, NOW)
            assert (again.duplicate, again.base_offset) == (True, info.base_offset)
        base, self.model.end = self.model.end, self.model.end + count
        stored = self.log.read(base, 1)
        assert stored[16:] == sent[16:]
        self.model.batches.append((base, self.model.end, self.model.epoch, stored))

    def new_epoch(self) -> None:
        self.model.epoch += 1

    def roll(self) -> None:
        self.log.roll()

    def truncate(self, back: int) -> None:
        offset = max(self.model.end - back, 0)
        if offset < self.log.segments[0].base_offset:
            return  # that is another operation: starting again
        self.log.truncate_to(offset)
        self.model.truncate(offset)

    def advance(self, forward: int) -> None:
        offset = min(self.model.start + forward, self.model.end)
        self.log.advance_log_start(offset)
        self.model.start = offset

    def restart_at(self, ahead: int) -> None:
        offset = self.model.end + ahead
        self.log.truncate_fully_and_start_at(offset)
        self.model = Model(start=offset, end=offset, epoch=self.model.epoch)

    def flush(self) -> None:
        self.log.flush()
        self.model.flushed = self.model.end

    def kill(self) -> None:
        self._open(clean=False)
        assert self.log.recovered.cuts == ()

    def close(self) -> None:
        self.log.close()
        self.model.flushed = self.model.end
        self._open(clean=True)
        assert self.log.recovered.batches_checked == 0

    def lose_power(self, seed: int, torn: bool) -> None:
        if not isinstance(self.disk, MemoryDisk):
            return
        self.disk.lose_power(random.Random(seed), torn)
        self._open(clean=False)
        assert self.log.log_end_offset >= self.model.flushed
        self.model.truncate(self.log.log_end_offset)
        if self.model.end < self.log.log_end_offset:  # nothing is left: the start is kept
            self.model.start = self.model.end = self.log.log_end_offset

    def _open(self, clean: bool) -> None:
        known = Checkpointed(clean, self.log.recovery_point, self.model.start)
        self.log = Log(self.disk, "orders-0", CONFIG, NOW, known)

    def check(self) -> None:
        log, model = self.log, self.model
        assert (log.log_start_offset, log.log_end_offset) == (model.start, model.end)
        with_records = [entry for entry in log.epochs.entries if entry[1] < model.end]
        assert with_records == model.epochs
        stored = []
        offset = model.start
        while data := log.read(offset, 400):
            for header, position in iterate(data):
                stored.append(data[position : position + header.size_in_bytes])
                offset = header.next_offset
        assert stored == model.readable
        for base, next_offset, _, data in model.batches:
            for offset in range(max(base, model.start), next_offset):
                assert log.read(offset, 1) == data
                assert log.read(offset, 1, next_offset) == data
                assert log.read(offset, 1 << 20, base) == b""
        if log.size_in_bytes:
            assert log.segments[0].base_offset <= model.start


OPERATIONS = st.one_of(
    st.tuples(st.just("append"), st.integers(1, 4), st.integers(0, 150), st.booleans()),
    st.tuples(st.just("append"), st.just(1), st.just(0), st.booleans()),
    st.tuples(st.just("new_epoch")),
    st.tuples(st.just("roll")),
    st.tuples(st.just("truncate"), st.integers(0, 12)),
    st.tuples(st.just("advance"), st.integers(0, 6)),
    st.tuples(st.just("restart_at"), st.integers(0, 3)),
    st.tuples(st.just("flush")),
    st.tuples(st.just("kill")),
    st.tuples(st.just("close")),
    st.tuples(st.just("lose_power"), st.integers(0, 99), st.booleans()),
)


def run(disk: Disk, operations: list[tuple[Any, ...]]) -> None:
    driver = Driver(disk)
    for name, *arguments in operations:
        getattr(driver, name)(*arguments)
        driver.check()


QUICK = settings(
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@settings(QUICK, max_examples=200)
@given(st.lists(OPERATIONS, min_size=5, max_size=40))
def test_on_a_memory_disk(operations: list[tuple[Any, ...]]) -> None:
    run(MemoryDisk(), operations)


@settings(QUICK, max_examples=25)
@given(st.lists(OPERATIONS, min_size=5, max_size=30))
def test_on_a_real_disk(operations: list[tuple[Any, ...]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        disk = RealDisk(folder, open_files_max=4)
        run(disk, operations)
        disk.close()


@pytest.mark.parametrize("seed", range(12))
def test_long_histories(seed: int) -> None:
    ids = random.Random(seed)
    driver = Driver(MemoryDisk())
    for _ in range(60):
        for _ in range(ids.randrange(8)):
            driver.append(ids.randint(1, 4), ids.randrange(100), ids.random() < 0.5)
        choice = ids.randrange(7)
        if choice == 0:
            driver.truncate(ids.randrange(15))
        elif choice == 1:
            driver.advance(ids.randrange(10))
        elif choice == 2:
            driver.flush()
        elif choice == 3:
            driver.lose_power(ids.randrange(1000), torn=True)
        elif choice == 4:
            driver.new_epoch()
        elif choice == 5:
            driver.kill()
        else:
            driver.close()
        driver.check()
