"""Finds submissions that are alike: a hint to look at them, never a verdict.

Short exercises have few good answers, so equal answers prove little.  Two submissions are
compared by the runs of five tokens in their code.  Comments, layout and names of variables do not
count, neither does the stub, nor what a quarter of the class has.  Of a long answer, its beginning
counts.  Where little is left, nothing is said.
"""

from __future__ import annotations

import io
import keyword
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

from kit.grading import submission
from kit.grading.intake import Unreadable
from kit.grading.marking import Marks
from kit.grading.messages import natural

RUN = 5
FEWEST_RUNS = 25
ALIKE = 0.8
LONGEST_CODE = 40_000
"""Characters of an answer that count."""
MOST_PAIRS = 30
COMMON_IN_CLASS = 0.25
SMALLEST_CLASS_FOR_COMMON = 8
SKIPPED = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
           tokenize.ENCODING, tokenize.ENDMARKER}  # fmt: skip
Runs = frozenset[tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two submissions of different learners; `share` is from 0 to 1."""

    notebook: str
    first: str
    second: str
    share: float
    same_file: bool


def alike(marked: Iterable[Marks]) -> list[Pair]:
    """The most similar pairs, notebook by notebook."""
    by_notebook: dict[str, list[Marks]] = defaultdict(list)
    for marks in marked:
        if marks.notebook and any(mark.state not in ("empty",) for mark in marks.marks):
            by_notebook[marks.notebook].append(marks)
    pairs = []
    for group in sorted(by_notebook, key=natural):
        found = _in_notebook(group, by_notebook[group])
        pairs += sorted(found, key=lambda p: (-p.same_file, -p.share, p.first, p.second))
    return pairs[:MOST_PAIRS]


def _in_notebook(group: str, marked: Sequence[Marks]) -> list[Pair]:
    stub = _stub_runs(group)
    runs = {marks.name: _runs_of(marks) - stub for marks in marked}
    if len(marked) >= SMALLEST_CLASS_FOR_COMMON:
        holders = Counter(run for each in runs.values() for run in each)
        common = {run for run, n in holders.items() if n > COMMON_IN_CLASS * len(marked)}
        own = {name: each - common for name, each in runs.items()}
    else:
        own = runs
    pairs = []
    for a, b in combinations(sorted(marked, key=lambda m: natural(m.name)), 2):
        if a.learner == b.learner:
            continue
        same_file = bool(a.digest) and a.digest == b.digest
        mine, yours = own[a.name], own[b.name]
        share = len(mine & yours) / len(mine | yours) if mine | yours else 0.0
        enough = min(len(mine), len(yours)) >= FEWEST_RUNS
        if same_file or (enough and share >= ALIKE):
            pairs.append(Pair(group, a.name, b.name, 1.0 if same_file else share, same_file))
    return pairs


def _runs_of(marks: Marks) -> Runs:
    return frozenset(run for code in marks.answers.values() for run in runs_in(code[:LONGEST_CODE]))


def _stub_runs(group: str) -> Runs:
    try:
        cells = submission.cells_of(group)
    except Unreadable:
        return frozenset()
    return frozenset(run for cell in cells if cell.has("stub") for run in runs_in(cell.text))


def runs_in(code: str) -> Runs:
    """All runs of five tokens; names are alike, except for keywords and attributes."""
    tokens: list[str] = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(code).readline):
            if token.type == tokenize.NAME and not keyword.iskeyword(token.string):
                after_dot = bool(tokens) and tokens[-1] == "."
                tokens.append(token.string if after_dot else "name")
            elif token.type not in SKIPPED:
                tokens.append(token.string[:200])
    except (tokenize.TokenError, SyntaxError, ValueError):
        pass  # what was read up to the error is compared
    return frozenset(tuple(tokens[i : i + RUN]) for i in range(len(tokens) - RUN + 1))
