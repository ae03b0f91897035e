"""Our cleaner beside Kafka's own: the same logs are due, and cleaned they have the same bytes.

`StorageOracle.java` runs Kafka's `LogCleanerManager` and `Cleaner` on its log; ours gets the same
appends, the same clock and the same buffer sizes.
"""

from __future__ import annotations

import base64
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from engine.records import control
from engine.records.batch import Record, decode, encode, iterate
from engine.storage.cleaner.cleaning import Cleaning
from engine.storage.cleaner.log_to_clean import filthiest, log_to_clean
from engine.storage.cleaner.offset_map import OffsetMap
from engine.storage.log import Log
from engine.storage.log_config import LogConfig
from engine.storage.log_validator import Origin
from engine.storage.real_disk import RealDisk
from tests.conformance.test_storage_unified_log import NOW_MS, Ask, contents, kafka, state

__all__ = ["kafka"]

HOUR_MS = 3600 * 1000
CONFIG = LogConfig(
    segment_bytes=900,
    index_interval_bytes=200,
    retention_ms=-1,
    producer_id_expiration_ms=1 << 60,
    cleanup_policy=("compact",),
    min_cleanable_dirty_ratio=0.3,
    delete_retention_ms=HOUR_MS,
)
LARGE_MAP = 24 * 1000
IO_BUFFER = 1 << 19


class Pair:
    """Our log and Kafka's, with the same records, cleaned one after the other."""

    def __init__(self, ask: Ask, folder: Path, config: LogConfig = CONFIG) -> None:
        self.ask = ask
        self.compares: Callable[[str], object] = str
        self.now_ms = NOW_MS
        self.disk = RealDisk(folder / "ours")
        self.log = Log(self.disk, "orders-0", config, NOW_MS * 1000)
        self.theirs = folder / "theirs"
        self.set_clock(NOW_MS)
        given = {
            "internal.segment.bytes": config.segment_bytes,
            "index.interval.bytes": config.index_interval_bytes,
            "retention.ms": -1,
            "cleanup.policy": "compact",
            "min.cleanable.dirty.ratio": config.min_cleanable_dirty_ratio,
            "min.compaction.lag.ms": config.min_compaction_lag_ms,
            "max.compaction.lag.ms": config.max_compaction_lag_ms,
            "delete.retention.ms": config.delete_retention_ms,
            "message.timestamp.type": config.message_timestamp_type,
            "message.timestamp.after.max.ms": (1 << 63) - 1,
        }
        words = " ".join(f"{name}={value}" for name, value in given.items())
        assert ask(f"open {self.theirs}/orders-0 false 0 0 {words}") == state(self.log)
        self.log.epochs.assign(0, 0)
        assert ask("lead 0") == state(self.log)

    def set_clock(self, now_ms: int) -> None:
        self.now_ms = now_ms
        self.ask(f"now {now_ms}")

    def append(self, data: bytes, sized: bool = True, origin: Origin = "client") -> None:
        info = self.log.append_as_leader(data, 0, self.now_ms * 1000, origin)
        theirs = self.ask(f"append 0 {origin.upper()} {base64.b64encode(data).decode()}")
        assert f"{info.base_offset} {info.last_offset}" == theirs
        assert not sized or state(self.log) == self.ask("state")

    def roll(self) -> None:
        self.log.roll()
        assert self.ask("roll") == state(self.log)

    def clean(self, buffer: int = LARGE_MAP, load: float = 0.9, io_buffer: int = IO_BUFFER) -> str:
        """What the pass found and did, as the oracle says it."""
        found = filthiest(
            [
                log_to_clean(
                    self.log, self.log.last_stable_offset(self.log.log_end_offset), self.now_ms
                )
            ]
        )
        ours = "none"
        if found is not None:
            cleaning = Cleaning(found, OffsetMap(buffer, load), self.now_ms * 1000, io_buffer)
            while not cleaning.is_over:
                cleaning.step()
            self.log.segments.delete_retired(self.now_ms)
            ours = (
                f"from={found.first_dirty_offset} to={cleaning.end_offset} "
                f"clean={found.clean_bytes} dirty={found.dirty_bytes} "
                f"read={cleaning.filter.records_read} kept={cleaning.filter.records_kept}"
            )
        theirs = self.ask(f"compact {buffer} {load} {io_buffer // 2}")
        assert self.compares(ours) == self.compares(theirs)
        return ours

    def compare(self) -> None:
        self.log.close()
        assert self.ask("close") == "closed"
        ours, theirs = (
            contents(folder / "orders-0") for folder in (Path(self.disk.root), self.theirs)
        )
        assert ours == theirs


def some_batch(ids: random.Random, now_ms: int, sequences: dict[int, int], codec: int = 0) -> bytes:
    records = [
        Record(
            0,
            now_ms - ids.randrange(HOUR_MS),
            b"key-%d" % ids.randrange(12),
            None if ids.random() < 0.2 else b"v" * ids.randrange(60),
            (("h", b"x"),) if ids.random() < 0.1 else (),
        )
        for _ in range(ids.randint(1, 5))
    ]
    producer_id = ids.choice((-1, -1, 7, 8, 9))
    if producer_id < 0:
        return encode(records, compression=codec)
    sequence = sequences.get(producer_id, 0)
    sequences[producer_id] = sequence + len(records)
    return encode(
        records,
        compression=codec,
        producer_id=producer_id,
        producer_epoch=0,
        base_sequence=sequence,
    )


