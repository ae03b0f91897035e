"""Retention and the cleaner in virtual time: a minute costs nothing, and the trace tells all."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from engine.records import batch
from engine.sim.world.world import World
from engine.storage.cleaner.log_to_clean import log_to_clean
from engine.storage.cleaner.offset_map import BYTES_PER_ENTRY, OffsetMap
from engine.storage.log import Log
from engine.storage.remote.local_tiered_storage import ROOT
from engine.wire import messages as m
from engine.wire.errors import Errors
from kit.clusters.interface import ClusterError
from kit.probes import requests, virtual
from kit.tables import Table
from lessons.nb12_compaction import records
from lessons.nb12_compaction.records import MINUTE_MS, Pair, Record


def put(
    world: World, topic: str, pairs: Iterable[Pair], partition: int = 0, later_ms: int = 0
) -> list[str]:
    """Each record in a batch of its own, sent to the leader: its offset, or the error's name."""
    at_ms = world.cluster.now // 1000 + later_ms
    return [_put(world, topic, pair, partition, at_ms) for pair in pairs]


def _put(world: World, topic: str, pair: Pair, partition: int, at_ms: int) -> str:
    key, value = pair
    record = batch.Record(0, at_ms, _bytes(key), _bytes(value))
    body = requests.producing(
        virtual.topic_id(world, topic),
        acks=-1,
        records=batch.encode([record]),
        partition=partition,
    )
    answer = world.ask(body, world.leader(topic, partition))
    if answer is None:
        return "no answer"
    part = requests.first_partition(answer)
    return Errors(part.error_code).name if part.error_code else str(part.base_offset)


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else text.encode()


def log_of(world: World, topic: str, partition: int = 0, broker: int | None = None) -> Log:
    """A replica's log, the leader's unless a broker is named."""
    by = world.leader(topic, partition) if broker is None else broker
    return world.replica(by, topic, partition).log


def passes(world: World, topic: str) -> list[dict[str, Any]]:
    """The passes over a topic that have ended, by the brokers' traces."""
    return [
        {"broker": node, "partition": line.partition, "why": line.why, **dict(line.fields)}
        for _, node, line in world.cluster.trace
        if line.kind == "cleaned" and line.partition.rpartition("-")[0] == topic
    ]


def reached(world: World, kind: str) -> int:
    """How many trace lines of this kind there are: "mapped", "copied", "swapped"."""
    return sum(line.kind == kind for _, _, line in world.cluster.trace)


def files(world: World, broker: int, topic: str) -> list[str]:
    """The .log files of partition 0 on a simulated disk, without the zeros of their names."""
    names = (name.partition(".") for name in world.cluster.disks[broker].list(f"{topic}-0"))
    return [f"{int(base)}.{rest}" for base, _, rest in names if rest.startswith("log")]


def held(world: World, topic: str, partition: int = 0) -> list[Record]:
    """The records in the leader's log."""
    log = log_of(world, topic, partition)
    return [
        Record(record.offset, _text(record.key), _text(record.value))
        for segment in log.segments
        for header, position in segment.headers(0)
        for record in batch.decode(log.disk.read(segment.path, position, header.size_in_bytes))
    ]


def pairs(world: World, topic: str) -> set[Pair]:
    """The keys and values in the leader's log."""
    return {(record.key, record.value) for record in held(world, topic)}


class Reader:
    """Keeps a table of a topic, and reads when it is asked to."""

    def __init__(self, world: World, topic: str) -> None:
        self.world, self.topic = world, topic
        self.position = 0
        self.table: dict[str | None, str] = {}

    def read(self) -> None:
        """From where it is to the end of the log."""
        for record in held(self.world, self.topic):
            if record.offset < self.position:
                continue
            self.position = record.offset + 1
            self.table.pop(record.key, None)
            if record.value is not None:
                self.table[record.key] = record.value


def table(world: World, topic: str) -> dict[str | None, str]:
    """What a reader of the whole log ends up with."""
    return records.table(held(world, topic))


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode()


# -- when a pass begins


