"""What a streaming query says of its micro-batches: watermark, rows of state, rows dropped.

Structured Streaming keeps the progress of the last hundred micro-batches in
`query.recentProgress`.  `batches(query)` reads from it what a lab about time needs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from kit.tables import Table
from labs.L3_event_time_and_joins.arrivals import clock, minute_of


@dataclass(frozen=True, slots=True)
class Batch:
    """One micro-batch.  `watermark` is in minutes after 8:00, None before there is one."""

    number: int
    rows: int
    """Records read; 0 for a micro-batch that only moves the watermark."""
    watermark: float | None
    state_rows: int
    dropped: int
    """`numRowsDroppedByWatermark`, which counts after records of one group were put together."""


@dataclass(frozen=True)
class Run:
    """A query that has read all there was: the rows that it wrote, and its micro-batches."""

    written: Sequence[tuple[int, Any]] = field(repr=False)
    """The number of the micro-batch, and the row."""
    batches: Sequence[Batch] = field(repr=False)
    checkpoint: str = field(repr=False)

    @property
    def rows(self) -> list[Any]:
        return [row for _, row in self.written]

    @property
    def dropped(self) -> int:
        return sum(batch.dropped for batch in self.batches)

    def state_rows(self) -> list[tuple[int, int]]:
        """(micro-batch, rows of state after it): a curve."""
        return [(batch.number, batch.state_rows) for batch in self.batches]

    def table(self) -> Table:
        """A line for each micro-batch: what came in, the watermark, and what was written."""
        return Table(
            "What each micro-batch did",
            ("micro-batch", "records", "watermark", "rows written", "rows of state"),
            [
                [
                    str(batch.number),
                    str(batch.rows),
                    "none" if batch.watermark is None else clock(batch.watermark),
                    str(sum(number == batch.number for number, _ in self.written)),
                    str(batch.state_rows),
                ]
                for batch in self.batches
            ],
        )


def batches(query: Any) -> list[Batch]:
    """The micro-batches of a query that has ended."""
    found = []
    for progress in query.recentProgress:
        operators = progress["stateOperators"]
        watermark = progress["eventTime"].get("watermark", "1970")
        found.append(
            Batch(
                number=progress["batchId"],
                rows=progress["numInputRows"],
                watermark=None if watermark.startswith("1970") else minute_of(watermark),
                state_rows=sum(each["numRowsTotal"] for each in operators),
                dropped=sum(each["numRowsDroppedByWatermark"] for each in operators),
            )
        )
    return found
