"""Generates the positions of a fleet of trucks, with trouble, and counts the truth about them.

Every few seconds a truck reports its place and its speed:

    {"event_id": "truck-07-000042", "truck": "truck-07", "event_time": 1772438400123,
     "speed_kmh": 83, "lat": 47.3769, "lon": 8.5417}

`event_time` is the truck's clock, in milliseconds since 1970, UTC.  Records arrive less tidy
than they were sent, and the generator makes a share of each kind of trouble:

* **late**: the truck was in a tunnel; the position arrives up to fifteen minutes late;
* **duplicate**: an answer got lost and the truck sent again, the same event id, later;
* **malformed**: cut off (not JSON), a field missing, or a field of another type;
* **skewed**: a few trucks send most of the positions.

The same seed gives the same records, byte for byte.  `truth` counts what a correct pipeline
must find.  It uses the generator's own knowledge and never reads the bytes again.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from types import MappingProxyType
from typing import Any, NamedTuple

START_MS = 1_772_438_400_000
"""2026-03-02 08:00:00 UTC: when the first truck leaves."""
MINUTE_MS = 60_000
NOT_JSON, MISSING_FIELD, WRONG_TYPE = "not JSON", "missing field", "wrong type"
REASONS = (NOT_JSON, MISSING_FIELD, WRONG_TYPE)
LATEST_MS = 15 * MINUTE_MS
_RESENT_WITHIN = 500
"""A duplicate follows its original by at most that many records."""


@dataclass(frozen=True, slots=True)
class Fleet:
    """The fleet to generate.  `events` is the number of records in all; shares are of 1."""

    events: int = 20_000
    seed: int = 7
    trucks: int = 40
    per_second: int = 50
    late: float = 0.05
    duplicate: float = 0.02
    malformed: float = 0.01


class Position(NamedTuple):
    """One record, and what the generator knows about it."""

    key: bytes
    value: bytes
    truck: str
    event_time_ms: int
    speed_kmh: int
    kind: str
    """`good`, `late`, `duplicate`, or one of REASONS."""


class Minute(NamedTuple):
    """What gold must say of one truck's minute."""

    positions: int
    average_kmh: float
    maximum_kmh: int


@dataclass(frozen=True, slots=True)
class Truth:
    """What a correct pipeline finds."""

    produced: int
    duplicates: int
    late: int
    malformed: dict[str, int]
    minutes: dict[tuple[str, int], Minute] = field(repr=False)
    """By truck and the minute's first millisecond."""

    @property
    def events(self) -> int:
        """Good events, each counted once."""
        return self.produced - self.duplicates - sum(self.malformed.values())


def positions(fleet: Fleet) -> Iterator[Position]:
    """The records in the order in which they arrive."""
    dice = random.Random(f"fleet {fleet.seed}")
    names = [f"truck-{number:02d}" for number in range(1, fleet.trucks + 1)]
    # Zipf's law: the second truck sends half of the first one's, the third a third.
    weights = list(accumulate(1 / rank for rank in range(1, fleet.trucks + 1)))
    sent = Counter[str]()
    waiting: dict[int, Position] = {}
    for number in range(fleet.events):
        if number in waiting:
            yield waiting.pop(number)
            continue
        name = dice.choices(names, cum_weights=weights)[0]
        sent[name] += 1
        made = _position(
            dice, fleet, name, sent[name], START_MS + number * 1000 // fleet.per_second
        )
        if made.kind in ("good", "late") and dice.random() < fleet.duplicate:
            again = number + dice.randint(1, _RESENT_WITHIN)
            if again < fleet.events and again not in waiting:
                waiting[again] = made._replace(kind="duplicate")
        yield made


def truth(records: Iterable[Position]) -> Truth:
    """Plain counts of what was generated."""
    kinds = Counter[str]()
    speeds: dict[tuple[str, int], list[int]] = {}
    for record in records:
        kinds[record.kind] += 1
        if record.kind in ("good", "late"):
            minute = record.event_time_ms // MINUTE_MS * MINUTE_MS
            speeds.setdefault((record.truck, minute), []).append(record.speed_kmh)
    return Truth(
        produced=kinds.total(),
        duplicates=kinds["duplicate"],
        late=kinds["late"],
        malformed={reason: kinds[reason] for reason in REASONS},
        minutes={
            key: Minute(len(seen), sum(seen) / len(seen), max(seen)) for key, seen in speeds.items()
        },
    )


def write(
    cluster: Any,
    topic: str,
    records: Iterable[Position],
    at: Mapping[int, Callable[[], object]] = MappingProxyType({}),
) -> int:
    """Produces the records, keyed by truck, to any cluster; returns how many were acknowledged.

    The producer is idempotent, so its own retries add nothing.  `at[n]` is called once n records
    are handed to the producer: something may be broken there, while records are in flight.
    RuntimeError if the cluster refused a record.
    """
    from confluent_kafka import Producer

    refused: list[str] = []
    acknowledged = 0

    def on_delivery(error: Any, _: Any) -> None:
        nonlocal acknowledged
        if error is not None:
            refused.append(error.str())
        else:
            acknowledged += 1

    producer = Producer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "enable.idempotence": True,
            "linger.ms": 20,
            "log_level": 0,
        }
    )
    for number, record in enumerate(records, 1):
        while True:
            try:
                producer.produce(topic, record.value, record.key, on_delivery=on_delivery)
                break
            except BufferError:  # the queue is full: let deliveries happen
                producer.poll(0.1)
        if number % 1000 == 0:
            producer.poll(0)
        if number in at:
            at[number]()
    producer.flush()
    if refused:
        raise RuntimeError(f"{len(refused)} records were refused, the first with: {refused[0]}")
    return acknowledged


def _position(
    dice: random.Random, fleet: Fleet, name: str, sequence: int, arrives_ms: int
) -> Position:
    kind = "late" if dice.random() < fleet.late else "good"
    # A report takes up to two seconds; a late one from one minute to a quarter of an hour.
    delay = dice.randint(MINUTE_MS, LATEST_MS) if kind == "late" else dice.randint(20, 2000)
    event_time = arrives_ms - delay
    speed = min(130, max(0, round(dice.gauss(78, 14))))
    report = {
        "event_id": f"{name}-{sequence:06d}",
        "truck": name,
        "event_time": event_time,
        "speed_kmh": speed,
        "lat": round(46.0 + dice.random() * 2, 4),
        "lon": round(6.5 + dice.random() * 3, 4),
    }
    if dice.random() < fleet.malformed:
        kind = dice.choice(REASONS)
        value = _spoiled(dice, kind, report)
    else:
        value = json.dumps(report)
    return Position(name.encode(), value.encode(), name, event_time, speed, kind)


def _spoiled(dice: random.Random, reason: str, report: dict[str, Any]) -> str:
    name = dice.choice(("event_id", "truck", "event_time", "speed_kmh"))
    if reason == MISSING_FIELD:
        return json.dumps({key: value for key, value in report.items() if key != name})
    if reason == WRONG_TYPE:
        return json.dumps(report | {dice.choice(("event_time", "speed_kmh")): "unknown"})
    return json.dumps(report)[: dice.randint(1, 60)]
