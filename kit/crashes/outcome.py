"""The outcome of a crash test: a verdict, what each crash did, the mistakes, as plain objects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from kit.crashes.evidence import Evidence
from kit.crashes.facts import AT_LEAST_ONCE, AT_MOST_ONCE, EXACTLY_ONCE, Case, Mistake, middle
from kit.crashes.mistakes import find
from kit.crashes.statements import Source

NEITHER = "loses and repeats"
WORDS = {
    "failure": "processing one record fails",
    "slow": "every record takes a while",
    "join": "a second application joins",
    "freeze": "the application freezes",
}


@dataclass(frozen=True)
class LineOutcome:
    """What the crashes after one line did: the worst of each."""

    number: int
    text: str
    crashes: int
    lost: int
    repeated: int
    disordered: int


@dataclass(frozen=True)
class Outcome:
    """What happened to the records, however the loop was crashed; true if the promise is kept.

    `problem` says why there is no verdict: an exception of the loop's own, a stub, a loop that
    does not come to the end.
    """

    source: Source
    cluster: str
    promise: str
    trials: Sequence[Evidence]
    problem: str = ""

    def __bool__(self) -> bool:
        return not self.problem and self.kept and not self.mistakes

    @cached_property
    def lost(self) -> bool:
        return any(each.lost for each in self.trials)

    @cached_property
    def repeated(self) -> bool:
        return any(each.repeated for each in self.trials)

    @property
    def verdict(self) -> str:
        """`at least once`, `at most once`, `exactly once` or `loses and repeats`."""
        if self.problem:
            return "no verdict"
        if self.lost:
            return NEITHER if self.repeated else AT_MOST_ONCE
        return AT_LEAST_ONCE if self.repeated else EXACTLY_ONCE

    @property
    def kept(self) -> bool:
        """Whether the promise holds in every trial."""
        return self.verdict in (self.promise, EXACTLY_ONCE)

    @cached_property
    def mistakes(self) -> list[Mistake]:
        if self.problem:
            return []
        return find(Case(self.trials, self.promise, self.source.number))

    @cached_property
    def lines(self) -> list[LineOutcome]:
        """One for each line of the source; `crashes` is 0 where none could come."""
        found = []
        for number, text in enumerate(self.source.lines, start=1):
            here = [each for each in self.trials if each.crash is not None
                    and self.source.number(each.line) == number]  # fmt: skip
            found.append(
                LineOutcome(
                    number,
                    text,
                    len(here),
                    max((len(each.lost) for each in here), default=0),
                    max((len(each.repeated) for each in here), default=0),
                    max((len(each.disordered) for each in here), default=0),
                )
            )
        return found

    @cached_property
    def worst(self) -> Evidence | None:
        """The trial to look at: the first mistake's, or the one that did most harm."""
        if self.mistakes:
            return self.mistakes[0].evidence
        return max(
            self.trials,
            key=lambda each: (
                each.crash is not None and bool(each.lost or each.repeated),
                len(each.lost),
                len(each.repeated),
                middle(each),
            ),
            default=None,
        )

    # -- in words

    @property
    def headline(self) -> str:
        if self.problem:
            return f"{self._name} on {self.cluster}: {self.problem}"
        kept = "kept" if self.kept else "broken"
        if self.kept and self.mistakes:
            kept += f", with {len(self.mistakes)} mistake{'s' * (len(self.mistakes) > 1)}"
        return f"{self._name} on {self.cluster}: {self.verdict}. Promised: {self.promise}, {kept}."

    @property
    def tally(self) -> str:
        crashes = [each for each in self.trials if each.crash is not None]
        lines = {each.line for each in crashes}
        others = [WORDS[each.trial.situation.name] for each in self.trials
                  if each.trial.moment is None and each.trial.situation.name in WORDS]  # fmt: skip
        also = f"; also: {', '.join(others)}" if others else ""
        undone = sum(len(each.of("undone")) for each in self.trials)
        skipped = f" {undone} results are in the log and were not committed." if undone else ""
        return f"{len(crashes)} crashes after {len(lines)} lines{also}.{skipped}"

    @property
    def _name(self) -> str:
        return self.source.name


def mark(line: LineOutcome) -> str:
    """What a crash after this line costs, in words."""
    if not line.crashes:
        return ""
    harm = [f"loses {line.lost}"] * bool(line.lost) + [f"repeats {line.repeated}"] * bool(
        line.repeated
    )
    return ", ".join(harm) or "no harm"


# -- one trial, record by record


@dataclass(frozen=True)
class Cell:
    """One record in one trial."""

    offset: int
    value: str
    before: int
    """How often it was processed until the crash; by the first application, without a crash."""
    after: int
    lost: bool
    failed: bool


def title(result: Outcome, evidence: Evidence) -> str:
    """What happened in this trial."""
    if evidence.crash is not None:
        return f"A crash after line {result.source.number(evidence.line)}, and a restart"
    words = WORDS.get(evidence.trial.situation.name, "no crash")
    return words[0].upper() + words[1:]


def halves(evidence: Evidence) -> tuple[str, str]:
    """What `before` and `after` mean in this trial's cells; "" for one that does not happen."""
    if evidence.crash is not None:
        return "before the crash", "after the restart"
    if evidence.trial.situation.second_after >= 0:
        return "by application A", "by application B"
    restarted = any(note.who == "A2" for note in evidence.notes)
    return ("before the failure", "after the restart") if restarted else ("in all", "")


def verb(evidence: Evidence) -> str:
    """What an application did with a record."""
    return "written" if evidence.of("wrote") else "processed"


def cells(evidence: Evidence, partition: int) -> list[Cell]:
    """The records of a partition, by offset."""
    both = evidence.trial.situation.second_after >= 0
    done: dict[tuple[int, bool], int] = {}
    for note in evidence.of("done"):
        if note.details[0] == partition:
            first = note.who[0] == "A" if both else note.who == "A1"
            key = note.details[1], first
            done[key] = done.get(key, 0) + 1
    failed = {(n.details[0], n.details[1]) for n in evidence.of("failed")}
    return [
        Cell(
            offset,
            value,
            done.get((offset, True), 0),
            done.get((offset, False), 0),
            (partition, offset) in evidence.lost,
            (partition, offset) in failed,
        )
        for offset, value in enumerate(evidence.values[partition])
    ]


def times(count: int, failed: bool = False) -> str:
    """How often a record was processed; a cross stands for the attempt that failed."""
    if failed:
        return "✗" + "✓" * bool(count)
    return {0: "·", 1: "✓"}.get(count, f"✓×{count}")


def outcome(cell: Cell) -> str:
    if cell.lost:
        return "lost"
    total = cell.before + cell.after
    return "" if total == 1 else f"{total}×" if total else "open"
