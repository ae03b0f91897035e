"""11-8: which records of a log a reader with read_committed gets."""

from __future__ import annotations

from random import Random
from typing import Any

from kit.exercises.exercise import Exercise, cases, compare_results

Entries = list[tuple[str, str]]
MARKERS = ("COMMIT", "ABORT")

INSTRUCTIVE: list[tuple[Any, ...]] = [
    ([("", "r0")],),
    ([("p", "r0"), ("p", "COMMIT")],),
    ([("p", "r0"), ("p", "ABORT")],),
    ([("p", "r0"), ("", "r1")],),
    ([("p", "r0"), ("p", "ABORT"), ("p", "r2"), ("p", "COMMIT")],),
    ([("p", "r0"), ("q", "r1"), ("q", "COMMIT"), ("p", "ABORT")],),
]


def logs(source: Random) -> tuple[Any, ...]:
    found: Entries = []
    for number in range(source.randrange(1, 10)):
        producer = source.choice(["", "p", "q", "p", "q"])
        begun = [entry for name, entry in found if name == producer]
        ends = producer and begun and begun[-1] not in MARKERS and source.random() < 0.6
        found.append((producer, source.choice(MARKERS) if ends else f"r{number}"))
    return (found,)


def read_committed(log: Entries) -> list[str]:
    got = []
    for place, (producer, entry) in enumerate(log):
        if entry in MARKERS:
            continue
        later = [each for name, each in log[place:] if name == producer and each in MARKERS]
        if producer and not later:
            break
        if not producer or later[0] == "COMMIT":
            got.append(entry)
    return got


def explain(arguments: tuple[Any, ...], expected: Any, seen: Any) -> str:
    if not isinstance(seen, list):
        return "Give a list of records."
    if any(each in MARKERS for each in seen):
        return "Markers take an offset, but no reader is given one."
    if more := [each for each in seen if each not in expected]:
        (log,) = arguments
        place = next((at for at, (_, entry) in enumerate(log) if entry == more[0]), 0)
        producer = log[place][0]
        later = [entry for name, entry in log[place:] if name == producer and entry in MARKERS]
        if producer and later and later[0] == "ABORT":
            return f"{more[0]} is part of a transaction that was aborted."
        if producer and not later:
            return f"The transaction of {more[0]} is still open."
        return f"{more[0]} comes after the first record of an open transaction."
    if missing := [each for each in expected if each not in seen]:
        return f"{missing[0]} is missing: it is plain or committed, and before the LSO."
    return "The order is that of the log."


HEAD = "def read_committed(log):\n    ends = ('COMMIT', 'ABORT')\n"

EXERCISE = Exercise(
    "11-8",
    "What read_committed gets",
    (
        "For each record there are three cases: it counts, it is skipped, or the reader stops.",
        "The next marker of the same producer decides a record's fate. Without one the reader "
        "stops there, for this and for all that follow.",
        "Go through the log in order and pass over markers. For a producer's record look for that "
        "producer's next marker: none means the end, an abort means skip, a commit means take. "
        "Take plain records.",
    ),
    lambda answer, context: compare_results(context.inputs, answer, read_committed, explain),
    {
        "read_uncommitted": HEAD + "    return [e for p, e in log if e not in ends]",
        "markers too": HEAD + "    return [e for p, e in log]",
        "skips what is open": HEAD
        + "    got = []\n"
        + "    for at, (p, e) in enumerate(log):\n"
        + "        later = [x for q, x in log[at:] if q == p and x in ends]\n"
        + "        if e not in ends and (not p or later[:1] == ['COMMIT']):\n"
        + "            got.append(e)\n"
        + "    return got",
        "a producer has one fate": HEAD
        + "    aborted = {p for p, e in log if e == 'ABORT'}\n"
        + "    return [e for p, e in log if e not in ends and p not in aborted]",
    },
    cases(INSTRUCTIVE, logs, count=60),
    minutes=12,
)
