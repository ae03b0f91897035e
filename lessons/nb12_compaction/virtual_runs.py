"""Retention and the cleaner in virtual time: a minute costs nothing, and the trace tells all."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

from engine.records import batch
from engine.sim.world.world import World
from engine.storage.cleaner.offset_map import BYTES_PER_ENTRY, OffsetMap
from engine.storage.log import Log
from engine.wire.errors import Errors
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


def table(world: World, topic: str) -> dict[str | None, str]:
    """What a reader of the whole log ends up with."""
    return records.table(held(world, topic))


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode()


# -- when a pass begins


COMPACT = {"cleanup.policy": "compact", "internal.segment.bytes": 300}
"""Four records in a segment."""
OFTEN = {"log.cleaner.backoff.ms": 500}


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
    world = World(12, settings=OFTEN, checked=False, rewindable=False)
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
    rows = [
        [label, f"{first[number]} min" if number in first else "never",
         str(len(held(world, f"users-{number}")))]
        for number, label in enumerate(topics)
    ]  # fmt: skip
    return Table(
        "The first pass over 17 values of one key, 16 of them in closed segments",
        ("topic", "cleaned within", f"records left after {until_minutes} minutes"),
        rows,
    )


def order(ratios: tuple[float, ...] = (0.55, 0.9, 0.4, 0.7)) -> Table:
    """Partitions with these shares of dirty bytes, while the cleaner is off; then it may begin."""
    world = World(12, settings={**OFTEN, "log.cleaner.backoff.ms": 60_000},
                  checked=False, rewindable=False)  # fmt: skip
    world.create_topic("users", assignment={n: [101] for n in range(len(ratios))}, config=COMPACT)
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
    return Table("Partitions in the order in which they were cleaned",
                 ("partition", "dirty ratio", "why"), rows)  # fmt: skip


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


# -- a quiet topic


def quiet(days: int = 40, roll_days: int = 7) -> list[tuple[int, float]]:
    """One record a day, kept a week: for each day, the age in days of the oldest that is left."""
    day_ms = 24 * 60 * MINUTE_MS
    world = World(12, settings={"log.retention.check.interval.ms": 500},
                  checked=False, rewindable=False)  # fmt: skip
    config = {"retention.ms": 7 * day_ms, "segment.ms": roll_days * day_ms}
    world.create_topic("quiet", assignment={0: [101]}, config=config)
    ages = []
    for day in range(days):
        put(world, "quiet", [(None, f"day {day}")], later_ms=day * day_ms)
        world.run(for_s=1)
        ages.append((day, float(day - log_of(world, "quiet").log_start_offset)))
        world.jump_clock(101, day_ms)
    return ages


def ratios(rounds: int = 30) -> Table:
    """Ten users, written again and again: passes and bytes, by min.cleanable.dirty.ratio."""
    world = World(12, settings=OFTEN, checked=False, rewindable=False)
    limits = (0.1, 0.5, 0.9)
    for limit in limits:
        config = {**COMPACT, "min.cleanable.dirty.ratio": limit}
        world.create_topic(f"users-{limit}", assignment={0: [101]}, config=config)
    for _ in range(rounds):
        for limit in limits:
            put(world, f"users-{limit}", [(f"u{n:02}", "1") for n in range(10)])
        world.run(for_s=2)
    rows = []
    for limit in limits:
        found = passes(world, f"users-{limit}")
        read = sum(each["bytes_before"] for each in found)
        left = len(held(world, f"users-{limit}"))
        rows.append([str(limit), str(len(found)), f"{read:,}", str(left)])
    return Table(
        f"{rounds * 10} records of ten keys",
        ("min.cleanable.dirty.ratio", "passes", "bytes read by passes", "records left"),
        rows,
    )
