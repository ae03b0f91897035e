"""Runs a learner's function on a stream of the judge's rows, and gives the rows that it wrote.

The judge sends micro-batches as lists of rows, with times in minutes after 8:00.  Each
micro-batch becomes a file, and the stream reads one file at a time, in order.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from kit.spark import session, temporary
from labs.L3_event_time_and_joins.arrivals import minute_of, time_ms

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MicroBatches = Sequence[Sequence[Sequence[Any]]]
POSITIONS = "truck STRING, event_time TIMESTAMP"
ARRIVED = f"{POSITIONS}, timestamp TIMESTAMP"
ORDERS = "order_id STRING, ordered_at TIMESTAMP"
PAYMENTS = "order_id STRING, paid_at TIMESTAMP"
ENDS_WITHIN_S = 40


def counts(start: Callable[..., Any]) -> Callable[[MicroBatches], Any]:
    """L3-9: `start(positions, write, checkpoint)` starts the query."""

    def called(batches: MicroBatches) -> list[list] | None:
        written: list[Any] = []
        query = start(
            stream(POSITIONS, batches),
            lambda rows, number: written.extend(rows.collect()),
            str(temporary("checkpoint")),
        )
        if query is None:
            return None
        _finish(query)
        return _counted(written)

    return called


def trips(function: Callable[..., Any]) -> Callable[[MicroBatches], Any]:
    """L3-10: `trips(positions)` gives a frame with truck, start, last and positions."""

    def called(batches: MicroBatches) -> list[list] | None:
        rows = _appended(function(stream(POSITIONS, batches)))
        return rows and sorted(
            [row["truck"], _minute(row["start"]), _minute(row["last"]), row["positions"]]
            for row in rows
        )

    return called


def trusted(function: Callable[..., Any]) -> Callable[[MicroBatches], Any]:
    """L3-11: `trusted(arrived)` gives the stream with its watermark; it is counted here."""
    from pyspark.sql import functions as F

    def called(batches: MicroBatches) -> list[list] | None:
        frame = function(stream(ARRIVED, batches))
        if frame is None:
            return None
        rows = _appended(frame.groupBy(F.window("event_time", "10 minutes"), "truck").count())
        return _counted(rows or [])

    return called


def paid(function: Callable[..., Any]) -> Callable[[MicroBatches, MicroBatches], Any]:
    """L3-12: `paid(orders, payments)` gives a frame with order_id, ordered_at and paid_at."""

    def called(orders: MicroBatches, payments: MicroBatches) -> list[list] | None:
        rows = _appended(function(stream(ORDERS, orders), stream(PAYMENTS, payments)))
        return rows and sorted(
            [row["order_id"], _minute(row["ordered_at"]), _minute(row["paid_at"])] for row in rows
        )

    return called


def stream(fields: str, batches: MicroBatches) -> DataFrame:
    """A stream with one micro-batch for each list of rows."""
    folder = temporary("arriving")
    names = [field.split() for field in fields.split(",")]
    for number, rows in enumerate(batches):
        file = folder / f"{number:03}.json"
        file.write_text("\n".join(json.dumps(_values(names, row)) for row in rows))
        os.utime(file, (number, number))  # the source reads the oldest file first
    source = session().readStream.schema(fields).option("maxFilesPerTrigger", 1)
    return source.json(str(folder))


def _values(names: Sequence[Sequence[str]], row: Sequence[Any]) -> dict[str, Any]:
    from datetime import UTC, datetime

    return {
        name: datetime.fromtimestamp(time_ms(value) / 1000, UTC).isoformat()
        if kind == "TIMESTAMP"
        else value
        for (name, kind), value in zip(names, row, strict=True)
    }


def _appended(frame: DataFrame | None) -> list[Any] | None:
    """The rows that a query in append mode writes; None if there is no frame."""
    if frame is None:
        return None
    written: list[Any] = []
    writer = frame.writeStream.foreachBatch(
        lambda rows, number: written.extend(rows.collect())
    ).outputMode("append")
    writer = writer.option("checkpointLocation", str(temporary("checkpoint")))
    _finish(writer.trigger(availableNow=True).start())
    return written


def _finish(query: Any) -> None:
    if not query.awaitTermination(ENDS_WITHIN_S):
        query.stop()
        raise TimeoutError(
            f"the query still ran after {ENDS_WITHIN_S} s: give it the trigger availableNow"
        )


def _counted(rows: Sequence[Any]) -> list[list]:
    return sorted([row["truck"], _minute(row["window"]["start"]), row["count"]] for row in rows)


def _minute(time: Any) -> int | None:
    return None if time is None else round(minute_of(time))