def run(pair: Pair, ids: random.Random, codec: int = 0) -> list[str]:
    """A random history with passes in it; what these did."""
    sequences: dict[int, int] = {}
    passes = []
    for _ in range(150):
        choice = ids.random()
        if choice < 0.75:
            pair.append(some_batch(ids, pair.now_ms, sequences, codec))
        elif choice < 0.82:
            pair.roll()
        elif choice < 0.88:
            pair.set_clock(pair.now_ms + ids.randrange(HOUR_MS))
        else:
            buffer = ids.choice((LARGE_MAP, 24 * 6))
            passes.append(pair.clean(buffer, ids.choice((0.9, 0.5)), ids.choice((400, IO_BUFFER))))
            assert state(pair.log) == pair.ask("state")
    return [each for each in passes if each != "none"]


class Transactions:
    """Producers 10 and 11 write in transactions."""

    def __init__(self, pair: Pair, ids: random.Random) -> None:
        self.pair, self.ids = pair, ids
        self.sequences = {10: 0, 11: 0}
        self.open: dict[int, bool] = {10: False, 11: False}

    def go_on(self) -> None:
        producer_id = self.ids.choice((10, 11))
        if self.open[producer_id] and self.ids.random() < 0.5:
            marker = control.end_transaction(
                commit=self.ids.random() < 0.5,
                producer_id=producer_id,
                producer_epoch=0,
                coordinator_epoch=0,
                timestamp=self.pair.now_ms,
            )
            self.pair.append(marker, origin="coordinator")
            self.open[producer_id] = False
            return
        key = b"key-%d" % self.ids.randrange(12)
        batch = encode(
            [Record(0, self.pair.now_ms, key, b"t" * self.ids.randrange(40))],
            producer_id=producer_id,
            producer_epoch=0,
            base_sequence=self.sequences[producer_id],
            transactional=True,
        )
        self.pair.append(batch)
        self.open[producer_id] = True
        self.sequences[producer_id] += 1


@pytest.mark.parametrize("seed", range(4))
def test_aborted_records_and_old_markers_go_alike(kafka: Ask, tmp_path: Path, seed: int) -> None:
    ids = random.Random(seed)
    pair = Pair(kafka, tmp_path, replace(CONFIG, min_cleanable_dirty_ratio=0.0))
    transactions = Transactions(pair, ids)
    sequences: dict[int, int] = {}
    passes = 0
    for _ in range(150):
        choice = ids.random()
        if choice < 0.5:
            transactions.go_on()
        elif choice < 0.75:
            pair.append(some_batch(ids, pair.now_ms, sequences))
        elif choice < 0.8:
            pair.roll()
        elif choice < 0.85:
            pair.set_clock(pair.now_ms + 2 * HOUR_MS)
        else:
            passes += pair.clean() != "none"
            assert state(pair.log) == pair.ask("state")
    assert passes > 3
    pair.compare()


@pytest.mark.parametrize("seed", range(6))
def test_the_same_rounds_leave_the_same_bytes(kafka: Ask, tmp_path: Path, seed: int) -> None:
    ids = random.Random(seed)
    config = replace(
        CONFIG,
        min_cleanable_dirty_ratio=ids.choice((0.0, 0.3, 0.5)),
        min_compaction_lag_ms=ids.choice((0, 0, HOUR_MS)),
        max_compaction_lag_ms=ids.choice(((1 << 63) - 1, 2 * HOUR_MS)),
        message_timestamp_type=ids.choice(("CreateTime", "CreateTime", "LogAppendTime")),
    )
    pair = Pair(kafka, tmp_path, config)
    assert len(run(pair, ids)) > 3
    pair.compare()


def sizeless(passed: str) -> list[str]:
    return [word for word in passed.split() if not word.startswith(("clean=", "dirty="))]


def opened(data: bytes) -> list[tuple[object, ...]]:
    """Headers and records; not what depends on the compressed size."""
    return [
        (header._replace(batch_length=0, crc=0), decode(data, position))
        for header, position in iterate(data)
    ]


@pytest.mark.parametrize("codec", [1, 2, 3, 4], ids=["gzip", "snappy", "lz4", "zstd"])
def test_compressed_batches_keep_the_same_records(kafka: Ask, tmp_path: Path, codec: int) -> None:
    """Two libraries compress the same records into different bytes: all else is compared."""
    ids = random.Random(codec)
    pair = Pair(kafka, tmp_path, replace(CONFIG, segment_bytes=1 << 20))
    pair.compares = sizeless
    sequences: dict[int, int] = {}
    for _ in range(3):
        for _ in range(40):
            pair.append(some_batch(ids, pair.now_ms, sequences, codec), sized=False)
        pair.log.roll()
        kafka("roll")
        assert pair.clean() != "none"
        pair.set_clock(pair.now_ms + 2 * HOUR_MS)
    name = "orders-0/00000000000000000000.log"
    ours = (Path(pair.disk.root) / name).read_bytes()
    assert opened(ours) == opened((pair.theirs / name).read_bytes())
    assert codec in {header.compression for header, _ in iterate(ours)}
