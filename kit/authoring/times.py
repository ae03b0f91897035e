"""How long a notebook takes: words, runs and exercises, counted from its source.

A reader takes 200 words a minute.  A cell that runs something, or has a picture to play with or a
listing of code, takes a minute: to read it, to run it and to look.  So does a prediction, and a
quiz question.  An exercise takes the minutes that its definition says.  The first cell of a
notebook has `{minutes}` where the sum belongs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile

from kit.authoring.sources import Cell
from kit.exercises import catalogue
from kit.exercises.exercise import Exercise

PLACE = "{minutes}"
WORDS_A_MINUTE = 200
TAKE_A_MINUTE = ("sim", "live", "both", "read")
MARKUP = re.compile(r"<[^>]+>|\]\([^)]*\)|[#*`|>-]+|\$\$?")
WORD = re.compile(r"\w[\w.’'-]*")


def core(cells: Sequence[Cell]) -> list[Cell]:
    """The cells before the first section that opens on demand."""
    return list(takewhile(lambda cell: not cell.opens_deeper, cells))


def words(cells: Sequence[Cell]) -> int:
    """Words of prose, without markup."""
    prose = " ".join(MARKUP.sub(" ", cell.text) for cell in cells if not cell.code)
    return len(WORD.findall(prose))


def minutes(group: str, cells: Sequence[Cell]) -> float:
    exercises = {found.id: found for found in catalogue.of_group(group)}
    total = words(cells) / WORDS_A_MINUTE
    total += sum(any(cell.has(kind) for kind in TAKE_A_MINUTE) for cell in cells)
    for cell in cells:
        found = exercises.get(cell.name) if cell.has("stub") else None
        if isinstance(found, Exercise):
            total += found.minutes
        total += cell.has("stub") and (cell.has("quiz") or cell.has("predict"))
    return total


def sentence(group: str, cells: Sequence[Cell]) -> str:
    """What the first cell says: the core's minutes, and the others', rounded to five."""
    first = core(cells)
    more = minutes(group, cells[len(first) :])
    said = f"{rounded(minutes(group, first))} minutes"
    return f"{said}, and {rounded(more)} more for the Deeper sections" if more else said


def rounded(number: float) -> int:
    """To five minutes, and never to none."""
    return max(5, 5 * round(number / 5))
