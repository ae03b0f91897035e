"""Every mutant is caught, by the invariant that it breaks, on a tape without bystanders.

The tapes are kept in mutant_tapes/, a script each.  Any change of the engine's timing moves a
run, so one that has gone stale is looked for among a few fresh schedules instead; when more
than a few have, it is time to pin them again:

    kafkalab campaign --mutants --write tests/engine/sim/mutant_tapes
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from statistics import median

import pytest

from engine.sim.campaign import pinned
from engine.sim.campaign.campaign import run_one
from engine.sim.campaign.mutants import MUTANTS
from engine.sim.campaign.timed_scripts import play, read, write
from engine.sim.scripts.scripts import parse

FOLDER = Path(__file__).parent / "mutant_tapes"
ELSEWHERE = range(40)
STALE_MAX = 4
PROVEN = (
    "high-watermark-falls",
    "elect-outside-the-isr",
    "silent-about-divergence",
    "removals-not-loaded",
)


def text(name: str) -> str:
    return (FOLDER / f"{name}.txt").read_text()


@cache
def is_fresh(name: str) -> bool:
    """Whether its tape still breaks the invariant."""
    outcome = play(parse(text(name)))
    return outcome.removeprefix("violation: ").startswith(MUTANTS[name].caught_by)


@pytest.mark.parametrize("name", MUTANTS)
def test_mutant_is_caught(name: str) -> None:
    mutant = MUTANTS[name]
    if is_fresh(name):
        return
    with mutant.in_force():
        violations = [run_one(seed, True, *mutant.kind).violation for seed in ELSEWHERE]
    assert any(each.startswith(mutant.caught_by) for each in violations), (
        f"{mutant.breaks}, and no seed says {mutant.caught_by!r}: {violations}. Search again with: "
        f"kafkalab campaign --mutants {name}"
    )


def test_few_tapes_are_stale() -> None:
    stale = [name for name in MUTANTS if not is_fresh(name)]
    assert len(stale) <= STALE_MAX, (
        f"{', '.join(stale)}: pin them again: kafkalab campaign --mutants {' '.join(stale)} "
        "--write tests/engine/sim/mutant_tapes"
    )


@pytest.mark.parametrize("name", MUTANTS)
@pytest.mark.full
def test_the_engine_itself_stands_what_breaks_the_mutant(name: str) -> None:
    whole = text(name).replace(f" mutant={name}", "")
    assert play(parse(whole)) == "every invariant held"


@pytest.mark.parametrize("name", PROVEN)
@pytest.mark.full
def test_a_tape_has_no_bystanders(name: str) -> None:
    """Of all of them: kafkalab campaign --prove tests/engine/sim/mutant_tapes"""
    if not is_fresh(name):
        pytest.fail(f"the tape of {name} is stale; pin it again")
    assert pinned.prove(text(name)).bystanders == ()


def test_tapes_are_short() -> None:
    sizes = [len(read(parse(text(name))).tape) for name in MUTANTS]
    assert median(sizes) <= pinned.FAULTS_MEDIAN_MAX
    assert max(sizes) <= pinned.FAULTS_MAX


@pytest.mark.parametrize("name", MUTANTS)
def test_a_tape_is_written_as_it_was_read(name: str) -> None:
    kept = text(name)
    violation = kept.rpartition("violation: ")[2].strip()
    about = kept.splitlines()[0].removeprefix("# ")
    assert write(read(parse(kept)), about, violation) == kept


def test_there_are_enough() -> None:
    of_groups = [each.name for each in MUTANTS.values() if each.in_groups]
    of_transactions = [each.name for each in MUTANTS.values() if each.in_transactions]
    of_controllers = [each.name for each in MUTANTS.values() if each.controllers > 1]
    others = len(of_groups) + len(of_transactions) + len(of_controllers)
    assert len(MUTANTS) - others >= 20
    assert len(of_groups) >= 10
    assert len(of_transactions) >= 12
    assert len(of_controllers) >= 15


def test_the_engine_is_whole_again_afterwards() -> None:
    mutant = MUTANTS["never-under-min-isr"]
    patch = mutant.patches[0]
    before = vars(patch.owner)[patch.attribute]
    with mutant.in_force():
        assert vars(patch.owner)[patch.attribute] is not before
    assert vars(patch.owner)[patch.attribute] is before
