"""Counts what a correct pipeline must find in the fleet's topics: the ground truth.

    tally = Tally()
    write(cluster, tally.counting(records(Fleet(events=20_000))))
    tally.truth().positions.duplicates

The tally adds up what the generator knows about each record while the records pass, so a
million of them need not be kept.  Three tables are the expected gold:

* `minutes`: per truck and minute of event time, how many positions, and their fastest;
* `orders`: per order, the state of its highest revision, even if an older one came later;
* `paid`: per order, the cents that were paid, each payment once.

A late event counts in its own minute.  A malformed record counts nowhere: its sender does not
send it again, so its order stays at the state that did arrive.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from labs.fleet.records import MINUTE_MS, ORDERS, POSITIONS, TOPICS, Record


class Minute(NamedTuple):
    """Gold of one truck's minute."""

    positions: int
    total_kmh: int
    maximum_kmh: int


class State(NamedTuple):
    """Gold of one order."""

    revision: int
    status: str


@dataclass(frozen=True, slots=True)
class Counts:
    """What one topic holds."""

    produced: int
    malformed: dict[str, int]
    """By reason; a record has one reason at most."""
    duplicates: int
    """Second copies of good records."""
    time_as_text: int
    """Originals that only a mended parser reads; their duplicates are in the next count."""
    time_as_text_duplicates: int
    late: int
    out_of_order: int
    """Originals whose key was already at a later event time; late ones are among them."""
    by_key: dict[str, int] = field(repr=False)

    @property
    def events(self) -> int:
        """Good events, each once: silver, when the parser is mended."""
        return self.produced - self.duplicates - sum(self.malformed.values())

    @property
    def events_at_first(self) -> int:
        """Good events that the first parser reads."""
        return self.events - self.time_as_text

    @property
    def refused_at_first(self) -> int:
        """Dead letters of the first parser, which cannot tell a duplicate among them."""
        return sum(self.malformed.values()) + self.time_as_text + self.time_as_text_duplicates

    @property
    def hottest_share(self) -> float:
        """The share of the records that has the most frequent key."""
        return max(self.by_key.values()) / self.produced if self.produced else 0.0


@dataclass(frozen=True, slots=True)
class Truth:
    """Counts by topic, and gold."""

    counts: dict[str, Counts]
    minutes: dict[tuple[str, int], Minute] = field(repr=False)
    """By truck and the minute's first millisecond."""
    orders: dict[str, State] = field(repr=False)
    paid: dict[str, int] = field(repr=False)

    @property
    def positions(self) -> Counts:
        return self.counts[POSITIONS]

    @property
    def produced(self) -> int:
        return sum(each.produced for each in self.counts.values())


class Tally:
    """Adds up records as they pass."""

    def __init__(self) -> None:
        self._counts = {topic: Counter[str]() for topic in TOPICS}
        self._faults = {topic: Counter[str]() for topic in TOPICS}
        self._keys = {topic: Counter[str]() for topic in TOPICS}
        self._newest: dict[tuple[str, bytes], int] = {}
        self._minutes: dict[tuple[str, int], Minute] = {}
        self._orders: dict[str, State] = {}
        self._paid = Counter[str]()

    def counting(self, records: Iterable[Record]) -> Iterator[Record]:
        """The same records, counted when they pass."""
        for record in records:
            self.add(record)
            yield record

    def add(self, record: Record) -> None:
        count = self._counts[record.topic]
        count["produced"] += 1
        self._keys[record.topic][record.key.decode()] += 1
        if record.duplicate:
            count["duplicates"] += 1
            count["time as text, again"] += record.time_as_text
            return
        count["late"] += record.late
        place = (record.topic, record.key)
        count["out of order"] += record.event_time_ms < self._newest.get(place, 0)
        self._newest[place] = max(record.event_time_ms, self._newest.get(place, 0))
        if record.fault:
            self._faults[record.topic][record.fault] += 1
        else:
            count["time as text"] += record.time_as_text
            self._gold(record)

    def truth(self) -> Truth:
        """What was counted so far."""
        return Truth(
            {topic: self._topic(topic) for topic in TOPICS},
            dict(self._minutes),
            dict(self._orders),
            dict(self._paid),
        )

    def _gold(self, record: Record) -> None:
        report = record.report
        if record.topic == POSITIONS:
            minute = (report["truck"], record.event_time_ms // MINUTE_MS * MINUTE_MS)
            before, speed = self._minutes.get(minute, Minute(0, 0, 0)), report["speed_kmh"]
            self._minutes[minute] = Minute(
                before.positions + 1, before.total_kmh + speed, max(before.maximum_kmh, speed)
            )
        elif record.topic == ORDERS:
            state = State(report["revision"], report["status"])
            self._orders[report["order_id"]] = max(
                state, self._orders.get(report["order_id"], state)
            )
        else:
            self._paid[report["order_id"]] += report["cents"]

    def _topic(self, topic: str) -> Counts:
        count = self._counts[topic]
        return Counts(
            produced=count["produced"],
            malformed=dict(self._faults[topic]),
            duplicates=count["duplicates"],
            time_as_text=count["time as text"],
            time_as_text_duplicates=count["time as text, again"],
            late=count["late"],
            out_of_order=count["out of order"],
            by_key=dict(self._keys[topic]),
        )