COMPACT = {"cleanup.policy": "compact", "internal.segment.bytes": 300}
"""Four records in a segment."""
OFTEN = {"log.cleaner.backoff.ms": 500}
NOW_AND_THEN = {"log.cleaner.backoff.ms": 15_000}
"""The default."""


def lags(until_minutes: int = 25) -> Table:
    """One key, written 17 times at once; when each of four topics is cleaned first."""
    topics: dict[str, dict[str, object]] = {
        "defaults": {},
        "min.compaction.lag.ms of 10 minutes": {"min.compaction.lag.ms": 10 * MINUTE_MS},
        "ratio of 1": {"min.cleanable.dirty.ratio": 1},
        "ratio of 1, max.compaction.lag.ms of 20 minutes": {
            "min.cleanable.dirty.ratio": 1,
            "max.compaction.lag.ms": 20 * MINUTE_MS,
        },
    }
    world = World(12, brokers=1, settings=NOW_AND_THEN, checked=False, rewindable=False)
    for number, config in enumerate(topics.values()):
        name = f"users-{number}"
        world.create_topic(name, assignment={0: [101]}, config={**COMPACT, **config})
        put(world, name, [("anna", str(value % 10)) for value in range(17)])
    first: dict[int, int] = {}
    for minute in range(1, until_minutes + 1):
        world.run(for_s=60)
        for number in range(len(topics)):
            if passes(world, f"users-{number}"):
                first.setdefault(number, minute)
    rows = []
    for number, label in enumerate(topics):
        name = f"users-{number}"
        left = len(held(world, name))
        put(world, name, [("anna", "9")])
        active = log_of(world, name).segments.active.base_offset
        cleaned = f"{first[number]} min" if number in first else "never"
        rows.append([label, cleaned, str(left), str(active)])
    return Table(
        "The first pass over 17 values of one key, 16 of them in closed segments",
        ("topic", "cleaned within", f"records left after {until_minutes} minutes",
         "with one more, the active segment begins at"),
        rows,
    )  # fmt: skip


def order(ratios: tuple[float, ...] = (0.55, 0.9, 0.4, 0.7)) -> Table:
    """Partitions with these shares of dirty bytes, and young ones; then the cleaner may begin."""
    world = World(12, brokers=1, settings={"log.cleaner.backoff.ms": 60_000},
                  checked=False, rewindable=False)  # fmt: skip
    world.create_topic("users", assignment={n: [101] for n in range(len(ratios))}, config=COMPACT)
    hour = {**COMPACT, "min.compaction.lag.ms": 60 * MINUTE_MS}
    world.create_topic("young", assignment={0: [101]}, config=hour)
    put(world, "young", [("anna", "1")] * 17)
    for index in range(len(ratios)):
        put(world, "users", [(f"u{n:02}", "1") for n in range(41)], index)
    world.run(until=lambda w: len(passes(w, "users")) == len(ratios), for_s=300)
    for index, ratio in enumerate(ratios):
        segments = round(10 * ratio / (1 - ratio))
        pairs = [(f"u{n % 40:02}", "2") for n in range(4 * segments)]
        put(world, "users", pairs, index)
    world.run(for_s=180)
    rows = [
        [each["partition"], str(each["dirty_ratio"]), each["why"]]
        for each in passes(world, "users")[len(ratios) :]
    ]
    cleaned = {row[0] for row in rows}
    places = [("users", n) for n in range(len(ratios))] + [("young", 0)]
    rows += [_waits(world, *at) for at in places if f"{at[0]}-{at[1]}" not in cleaned]
    return Table("Partitions in the order in which they were cleaned; then those that wait",
                 ("partition", "dirty ratio", "why"), rows)  # fmt: skip


