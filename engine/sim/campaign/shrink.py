"""Cuts a failing tape down to what it takes to fail.

A schedule that breaks something has twenty faults on its tape, most of them without effect.
Delta debugging (Zeller and Hildebrandt, 2002) takes them out: first halves, then quarters,
down to single ones, and keeps every tape that still fails.

    1 2 3 4 5 6 7 8   fails
    . . . . 5 6 7 8   passes          1 2 3 4 . . . .   passes
    . . 3 4 5 6 7 8   fails           . . . . 5 6 7 8 … and so on

What is left is *1-minimal*: with any one fault taken out, it passes.  That is not the
shortest tape there is, but each fault on it is needed.

A fault keeps its virtual time when others are taken out, so what follows in the run is as much
the same as it can be.  A run fails if any invariant breaks, also another one than before; with a
mutant it fails only if the mutant's own does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from engine.sim.campaign.mutants import MUTANTS
from engine.sim.campaign.play import Outcome, play
from engine.sim.campaign.schedules import Schedule, Setup, draw
from engine.sim.world.tape import Done

Tape = tuple[Done, ...]


@dataclass(frozen=True)
class Shrunk:
    """A 1-minimal tape, how it fails, and how many runs it took to find it."""

    setup: Setup
    tape: Tape
    violation: str
    runs: int


def shrink(tape: Sequence[Done], fails: Callable[[Tape], bool]) -> Tape:
    """A part of the tape that still fails, and passes with any one fault less.

    ValueError if the whole tape passes.
    """
    kept = tuple(tape)
    if not fails(kept):
        raise ValueError("This tape does not fail, so there is nothing to shrink.")
    if not kept or fails(()):
        return ()
    pieces = 2
    while len(kept) > 1:
        for without in _without_each_piece(kept, min(pieces, len(kept))):
            if fails(without):
                kept = without
                pieces = max(2, pieces - 1)
                break
        else:
            if pieces >= len(kept):
                break
            pieces *= 2
    return kept


def _without_each_piece(tape: Tape, pieces: int) -> list[Tape]:
    ends = [len(tape) * n // pieces for n in range(pieces + 1)]
    return [tape[:start] + tape[end:] for start, end in pairwise(ends)]


def without_each(tape: Tape) -> list[Tape]:
    """Every tape with one fault less."""
    return _without_each_piece(tape, len(tape)) if tape else []


def replay(setup: Setup, tape: Sequence[Done], mutant: str = "") -> Outcome:
    """A tape played again, on an engine with a rule broken if a mutant is named."""
    schedule = Schedule(setup, torn=False, plans=())
    if not mutant:
        return play(schedule, tape)
    with MUTANTS[mutant].in_force():
        return play(schedule, tape)


def shrink_outcome(outcome: Outcome, mutant: str = "") -> Shrunk:
    """Shrinks the tape of a run that broke an invariant."""
    runs = 0
    caught_by = MUTANTS[mutant].caught_by if mutant else ""

    def fails(tape: Tape) -> bool:
        nonlocal runs
        runs += 1
        violation = replay(outcome.setup, tape, mutant).violation
        return bool(violation) and violation.startswith(caught_by)

    tape = shrink(outcome.tape, fails)
    return Shrunk(outcome.setup, tape, replay(outcome.setup, tape, mutant).violation, runs)


def search(mutant: str, seeds: range, enough: int = 2) -> Shrunk | None:
    """Shrinks the first few schedules that catch a mutant; gives the shortest.

    A schedule counts only if it breaks the mutant's own invariant, before shrinking and after.
    """
    broken = MUTANTS[mutant]
    caught_by = broken.caught_by
    found: list[Shrunk] = []
    for seed in seeds:
        with broken.in_force():
            outcome = play(draw(seed, True, *broken.kind))
        if not outcome.violation.startswith(caught_by) or not outcome.violation:
            continue
        shrunk = shrink_outcome(outcome, mutant)
        if shrunk.violation.startswith(caught_by):
            found.append(shrunk)
        if len(shrunk.tape) <= 1 or len(found) == enough:
            break
    return min(found, key=lambda each: len(each.tape), default=None)
