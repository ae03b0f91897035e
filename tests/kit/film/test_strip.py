"""The strip's choice of moments, and what it says to readers who do not see it."""

from __future__ import annotations

from kit.film.film import Film, Told
from kit.film.moments import merge
from kit.film.source import Frame
from kit.film.strip import MOST, Look, Shot, Small, chosen, draw
from tests.kit.film.strips import shots


class Take:
    def __init__(self, *weights: int) -> None:
        """A step per weight; -1 is a step without a name."""
        self.frames = [Frame(at, {}) for at in range(len(weights))]
        self.told = [Told(f"Step {at}.", "" if weight < 0 else f"step {at}", weight=max(0, weight))
                     for at, weight in enumerate(weights)]  # fmt: skip


def film(*weights: int) -> Film:
    take = Take(*weights)
    return Film([take], merge(take.frames))


def test_the_moment_in_view_is_there_although_it_has_no_name() -> None:
    assert chosen(film(0, -1, 1, -1), 3) == [0, 2, 3]


def test_the_weightiest_moments_are_chosen_and_of_equals_the_nearest() -> None:
    told = film(0, 1, 1, 1, 2, 0, 1, 1, 0, 2, 1)
    assert chosen(told, 6) == [3, 4, 6, 7, 9]
    assert len(chosen(told, 6)) == MOST


def test_all_moments_have_a_name_and_fit() -> None:
    assert chosen(film(0, 0, 1), 0) == [0, 1, 2]


def test_the_strip_marks_the_moment_in_view_and_tells_it() -> None:
    moments = [Shot(0.0, "A < B.", False), Shot(1.5, "**C** is `lost`.", True)]
    smalls = [Small(["<text>one</text>"], 20), Small(["<text>two</text>"], 200)]
    picture = draw(moments, Look("orders", smalls, "", "What it means."))
    found = shots(picture)
    assert [(each.at, each.in_view, each.words) for each in found] == [
        ("0.000 s", False, ["one"]), ("1.500 s", True, ["two"]),
    ]  # fmt: skip
    assert 'aria-label="orders, 2 moments. In view, 1.500 s: C is `lost`."' in picture
    assert "A &lt; B." in picture
