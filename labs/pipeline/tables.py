"""The pipeline's tables: where they are, and what gold is made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from labs.fleet.records import ORDERS, PAYMENTS, POSITIONS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True)
class Place:
    """The directory of one pipeline: its tables and its checkpoints."""

    folder: Path

    @property
    def bronze(self) -> str:
        return str(self.folder / "bronze")

    @property
    def dead_letters(self) -> str:
        return str(self.folder / "dead-letters")

    @property
    def late(self) -> str:
        return str(self.folder / "late")

    @property
    def unchecked(self) -> Path:
        """A mark: silver may have dropped late events, and the late table may lack them."""
        return self.folder / "late-unchecked"

    def silver(self, topic: str) -> str:
        return str(self.folder / "silver" / topic.removeprefix("fleet."))

    def gold(self, table: str) -> str:
        return str(self.folder / "gold" / table)

    def checkpoint(self, query: str) -> str:
        return str(self.folder / "checkpoints" / query)


@dataclass(frozen=True, slots=True)
class Gold:
    """A gold table, and how it follows its silver table."""

    name: str
    source: str
    """The topic whose silver table it is made of."""
    columns: str
    key: tuple[str, ...]
    of: Callable[[DataFrame], DataFrame]
    """Rows of gold from rows of silver: from a micro-batch, or from all of them."""
    when_matched: str
    """What a MERGE does with a row that is there already: `kept` in gold, `found` in the batch."""
    adds_up: bool = False
    """A second MERGE of the same batch would change it."""


MINUTES, STATES, PAID = "minutes", "orders", "paid"


def _minutes(positions: DataFrame) -> DataFrame:
    from pyspark.sql import functions as F

    minute = F.date_trunc("minute", "event_time").alias("minute")
    return positions.groupBy("truck", minute).agg(
        F.count("*").alias("positions"),
        F.sum("speed_kmh").alias("total_kmh"),
        F.max("speed_kmh").alias("maximum_kmh"),
    )


def _states(orders: DataFrame) -> DataFrame:
    from pyspark.sql import functions as F

    return orders.groupBy("order_id").agg(
        F.max("revision").alias("revision"), F.max_by("status", "revision").alias("status")
    )


def _paid(payments: DataFrame) -> DataFrame:
    return payments.select("event_id", "order_id", "cents")


GOLD = {
    table.name: table
    for table in (
        Gold(
            MINUTES,
            POSITIONS,
            "truck STRING, minute TIMESTAMP, positions BIGINT, total_kmh BIGINT, maximum_kmh INT",
            ("truck", "minute"),
            _minutes,
            # A late position changes the minute that it belongs to.
            "WHEN MATCHED THEN UPDATE SET positions = kept.positions + found.positions, "
            "total_kmh = kept.total_kmh + found.total_kmh, "
            "maximum_kmh = greatest(kept.maximum_kmh, found.maximum_kmh)",
            adds_up=True,
        ),
        Gold(
            STATES,
            ORDERS,
            "order_id STRING, revision INT, status STRING",
            ("order_id",),
            _states,
            # The highest revision wins, in any order of arrival.
            "WHEN MATCHED AND found.revision > kept.revision THEN UPDATE SET *",
        ),
        Gold(
            PAID,
            PAYMENTS,
            "event_id STRING, order_id STRING, cents BIGINT",
            # A payment is a fact: it is there or not.  An order may have several.
            ("event_id",),
            _paid,
            "",
        ),
    )
}
