"""`spark.html` of a class: marks by exercise, time per submission, and what ran where."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from html import escape
from statistics import median

from kit.at_scale import page as parts
from kit.at_scale.tasks import Done
from kit.grading.class_run import OneMarked
from kit.grading.document import WORDS, document
from kit.grading.messages import natural

MOST_TIMES = 40
ORDER = ("right", "wrong", "failed", "empty")


def page(finished: Sequence[Done[OneMarked]], master: str) -> str:
    """The page of one run; the marks themselves are in class.html."""
    return document(
        "Marked on Spark",
        f"{parts.STYLE}<h1>Marked on Spark</h1>"
        f"{parts.summed_up(finished, 'submissions', master)}"
        "<p class='quiet'>The marks and their reasons are in <a href='class.html'>class.html</a>; "
        "this page is about the last run alone.</p>"
        f"<h2>Marks by exercise</h2>{_by_exercise(finished)}"
        f"<h2>What ran where</h2>{parts.lanes(finished, _name)}{_legend(finished)}"
        f"<h2>Time per submission</h2>{_times(finished)}",
    )


def _name(done: Done[OneMarked]) -> str:
    return done.value[0].name


def _by_exercise(finished: Sequence[Done[OneMarked]]) -> str:
    states: dict[str, list[str]] = defaultdict(list)
    for done in finished:
        for mark in done.value[0].marks:
            states[mark.exercise].append(mark.state)
    rows = []
    for exercise in sorted(states, key=natural):
        mine = states[exercise]
        counts = [(state, mine.count(state)) for state in ORDER if state in mine]
        bar = [(state, 100 * count / len(mine), str(count)) for state, count in counts]
        rows.append((exercise, bar, f"{100 * mine.count('right') / len(mine):.0f} % right"))
    return parts.bars(rows) + parts.key((state, WORDS[state]) for state in ORDER) if rows else ""


def _legend(finished: Sequence[Done[OneMarked]]) -> str:
    again = [escape(_name(done)) for done in finished if done.attempt]
    said = f" Tried again: {', '.join(sorted(again, key=natural))}." if again else ""
    return f"<p class='quiet'>A block is a submission; point at it for its name.{said}</p>"


def _times(finished: Sequence[Done[OneMarked]]) -> str:
    ordered = sorted(finished, key=lambda done: (-done.seconds, natural(_name(done))))
    longest = ordered[0].seconds or 1.0
    rows = [
        (_name(done), [("time", 100 * done.seconds / longest, "")], f"{done.seconds:.1f} s")
        for done in ordered[:MOST_TIMES]
    ]
    middle = median(done.seconds for done in finished)
    rest = len(ordered) - len(rows)
    others = f" The other {rest} took less." if rest else ""
    return parts.bars(rows, f"Median {middle:.1f} s, longest {longest:.1f} s.{others}")
