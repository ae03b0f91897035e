"""What the pipeline promises: two Delta tables, and how they are compared with the truth.

    minutes        truck STRING, minute TIMESTAMP, positions BIGINT, maximum_kmh INT
    dead-letters   partition INT, offset BIGINT, reason STRING (and what else is useful)

`minutes` has a row for each truck and minute of event time: how many positions the truck sent
in it, each counted once, and the fastest.  `dead-letters` has a row for each record that cannot be
read.  `breach` gives the first promise that is broken, as a sentence with its evidence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labs.fleet.records import MINUTE_MS, Record
from labs.fleet.truth import Minute, Tally

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MINUTES, DEAD_LETTERS = "minutes", "dead-letters"
COLUMNS = {
    MINUTES: ("truck", "unix_millis(minute)", "positions", "maximum_kmh"),
    DEAD_LETTERS: ("partition", "offset", "reason"),
}

Found = Mapping[str, Any]
"""A table's name -> its rows as lists, sorted; None where there is no such table."""


@dataclass(frozen=True, slots=True)
class Breach:
    """A promise that does not hold."""

    message: str
    expected: str
    seen: str
    where: str = ""


@dataclass(frozen=True, slots=True)
class Promised:
    """What the tables must hold after these records."""

    minutes: Mapping[tuple[str, int], Minute]
    """By truck and the minute's first millisecond."""
    dead_letters: int
    duplicates: int
    time_as_text: int

    @property
    def positions(self) -> int:
        return sum(minute.positions for minute in self.minutes.values())


def promised(records: Sequence[Record]) -> Promised:
    """From what the generator knows about each record; their bytes are not read."""
    tally = Tally()
    for record in records:
        tally.add(record)
    truth = tally.truth()
    counts = truth.positions
    return Promised(
        truth.minutes, sum(counts.malformed.values()), counts.duplicates, counts.time_as_text
    )


def tables(session: SparkSession, folder: str | Path) -> dict[str, Any]:
    """What is in the pipeline's folder, as JSON can carry it."""
    from pyspark.errors import AnalysisException

    found: dict[str, Any] = {}
    for name, columns in COLUMNS.items():
        try:
            table = session.read.format("delta").load(f"{folder}/{name}")
            rows = [list(row) for row in table.selectExpr(*columns).collect()]
            found[name] = sorted(rows, key=repr)
        except AnalysisException as problem:
            if "PATH" in (problem.getCondition() or "") or not Path(folder, name).exists():
                found[name] = None
            else:
                found[name] = f"not readable: {str(problem).splitlines()[0][:200]}"
    return found


def positions(found: Found) -> int:
    """How many positions `minutes` counts."""
    rows = found.get(MINUTES)
    return sum(row[2] for row in rows) if isinstance(rows, list) else 0


def breach(found: Found, truth: Promised) -> Breach | None:
    """The first promise that does not hold; None if all do."""
    for name, columns in COLUMNS.items():
        rows = found.get(name)
        if rows is None:
            return Breach(
                f"There is no Delta table {name} in the pipeline's folder.", f"{name}/", "none"
            )
        if not isinstance(rows, list):
            return Breach(
                f"The table {name} does not have the columns that the contract names.",
                ", ".join(columns),
                str(rows),
            )
    letters = found[DEAD_LETTERS]
    all_read = len(letters) >= truth.dead_letters
    return _of_minutes(found[MINUTES], truth, all_read) or _of_letters(letters, truth)


def _of_minutes(rows: Sequence[Sequence[Any]], truth: Promised, all_read: bool) -> Breach | None:
    seen: dict[tuple[str, int], tuple[Any, Any]] = {}
    for truck, minute, count, fastest in rows:
        if (truck, minute) in seen:
            return Breach(
                "A minute of a truck has more than one row: each micro-batch added a row of its "
                "own and did not change the one that is there.",
                "one row for each truck and minute",
                f"{sum(row[:2] == [truck, minute] for row in rows)} rows",
                _place(truck, minute),
            )
        seen[truck, minute] = (count, fastest)
    counted = sum(count for count, _ in seen.values() if isinstance(count, int))
    if seen and any(isinstance(m, int) and m % MINUTE_MS for _, m in seen):
        return Breach(
            "A minute does not begin at a whole minute.", "00 seconds", "others", "minutes"
        )
    for (truck, minute), right in sorted(truth.minutes.items()):
        count, fastest = seen.pop((truck, minute), (0, None))
        where = _place(truck, minute)
        if count != right.positions:
            return Breach(
                _miscounted(counted, count > right.positions, truth, all_read),
                f"{right.positions} positions in this minute, {truth.positions} in all",
                f"{count} in this minute, {counted} in all",
                where,
            )
        if fastest != right.maximum_kmh:
            return Breach(
                "The positions are right and the fastest of them is not.",
                f"{right.maximum_kmh} km/h", f"{fastest} km/h", where,
            )  # fmt: skip
    if seen:
        (truck, minute), (count, _) = next(iter(sorted(seen.items(), key=repr)))
        return Breach(
            "No truck sent a position in this minute of its own clock: which clock does the table "
            "count by?",
            "no row", f"{count} positions", _place(truck, minute),
        )  # fmt: skip
    return None


def _miscounted(counted: int, too_many: bool, truth: Promised, all_read: bool) -> str:
    if too_many and counted == truth.positions + truth.duplicates:
        return (
            "Positions count twice, exactly as many as the trucks sent again: an event is known "
            "by its event_id, and no micro-batch may count it a second time."
        )
    if too_many:
        return (
            "Positions count twice. After a crash Spark runs a micro-batch again, and what is "
            "written a second time must change nothing."
        )
    if counted == truth.positions - truth.time_as_text:
        return (
            "Positions are missing, exactly as many as the new firmware wrote with its time as "
            "text: those records can be read."
        )
    if counted < truth.positions and all_read:
        return (
            "Positions are missing, and every dead letter is there: the records were read, and "
            "their positions have not stayed in the table."
        )
    if counted < truth.positions:
        return "Positions are missing, and dead letters, too: records that arrived were not read."
    return "The number of positions is right in all, and this minute's is not: which clock counts?"


def _of_letters(rows: Sequence[Sequence[Any]], truth: Promised) -> Breach | None:
    places = [tuple(row[:2]) for row in rows]
    if len(set(places)) < len(places):
        again = next(place for place in places if places.count(place) > 1)
        return Breach(
            "A dead letter is there more than once: the micro-batch that wrote it came again.",
            "one row for each partition and offset", f"{places.count(again)} rows",
            f"partition {again[0]}, offset {again[1]}",
        )  # fmt: skip
    if len(rows) != truth.dead_letters:
        few = len(rows) < truth.dead_letters
        return Breach(
            "Records that cannot be read have disappeared: what was not kept cannot be mended."
            if few
            else "There are dead letters of records that can be read.",
            f"{truth.dead_letters} dead letters",
            str(len(rows)),
        )
    if any(not row[2] for row in rows):
        return Breach("A dead letter does not say why it is one.", "a reason", "none")
    return None


def _place(truck: Any, minute: Any) -> str:
    from datetime import UTC, datetime

    try:
        return f"{truck}, {datetime.fromtimestamp(minute / 1000, UTC):%H:%M:%S}"
    except (TypeError, ValueError, OverflowError, OSError):
        return f"{truck}, minute {minute}"
