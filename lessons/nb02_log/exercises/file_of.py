"""02-10: the segment file that holds an offset."""

from __future__ import annotations

import re
from random import Random
from typing import Any

from kit.exercises.exercise import Exercise, cases, compare_results

CASES: tuple[tuple, ...] = (
    ([0, 100, 250], 0, 300, 120), ([0, 100, 250], 0, 300, 240), ([0, 100, 250], 0, 300, 250),
    ([250, 0, 100], 0, 300, 7), ([0, 100, 250], 0, 300, 300), ([0, 100, 250], 40, 300, 20),
    ([0, 100, 250], 40, 300, 40), ([250, 0, 100], 0, 300, 260),
)  # fmt: skip


def made(source: Random) -> tuple:
    bases = [source.randrange(0, 5_000)]
    for _ in range(source.randrange(1, 8)):
        bases.append(bases[-1] + source.randrange(1, 2_000))
    start = bases[0] + source.choice((0, (bases[1] - bases[0]) // 2))
    end = bases[-1] + source.randrange(1, 900)
    offset = source.choice((
        source.choice(bases), max(bases[0], start - 1),
        source.randrange(max(0, start - 50), end + 50), end, start,
        source.randrange(start, end), source.randrange(start, end),
    ))  # fmt: skip
    source.shuffle(bases)
    return bases, start, end, offset


def file_of(bases: list[int], log_start: int, log_end: int, offset: int) -> str | None:
    if not log_start <= offset < log_end:
        return None
    return f"{max(base for base in bases if base <= offset):020d}.log"


def explain(arguments: tuple, expected: str | None, seen: Any) -> str:
    bases, log_start, log_end, offset = arguments
    if expected is None:
        if not isinstance(seen, str) or not seen.endswith(".log"):
            return "Where there is no such record, return None itself: no text and no number."
        if offset >= log_end:
            return f"No record has offset {offset} yet: {log_end} is what the next record gets."
        return (
            f"The log starts at {log_start}: record {offset} was deleted, even if its segment is "
            "still there."
        )
    if seen is None:
        return (
            f"None says that there is no record {offset}, and there is one: the log goes from "
            f"{log_start} to {log_end - 1}. If you meant to return a name, a return is missing."
        )
    if not isinstance(seen, str) or not re.fullmatch(r"\d{20}\.log", seen):
        return "A name has the base offset in twenty digits, with zeros in front, and then .log."
    if int(seen[:20]) not in bases:
        return f"No segment begins at {int(seen[:20])}. A name holds one of the base offsets."
    if offset in bases:
        return f"A segment begins with offset {offset} itself: its first record is that one."
    if seen == f"{min(bases, key=lambda base: abs(base - offset)):020d}.log":
        return "The nearest name is not the right one: a segment begins at its name."
    if int(seen[:20]) > offset:
        return f"That segment begins behind offset {offset}: all of its records are later."
    return "A later segment begins at or below that offset, and holds it; the order is no help."


BODY = "def file_of(bases, log_start, log_end, offset):\n"
RANGE = BODY + "    if not log_start <= offset < log_end:\n        return None\n"
EXERCISE = Exercise(
    "02-10",
    "The file that holds an offset",
    (
        "What does the name of a segment's file say about the records in it?",
        "Many segments begin at or below the offset; only one of them can hold it. And think of "
        "offsets that no record has, at both ends of the log.",
        "First leave out what is below the log's start, or at its end and above. Then take the "
        "largest base offset that is not above the wanted one, and write it with twenty digits.",
    ),
    lambda answer, context: compare_results(
        context.inputs, answer, file_of, explain, explains_none=True
    ),
    {
        "the nearest": RANGE + "    base = min(bases, key=lambda each: abs(each - offset))\n"
        "    return f'{base:020d}.log'",
        "strictly below": RANGE + "    return f'{max([b for b in bases if b < offset] or [0])"
        ":020d}.log'",
        "no zeros": RANGE + "    return f'{max(b for b in bases if b <= offset)}.log'",
        "beyond the end": BODY + "    if offset < log_start:\n        return None\n"
        "    return f'{max(b for b in bases if b <= offset):020d}.log'",
        "what was deleted": BODY + "    found = [b for b in bases if b <= offset < log_end]\n"
        "    return f'{max(found):020d}.log' if found else None",
        "behind the start": BODY + "    if not log_start < offset < log_end:\n"
        "        return None\n"
        "    return f'{max(b for b in bases if b <= offset):020d}.log'",
        "a place in the list": RANGE + "    place = max(n for n, b in enumerate(sorted(bases)) "
        "if b <= offset)\n    return f'{place:020d}.log'",
        "the last in the list": RANGE + "    return f'{[b for b in bases if b <= offset][-1]"
        ":020d}.log'",
    },
    cases(CASES, made, count=60),
)
