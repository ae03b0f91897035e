"""02-9: from a sparse index to the position at which a scan begins."""

from __future__ import annotations

from random import Random
from typing import Any

from kit.exercises.exercise import Exercise, cases, compare_results

ENTRIES = [[10, 4_100], [21, 8_300], [33, 12_900]]
CASES: tuple[tuple, ...] = (
    (ENTRIES, 25), (ENTRIES, 15), (ENTRIES, 21), (ENTRIES, 20), (ENTRIES, 3), (ENTRIES, 99),
    ([], 5),
)  # fmt: skip


def made(source: Random) -> tuple:
    offset, position, entries = source.randrange(1_000), 0, []
    for _ in range(source.randrange(1, 30)):
        offset += source.randrange(1, 40)
        position += source.randrange(4_097, 6_000)
        entries.append([offset, position])
    wanted = source.choice((source.choice(entries)[0], source.randrange(offset + 50)))
    return entries, wanted


def scan_from(entries: list[list[int]], offset: int) -> int:
    return max((position for known, position in entries if known <= offset), default=0)


def explain(arguments: tuple, expected: int, seen: Any) -> str:
    entries, offset = arguments
    known = {each[0]: each[1] for each in entries}
    if seen is None:
        nothing_below = (
            f"No entry is at or below {offset}, and the index is sparse: the record may still be "
            "there. The scan begins at the start of the file, at 0."
        )
        return "" if expected else nothing_below
    if isinstance(seen, list) and (seen in entries or seen == [0, 0]):
        return "That is both numbers of an entry. The scan needs one of them: the position."
    if not isinstance(seen, int):
        return "Return one number: the position in the .log at which the scan begins."
    if seen and (seen in known or seen == offset):
        return f"{seen} is an offset. The scan needs the other number of an entry: a position."
    if 0 < seen <= len(entries):
        return (
            f"{seen} looks like the place of an entry in the list. The scan needs the position "
            "that the entry holds."
        )
    if seen and seen not in known.values():
        return f"No batch is known to begin at {seen}. Take the position of an entry, or 0."
    if seen > expected and offset in known:
        return f"The entry {offset} is there itself: the scan begins at its position."
    if seen > expected:
        return (
            f"From {seen} on the scan would begin behind offset {offset}: batches only go forward. "
            "It must begin at or before it."
        )
    if offset in known:
        return f"An entry for {offset} itself is there; the scan need not begin before it."
    return "A later entry is still at or below the offset: the scan would read too much."


EXERCISE = Exercise(
    "02-9",
    "Where the scan begins",
    (
        "A scan can only go forward through the file. Which entries are of no use, then?",
        "Of the entries that are of use, one makes the scan shortest. And what if none is left?",
        "Take the last entry whose offset is not above the one wanted, and give its position; if "
        "there is none, the scan begins at the start of the file, at 0.",
    ),
    lambda answer, context: compare_results(
        context.inputs, answer, scan_from, explain, explains_none=True
    ),
    {
        "the next entry": "def scan_from(entries, offset):\n"
        "    return next((place for known, place in entries if known >= offset), "
        "entries[-1][1] if entries else 0)",
        "the nearest entry": "def scan_from(entries, offset):\n    if not entries:\n"
        "        return 0\n    return min(entries, key=lambda each: abs(each[0] - offset))[1]",
        "strictly below": "def scan_from(entries, offset):\n"
        "    return max((place for known, place in entries if known < offset), default=0)",
        "the offset": "def scan_from(entries, offset):\n"
        "    return max((known for known, place in entries if known <= offset), default=0)",
        "the whole entry": "def scan_from(entries, offset):\n"
        "    return max((each for each in entries if each[0] <= offset), default=[0, 0])",
        "the place in the list": "def scan_from(entries, offset):\n"
        "    return max((n for n, each in enumerate(entries) if each[0] <= offset), default=0)",
        "nothing without an entry": "def scan_from(entries, offset):\n"
        "    return max((place for known, place in entries if known <= offset), default=None)",
    },
    cases(CASES, made, count=40),
)
