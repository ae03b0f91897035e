"""A picture that follows sliders: what runs when, and what is said of a wrong value."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import pytest

from kit import lab


@dataclass(frozen=True)
class Sum:
    text: str

    def svg(self) -> str:
        return f"<svg aria-label='{self.text}'></svg>"


class Runs:
    """Adds, and remembers with what it was called."""

    def __init__(self) -> None:
        self.calls: list[tuple[int, int]] = []

    def slider(self, **values: Any) -> Any:
        def add(first: int = 2, second: int = 1_000) -> Sum:
            self.calls.append((first, second))
            if first == 3:
                raise ValueError("no threes")
            return Sum(f"{first + second}")

        return lab.slider(add, **(values or {"first": range(5), "second": (500, 1_000)}))


def test_the_defaults_are_the_first_position_and_each_position_runs_once() -> None:
    runs = Runs()
    slider = runs.slider()
    assert (slider.text, runs.calls) == ("add(first=2, second=1_000)\n1002", [(2, 1_000)])
    slider.move(first=4, second=500)
    slider.places = [2, 1]
    assert slider.picture.text == "1002"
    assert runs.calls == [(2, 1_000), (4, 500)]


def test_a_place_from_the_browser_stays_within_the_range() -> None:
    slider = Runs().slider()
    slider.places = [99, -3]
    assert slider.call == "add(first=4, second=500)"


def test_a_run_that_fails_says_why_and_leaves_the_last_picture() -> None:
    slider = Runs().slider()
    slider.places = [3, 1]
    assert slider.notice == "add(first=3, second=1_000): ValueError: no threes"
    assert "1002" in slider.drawn
    slider.places = [4, 1]
    assert (slider.notice, slider.words) == ("", "1004")


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"first": range(5, 9)}, "The slider first has no 2: it has 5, 6, 7, 8."),
        ({"first": [2]}, "The slider first has 1 values: give it 2 to 60."),
        ({"third": [1, 2]}, "Give add an argument third with a default."),
    ],
)
def test_a_wrong_slider_is_refused_with_a_remedy(values: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        Runs().slider(**values)


def test_a_value_that_a_slider_lacks_is_refused() -> None:
    slider = Runs().slider()
    with pytest.raises(ValueError, match="The slider second has no 7: it has 500, 1000"):
        slider.move(second=7)
    with pytest.raises(ValueError, match="There is no slider third; there are first, second"):
        slider.move(third=7)


def test_what_is_put_out_has_the_still_picture() -> None:
    bundle, _ = Runs().slider()._repr_mimebundle_()
    assert bundle["image/svg+xml"].startswith("<svg")
    assert bundle["text/plain"] == "add(first=2, second=1_000)\n1002"
