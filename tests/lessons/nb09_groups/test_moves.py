"""Which partitions moved, and which of them had to."""

from __future__ import annotations

from lessons.nb09_groups.virtual_group import Moves, compared


def places(*indexes: int) -> tuple[tuple[str, int], ...]:
    return tuple(("orders", each) for each in indexes)


def test_only_what_a_living_member_lost_is_needless() -> None:
    before = {"A": places(0, 3), "B": places(1, 4), "C": places(2, 5)}
    after = {"B": places(0, 2, 4), "C": places(1, 3, 5)}
    moves = Moves(before, after)
    assert moves.needed == [*places(0, 3)]
    assert moves.needless == [*places(1, 2)]
    assert "orders-1  B → C" in moves.text


def test_a_member_that_stays_and_keeps_nothing_has_lost_its_partition_needlessly() -> None:
    moves = Moves({"A": places(0), "B": places(1)}, {"A": places(0, 1), "B": ()})
    assert (moves.needed, moves.needless) == ([], [*places(1)])


def test_a_partition_without_an_owner_is_shown_so() -> None:
    moves = Moves({"A": places(0)}, {"B": places()})
    assert moves.text == "orders-0  A → -"


def test_assignors_are_compared_by_what_moves_and_what_is_given_back() -> None:
    before = {"A": places(0, 3), "B": places(1, 4), "C": places(2, 5)}
    dealt = Moves(before, {"B": places(0, 2, 4), "C": places(1, 3, 5)}, given_back=4)
    kept = Moves(before, {"B": places(0, 1, 4), "C": places(2, 3, 5)})
    rows = [*compared({"roundrobin": dealt, "cooperative-sticky": kept}).rows]
    assert rows[0] == ["roundrobin", "B C B C B C", "3 3", "4", "2", "4"]
    assert rows[1] == ["cooperative-sticky", "B B C C B C", "3 3", "2", "0", "0"]
