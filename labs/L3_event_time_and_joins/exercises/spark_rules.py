"""Spark's rules of event time, in a few lines of Python, for the judges.

A stream is a list of micro-batches.  The watermark of a micro-batch is the newest event time of
all micro-batches before it, minus the delay.  A window comes out when the watermark of a
micro-batch has reached its end.  A record is dropped if its window's end is not after the
watermark of the micro-batch *before*.  When all is read, an empty micro-batch runs if the
watermark has moved.

Times are minutes; tests/labs/L3_event_time_and_joins compares these rules with Spark.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

Position = Sequence  # [truck, minute] or [truck, minute, arrives]
Batches = Sequence[Sequence[Position]]


def marks(batches: Batches, delay: int) -> Iterator[tuple[float, float, Sequence[Position]]]:
    """For each micro-batch: the watermark that drops, the one that closes, and its records."""
    drops = closes = newest = float("-inf")
    for batch in [*batches, []]:
        yield drops, closes, batch
        newest = max([newest, *(minute for _, minute, *_ in batch)])
        drops, closes = closes, max(closes, newest - delay)


def windows(batches: Batches, width: int, delay: int) -> list[list]:
    """What append mode writes: [truck, first minute, positions], sorted."""
    open_ones = Counter[tuple[str, int]]()
    written = []
    for drops, closes, batch in marks(batches, delay):
        for truck, minute, *_ in batch:
            start = minute // width * width
            if start + width > drops:
                open_ones[truck, start] += 1
        for place in [place for place in open_ones if place[1] + width <= closes]:
            written.append([*place, open_ones.pop(place)])
    return sorted(written)


def trips(batches: Batches, pause: int, delay: int) -> list[list]:
    """What append mode writes of sessions: [truck, first minute, last minute, positions], sorted.

    For streams without a late record.  Two positions a pause apart still are one trip.
    """
    closes = -delay + max(minute for batch in batches for _, minute, *_ in batch)
    by_truck: dict[str, list[int]] = {}
    for batch in batches:
        for truck, minute, *_ in batch:
            by_truck.setdefault(truck, []).append(minute)
    found = []
    for truck, minutes in by_truck.items():
        trip: list[int] = []
        for minute in sorted(minutes):
            if trip and minute - trip[-1] > pause:
                found.append((truck, trip))
                trip = []
            trip.append(minute)
        found.append((truck, trip))
    return sorted(
        [truck, trip[0], trip[-1], len(trip)] for truck, trip in found if trip[-1] + pause <= closes
    )


def without(batches: Batches, refuse: Callable[[Position], bool]) -> list[list[Position]]:
    """The same micro-batches without the records that a rule refuses."""
    return [[each for each in batch if not refuse(each)] for batch in batches]
