"""A folder of reports as a whole: totals over notebooks, who is missing, who is alike."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from kit.grading import likeness, report
from kit.grading.identity import Roster
from kit.grading.marking import Marks
from kit.grading.messages import natural


@dataclass(frozen=True, slots=True)
class Total:
    """A learner over all notebooks.  Of several submissions of a notebook the best counts."""

    learner: str
    id: str
    points: dict[str, int | None]
    """By notebook; None where no submission was marked."""
    out_of: int
    """Of all notebooks of the folder."""

    @property
    def score(self) -> int:
        return sum(points or 0 for points in self.points.values())


@dataclass(frozen=True, slots=True)
class Gradebook:
    marked: list[Marks]
    out_of: dict[str, int]
    """Points that each notebook gives."""
    totals: list[Total]
    missing: dict[str, list[str]]
    """By notebook: the learners without a submission of it."""
    twice: list[tuple[str, str, list[str]]]
    """Learner, notebook, and the names of several reports."""
    alike: list[likeness.Pair]
    folders: dict[str, str] = field(default_factory=dict)
    """Where the pages of reports named `FOLDER/NAME` are, seen from the page of the course."""


def summed_up(marked: Iterable[Marks], roster: Roster | None = None) -> Gradebook:
    ordered = report.in_order(marked)
    best: dict[tuple[str, str], dict[str, int]] = defaultdict(dict)
    several: dict[tuple[str, str], list[str]] = defaultdict(list)
    handed_in: dict[str, set[tuple[str, str]]] = defaultdict(set)
    out_of: dict[str, int] = {}
    learners = {(each.name, each.id) for each in roster.people} if roster else set()
    for marks in ordered:
        who = (marks.learner, marks.id)
        learners.add(who)
        if marks.notebook:
            handed_in[marks.notebook].add(who)
            several[marks.learner, marks.notebook].append(marks.name)
        if not marks.problem:
            out_of[marks.notebook] = max(out_of.get(marks.notebook, 0), marks.out_of)
            best[who][marks.notebook] = max(best[who].get(marks.notebook, 0), marks.score)
    notebooks = sorted(handed_in, key=natural)
    people = sorted(learners, key=lambda who: (natural(who[0]), who[1]))
    totals = [
        Total(*who, {n: best[who].get(n) for n in notebooks}, sum(out_of.values()))
        for who in people
    ]
    return Gradebook(
        ordered,
        out_of,
        totals,
        {n: [who[0] for who in people if who not in handed_in[n]] for n in notebooks},
        [(*both, names) for both, names in sorted(several.items()) if len(names) > 1],
        likeness.alike(ordered),
    )