def _waits(world: World, topic: str, partition: int) -> list[str]:
    """Why a log is not due."""
    log = log_of(world, topic, partition)
    found = log_to_clean(log, log.log_end_offset, world.cluster.now // 1000)
    young = log.segments.active.base_offset - found.first_uncleanable_offset
    why = f"waits: {found.dirty_ratio:.0%} of its bytes are dirty"
    if young:
        why = f"waits: {young} records of closed segments are too young"
    return [f"{topic}-{partition}", str(round(found.dirty_ratio, 3)), why]


def inside(history: Iterable[Pair]) -> tuple[Table, Table]:
    """One pass over a log: its map, and what it did with each record.

    The world stands still when the map is complete; then the pass goes on.
    """
    world = World(12, settings=OFTEN)
    world.create_topic("users", assignment={0: [101]}, config=COMPACT)
    put(world, "users", history)
    before = held(world, "users")
    world.run(until=lambda w: reached(w, "mapped") > 0, for_s=30)
    ((_, cleaning),) = world.cluster.nodes[101].replicas.cleaner.passes.values()
    offsets = cleaning.offsets
    world.run(until=lambda w: bool(passes(w, "users")), for_s=30)
    left = {each.offset for each in held(world, "users")}
    active = log_of(world, "users").segments.active.base_offset
    return _map(offsets, sorted({str(each.key) for each in before})), _decided(
        before, left, active, offsets
    )


def _map(offsets: OffsetMap, keys: list[str]) -> Table:
    rows = [
        [key, hashlib.md5(key.encode(), usedforsecurity=False).hexdigest(),
         str(offsets.get(key.encode()))]
        for key in keys
        if offsets.get(key.encode()) >= 0
    ]  # fmt: skip
    return Table(
        "The offset map", ("key", "its hash, 16 bytes", "latest offset, 8 bytes"), rows,
        f"{BYTES_PER_ENTRY} bytes for each key, however long it is: this map, of "
        f"log.cleaner.dedupe.buffer.size, holds {offsets.entries_max:,} keys.",
    )  # fmt: skip


def _decided(before: list[Record], left: set[int], active: int, offsets: OffsetMap) -> Table:
    rows = []
    for each in before:
        latest = offsets.get(str(each.key).encode())
        why = f"{latest} is later" if latest > each.offset else "the map knows no later one"
        if each.offset >= active:
            why = "the active segment is not cleaned"
        stays = "stays" if each.offset in left else "goes"
        rows.append([str(each.offset), f"{each.key}={each.value}", stays, why])
    return Table("Record by record", ("offset", "record", "the pass", "because"), rows)


# -- tiered storage


TIERED = {
    "remote.log.storage.system.enable": True,
    "remote.log.manager.task.interval.ms": 500,
    "log.retention.check.interval.ms": 500,
}
"""A broker copies closed segments to the store, and looks at them often."""
EARLIEST, LATEST, EARLIEST_LOCAL = -2, -1, -4
"""What ListOffsets takes in place of a timestamp."""


def alter(world: World, topic: str, **config: object) -> None:
    """Sets a topic's configs; `_` stands for a dot."""
    request = m.IncrementalAlterConfigsRequest
    configs = [
        request.AlterableConfig(name.replace("_", "."), config_operation=0, value=str(value))
        for name, value in config.items()
    ]
    resource = request.AlterConfigsResource(2, topic, configs)
    answer = world.ask(request(resources=[resource], validate_only=False))
    assert answer is not None
    if answer.responses[0].error_code:
        raise ClusterError(str(answer.responses[0].error_message))


def offset(world: World, topic: str, at: int) -> int:
    """Where ListOffsets finds a time, or one of the places above."""
    answer = world.ask(requests.listing(topic, at), world.leader(topic, 0))
    assert answer is not None
    return int(requests.first_partition(answer).offset)


def in_store(world: World, topic: str) -> list[int]:
    """The first offsets of the segments that the store has."""
    tier = world.cluster.processes.tier
    assert tier is not None
    folders = [each for each in tier.list(ROOT) if each.startswith(f"{topic}-0-")]
    names = [name for each in folders for name in tier.list(f"{ROOT}/{each}")]
    return sorted(int(name.partition("-")[0]) for name in names if name.endswith(".log"))


def on_disk(world: World, topic: str) -> list[int]:
    """The first offsets of the segments on the leader's own disk."""
    return [segment.base_offset for segment in log_of(world, topic).segments]


def fetched(world: World, topic: str, since: int) -> tuple[list[int], str]:
    """The offsets that a consumer gets from there on, and the error that ends it; "" for none."""
    found: list[int] = []
    end = offset(world, topic, LATEST)
    while since < end:
        body = requests.fetching(virtual.topic_id(world, topic), since)
        answer = world.ask(body, world.leader(topic, 0))
        assert answer is not None
        part = requests.first_partition(answer)
        if refused := requests.refusal(part):
            return found, refused
        read = [each.offset for each in batch.decode_all(part.records) if each.offset >= since]
        found += read
        since = read[-1] + 1
    return found, ""


def tiers(world: World, topic: str) -> list[str]:
    """Which segments are where, and what a consumer from offset 0 on gets."""
    found, error = fetched(world, topic, 0)
    segments = (in_store(world, topic), on_disk(world, topic))
    starts = (offset(world, topic, EARLIEST), offset(world, topic, EARLIEST_LOCAL))
    return [*(" ".join(map(str, each)) for each in segments), *map(str, starts),
            error or f"{len(found)} records"]  # fmt: skip


def side_by_side(looks: Mapping[str, list[str]]) -> Table:
    """What `tiers` has seen at some moments."""
    whats = ("segments in the store", "segments on the leader's disk", "the log starts at",
             "the local log starts at", "a consumer from 0 on gets")  # fmt: skip
    rows = [list(row) for row in zip(whats, *looks.values(), strict=True)]
    return Table("20 records, the store and the disk", ("", *looks), rows)


# -- a quiet topic


class Quiet(NamedTuple):
    """By day: the age in days of the oldest record that is left, and the bytes of the log."""

    ages: list[tuple[int, float]]
    sizes: list[tuple[int, float]]


def quiet(days: int = 40, roll_days: int = 7) -> Quiet:
    """One record of 1,000 bytes a day, kept a week."""
    day_ms = 24 * 60 * MINUTE_MS
    world = World(12, brokers=1, settings={"log.retention.check.interval.ms": 500},
                  checked=False, rewindable=False)  # fmt: skip
    config = {"retention.ms": 7 * day_ms, "segment.ms": roll_days * day_ms}
    world.create_topic("quiet", assignment={0: [101]}, config=config)
    found = Quiet([], [])
    for day in range(days):
        put(world, "quiet", [(None, "x" * 1000)], later_ms=day * day_ms)
        world.run(for_s=1)
        log = log_of(world, "quiet")
        found.ages.append((day, float(day - log.log_start_offset)))
        found.sizes.append((day, float(log.segments.size_in_bytes)))
        world.jump_clock(101, day_ms)
    return found


def ratios(rounds: int = 30) -> Table:
    """Ten users, written again and again: passes and bytes, by ratio and by size of segments."""
    world = World(12, brokers=1, settings=OFTEN, checked=False, rewindable=False)
    small = int(str(COMPACT["internal.segment.bytes"]))
    topics = {str(limit): (limit, small) for limit in (0.1, 0.5, 0.9)}
    topics["0.5, segments five times as large"] = (0.5, 5 * small)
    names = {label: f"users-{number}" for number, label in enumerate(topics)}
    for label, (limit, size) in topics.items():
        config = {**COMPACT, "min.cleanable.dirty.ratio": limit, "internal.segment.bytes": size}
        world.create_topic(names[label], assignment={0: [101]}, config=config)
    for _ in range(rounds):
        for name in names.values():
            put(world, name, [(f"u{n:02}", "1") for n in range(10)])
        world.run(for_s=2)
    rows = []
    for label, name in names.items():
        found = passes(world, name)
        read = sum(each["bytes_before"] for each in found)
        tail = log_of(world, name).segments.active.size
        rows.append([label, str(len(found)), f"{read:,}", str(len(held(world, name))), f"{tail:,}"])
    return Table(
        f"{rounds * 10} records of ten keys",
        ("min.cleanable.dirty.ratio", "passes", "bytes read by passes", "records left",
         "bytes of the active segment"),
        rows,
    )  # fmt: skip
