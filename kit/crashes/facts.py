"""What the rules about mistakes look at, and the words they use for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from kit.crashes.evidence import Evidence, Place
from kit.crashes.journal import Note
from kit.crashes.tape import RECORDS

LinesOf = Callable[[int], int]
"""A line of the file -> its number in the loop."""
AT_LEAST_ONCE, AT_MOST_ONCE, EXACTLY_ONCE = "at least once", "at most once", "exactly once"
PROMISES = (AT_LEAST_ONCE, AT_MOST_ONCE, EXACTLY_ONCE)


@dataclass(frozen=True)
class Mistake:
    """A mistake by name, what it did in one trial, and what to do instead."""

    name: str
    sentence: str
    remedy: str
    evidence: Evidence


@dataclass(frozen=True)
class Case:
    """All trials of one loop."""

    trials: Sequence[Evidence]
    promise: str
    line: LinesOf

    def situation(self, name: str) -> list[Evidence]:
        """The trials of a situation, those with a crash last."""
        found = [each for each in self.trials if each.trial.situation.name == name]
        return sorted(found, key=lambda each: each.trial.moment is not None)


# -- facts


def writes(case: Case) -> bool:
    """Whether the loop's effects are records in another topic."""
    return any(each.of("wrote") for each in case.trials)


def works_elsewhere(evidence: Evidence) -> bool:
    """Whether records are processed in another thread than the one that polls."""
    polls = {n.details[2] for n in evidence.of("got", "A1")}
    return any(n.details[2] not in polls for n in evidence.of("start", "A1"))


def life(evidence: Evidence) -> Iterable[Note]:
    """The notes until the crash; all, if there was none."""
    return evidence.before(evidence.crash) if evidence.crash is not None else evidence.notes


def stood_at(evidence: Evidence, partition: int) -> int:
    """The committed offset that the next application got, or the last one that was accepted."""
    if evidence.crash is not None:
        return evidence.committed_after(evidence.crash).get(partition, 0)
    offsets = [o for n in evidence.of("settled") if not n.details[2]
               for p, o in n.details[1] if p == partition]  # fmt: skip
    offsets += [o for n in evidence.of("idle") for p, o in n.details[0] if p == partition]
    return max(offsets, default=0)


def middle(evidence: Evidence) -> int:
    """Larger, the nearer a crash came to the middle of the topic: there a picture shows most."""
    moment = evidence.trial.moment
    return -1000 if moment is None else -abs(2 * moment.got - RECORDS)


def owners(evidence: Evidence, place: Place) -> set[str]:
    return {n.who[0] for n in evidence.of("done") if (n.details[0], n.details[1]) == place}


def where(case: Case, evidence: Evidence) -> str:
    if evidence.crash is not None:
        return f"The crash after line {case.line(evidence.line)}"
    return {
        "failure": "The failure of one record",
        "slow": "Slow processing",
        "join": "A second application that joined",
        "freeze": "A standstill",
    }.get(evidence.trial.situation.name, "A run without a crash")


def records(places: Sequence[Place]) -> str:
    """`record 5`, `records 4–7`, `records 1, 2 and 9`."""
    offsets = sorted({offset for _, offset in places})
    if len(offsets) == 1:
        return f"record {offsets[0]}"
    if offsets[-1] - offsets[0] == len(offsets) - 1:
        return f"records {offsets[0]}–{offsets[-1]}"
    return f"records {', '.join(map(str, offsets[:-1]))} and {offsets[-1]}"


def count(number: int, word: str) -> str:
    return f"{number or 'no'} {word}{'' if number == 1 else 's'}"


def was(places: Sequence[Place]) -> str:
    return "was" if len(places) == 1 else "were"


def them(places: Sequence[Place]) -> str:
    return "it" if len(places) == 1 else "them"
