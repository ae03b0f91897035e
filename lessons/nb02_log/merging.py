"""Events of one application in several partitions, and two ways to put them into one order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations


@dataclass(frozen=True)
class Event:
    """`sequence` is what the application counted; `timestamp` what the machine's clock said."""

    partition: int
    sequence: int
    timestamp: int


def events(count: int, partitions: int, skew_ms: int, every_ms: int = 10) -> list[Event]:
    """Events in turn on machines whose clocks are `skew_ms` behind one another."""
    return [
        Event(number % partitions, number, number * every_ms - skew_ms * (number % partitions))
        for number in range(count)
    ]


def merged(found: Sequence[Event], rule: str) -> list[Event]:
    """In the order of `timestamp` or of `sequence`, all partitions together."""
    return sorted(found, key=lambda event: (getattr(event, rule), event.partition))


def inversions(found: Sequence[Event]) -> int:
    """Pairs of which the later one stands first."""
    return sum(a.sequence > b.sequence for a, b in combinations(found, 2))
