"""Do the tables hold what was produced, no more and no less?

Three equations, and each names the step that broke it:

    bronze                 = produced              nothing lost or read twice
    silver + dead letters  = bronze - duplicates   every record is somewhere, once
    gold                   = the ground truth      every event in its own minute
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class Equation:
    """One thing that must hold; `why` is empty when it does."""

    name: str
    left: int
    right: int
    why: str = ""

    @property
    def holds(self) -> bool:
        return self.left == self.right and not self.why


@dataclass(frozen=True, slots=True)
class Counts:
    """The numbers of rows in the tables."""

    bronze: int
    silver: int
    dead_letters: Mapping[str, int]
    """By reason."""
    gold: Mapping[tuple[str, int], tuple[int, float, int]]
    """By truck and the minute's first millisecond: count, average, maximum."""


def counts(spark: SparkSession, tables: Any) -> Counts:
    """Reads the tables."""
    reasons = spark.read.parquet(tables.dead_letters).groupBy("reason").count().collect()
    gold = spark.read.parquet(tables.gold).selectExpr(
        "truck", "unix_millis(minute) AS minute", "count", "average_kmh", "maximum_kmh"
    )
    return Counts(
        bronze=spark.read.parquet(tables.bronze).count(),
        silver=spark.read.parquet(tables.silver).count(),
        dead_letters={row["reason"]: row["count"] for row in reasons},
        gold={(truck, minute): tuple(values) for truck, minute, *values in gold.collect()},
    )


def equations(found: Counts, truth: Any) -> list[Equation]:
    """The equations, and for one that does not hold what differs first."""
    dead = sum(found.dead_letters.values())
    return [
        Equation("bronze = produced", found.bronze, truth.produced),
        Equation(
            "silver + dead letters = bronze - duplicates",
            found.silver + dead,
            found.bronze - truth.duplicates,
            _first_difference(
                {name: n for name, n in truth.malformed.items() if n}, found.dead_letters
            ),
        ),
        Equation(
            "gold = ground truth",
            sum(count for count, _, _ in found.gold.values()),
            truth.events,
            _first_difference({k: tuple(v) for k, v in truth.minutes.items()}, found.gold),
        ),
    ]


def _first_difference(expected: Mapping[Any, Any], found: Mapping[Any, Any]) -> str:
    for key in sorted(expected.keys() | found.keys()):
        if expected.get(key) != found.get(key):
            return f"{key}: {expected.get(key)} expected, {found.get(key)} found"
    return ""
