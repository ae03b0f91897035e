"""Compares the pipeline's tables with what the generator knows: numbers on both sides."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from labs.fleet.records import POSITIONS, TOPICS
from labs.fleet.truth import Counts, Truth
from labs.pipeline.events import Parser
from labs.pipeline.storage import Storage
from labs.pipeline.tables import MINUTES, PAID, STATES, Place

MOST_FREQUENT = 12
"""How many keys a report names."""


@dataclass(frozen=True, slots=True)
class Equation:
    """Two numbers that must be the same."""

    name: str
    found: int
    truth: int

    @property
    def holds(self) -> bool:
        return self.found == self.truth

    def __str__(self) -> str:
        return f"{'✓' if self.holds else '✗'} {self.name}: {self.found:,} and {self.truth:,}"


def read(storage: Storage, place: Place) -> dict[str, Any]:
    """What the tables hold, as JSON can carry it: rows by topic, reasons, and all of gold.

    Bronze also by partition, and the positions' most frequent keys.
    """

    def gold(table: str, *columns: str) -> list[list[Any]]:
        found = storage.read(place.gold(table)).selectExpr(*columns).collect()
        return sorted([list(row) for row in found])

    paid = storage.read(place.gold(PAID)).groupBy("order_id").agg({"cents": "sum"}).collect()

    bronze = storage.read(place.bronze)
    partitions = bronze.groupBy("topic", "partition").count().collect()
    positions = bronze.where(f"topic = '{POSITIONS}'").selectExpr("CAST(key AS STRING) AS key")
    keys = positions.groupBy("key").count().orderBy("count", "key", ascending=[False, True])
    letters = storage.read(place.dead_letters).groupBy("topic", "reason").count().collect()
    late = storage.read(place.late).groupBy("topic").count().collect()
    return {
        "bronze": _by_topic(partitions),
        "partitions": sorted([list(row) for row in partitions]),
        "keys": [list(row) for row in keys.limit(MOST_FREQUENT).collect()],
        "silver": {topic: storage.read(place.silver(topic)).count() for topic in TOPICS},
        "dead letters": sorted([list(row) for row in letters]),
        "late": dict(sorted(tuple(row) for row in late)),
        MINUTES: gold(
            MINUTES, "truck", "unix_millis(minute)", "positions", "total_kmh", "maximum_kmh"
        ),
        STATES: gold(STATES, "order_id", "revision", "status"),
        PAID: sorted([list(row) for row in paid]),
    }


def _by_topic(partitions: Iterable[Sequence[Any]]) -> dict[str, int]:
    counts = Counter[str]()
    for topic, _, number in partitions:
        counts[topic] += number
    return dict(counts)


def equations(found: dict[str, Any], truth: Truth, parser: Parser) -> Iterator[Equation]:
    """Each table beside the truth; gold only after the mended parser has read everything."""
    for topic in TOPICS:
        yield from _of_topic(topic, found, truth.counts[topic], parser)
    if parser.text_times:
        expected: dict[str, list[list[Any]]] = {
            MINUTES: sorted([*at, *gold] for at, gold in truth.minutes.items()),
            STATES: sorted([order, *state] for order, state in truth.orders.items()),
            PAID: sorted([order, cents] for order, cents in truth.paid.items()),
        }
        for table, rows in expected.items():
            same = len({tuple(row) for row in rows} & {tuple(row) for row in found[table]})
            yield Equation(f"gold {table}: rows as in the truth", same, len(rows))
            yield Equation(f"gold {table}: rows", len(found[table]), len(rows))


def _of_topic(
    topic: str, found: dict[str, Any], truth: Counts, parser: Parser
) -> Iterator[Equation]:
    name = topic.removeprefix("fleet.")
    letters = {reason: n for of, reason, n in found["dead letters"] if of == topic}
    bronze, silver = found["bronze"].get(topic, 0), found["silver"][topic]
    mended = parser.text_times
    yield Equation(f"{name}: bronze = produced", bronze, truth.produced)
    yield Equation(f"{name}: silver", silver, truth.events if mended else truth.events_at_first)
    refused = sum(truth.malformed.values()) if mended else truth.refused_at_first
    yield Equation(f"{name}: dead letters", sum(letters.values()), refused)
    if mended:
        yield Equation(
            f"{name}: silver + dead letters + late = bronze - duplicates",
            silver + sum(letters.values()) + found["late"].get(topic, 0),
            bronze - truth.duplicates,
        )
        for reason, number in sorted(truth.malformed.items()):
            yield Equation(f"{name}: dead letters, {reason}", letters.get(reason, 0), number)
