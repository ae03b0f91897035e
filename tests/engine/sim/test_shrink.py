"""Delta debugging on tapes whose reasons to fail are known."""

from __future__ import annotations

import pytest

from engine.sim.campaign.shrink import Tape, shrink, without_each
from engine.sim.world.faults import fault
from engine.sim.world.tape import Done


def tape(length: int) -> Tape:
    return tuple(Done(0, number, fault("kill", number)) for number in range(length))


def numbers(of: Tape) -> list[int]:
    return [done.at_us for done in of]


@pytest.mark.parametrize("needed", [[0], [19], [3, 4], [0, 10, 19], [1, 2, 5, 8, 13], range(20)])
def test_what_is_needed_is_left_and_nothing_else(needed: list[int]) -> None:
    shrunk = shrink(tape(20), lambda kept: set(needed) <= set(numbers(kept)))
    assert numbers(shrunk) == list(needed)


def test_what_fails_without_any_fault_shrinks_to_nothing() -> None:
    assert shrink(tape(20), lambda kept: True) == ()


def test_one_reason_of_several_is_left() -> None:
    """Fails for 2 with 7, or for 5 alone: any 1-minimal tape will do."""

    def fails(kept: Tape) -> bool:
        there = numbers(kept)
        return 5 in there or (2 in there and 7 in there)

    shrunk = shrink(tape(10), fails)
    assert fails(shrunk)
    assert not any(fails(rest) for rest in without_each(shrunk))


def test_a_fault_and_its_mending_that_only_go_together() -> None:
    """Passes whenever a fault stands without its mending; one pair is to blame."""

    def fails(kept: Tape) -> bool:
        there = numbers(kept)
        return {6, 7} <= set(there) and all((n ^ 1) in there for n in there)

    assert numbers(shrink(tape(12), fails)) == [6, 7]


def test_halves_go_first() -> None:
    runs = 0

    def fails(kept: Tape) -> bool:
        nonlocal runs
        runs += 1
        return 3 in numbers(kept)

    shrink(tape(64), fails)
    assert runs < 30


def test_what_passes_is_not_shrunk() -> None:
    with pytest.raises(ValueError, match="nothing to shrink"):
        shrink(tape(3), lambda kept: False)
