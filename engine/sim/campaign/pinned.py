"""Pinned tapes: for each mutant the shortest run known to catch it, as a script to keep.

The tapes are stored with the tests, which replay them.  A tape knows only times, so it may go stale
when a change to the engine sends one message more: the run no longer meets the mutant, though a
campaign still catches it.  Then search for a new tape:

    kafkalab campaign --mutants NAME --write FOLDER
    kafkalab campaign --prove FOLDER        every tape fails, and passes with any fault less
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.sim.campaign.mutants import MUTANTS
from engine.sim.campaign.shrink import replay, search, without_each
from engine.sim.campaign.timed_scripts import Timed, read, write
from engine.sim.scripts.scripts import parse

SEARCH_SEEDS = range(200)
FAULTS_MAX, FAULTS_MEDIAN_MAX = 12, 6


@dataclass(frozen=True)
class Proof:
    """The result of replaying a mutant's tape; `bystanders` are faults that it does not need."""

    mutant: str
    faults: int
    violation: str
    healthy: str
    bystanders: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Caught by the right invariant, by nothing but the mutant, and 1-minimal."""
        right = self.violation.startswith(MUTANTS[self.mutant].caught_by)
        return right and not self.healthy and not self.bystanders

    def __str__(self) -> str:
        if self.holds:
            return f"{self.mutant}: {self.faults} faults, 1-minimal: {self.violation}"
        if not self.violation:
            return f"{self.mutant}: the tape is stale; kafkalab campaign --mutants {self.mutant}"
        if self.healthy:
            return f"{self.mutant}: the engine itself breaks on it: {self.healthy}"
        if self.bystanders:
            return f"{self.mutant}: not minimal, can do without {', '.join(self.bystanders)}"
        return f"{self.mutant}: caught by another invariant: {self.violation}"


def pin(name: str, seeds: range = SEARCH_SEEDS) -> str | None:
    """Searches for a run that catches a mutant and shrinks it; the script, None if none does."""
    found = search(name, seeds)
    if found is None:
        return None
    about = f"{name}: {MUTANTS[name].breaks}."
    return write(Timed(found.setup, found.tape, name), about, found.violation)


def prove(text: str) -> Proof:
    """Replays a pinned tape: with its mutant, without, and with each fault taken out."""
    timed = read(parse(text))
    kept = zip(timed.tape, without_each(timed.tape), strict=True)
    return Proof(
        timed.mutant,
        len(timed.tape),
        replay(timed.setup, timed.tape, timed.mutant).violation,
        replay(timed.setup, timed.tape).violation,
        tuple(
            str(done.action)
            for done, rest in kept
            if replay(timed.setup, rest, timed.mutant).violation
        ),
    )
