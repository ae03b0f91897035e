"""A chart says the same as text and as a picture, and its picture can be read without colours."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ElementTree
from itertools import pairwise

import pytest

from kit.drawings.axes import Axis, labels, nice_step, span, spoken
from kit.drawings.chart import WIDTH, Chart
from kit.drawings.series_looks import COLOURS, DASHES, SHAPES

SVG = "{http://www.w3.org/2000/svg}"
OFFSETS = {"101": [(0, 0), (1, 3), (2, 9)], "102": [(0, 0), (2, 3), (3, 4)]}


def chart(**options: object) -> Chart:
    given = {"x": "seconds", "y": "offset", "marks": {1.5: "103 cut"}, **options}
    return Chart("The log ends", OFFSETS, **given)  # type: ignore[arg-type]


def picture(drawn: Chart) -> ElementTree.Element:
    return ElementTree.fromstring(drawn.svg())


def words(drawn: Chart) -> list[str]:
    return [element.text or "" for element in picture(drawn).iter(f"{SVG}text")]


def test_the_text_has_a_line_for_each_series_and_mark() -> None:
    assert chart().text == (
        "The log ends\n"
        "x: seconds, y: offset\n"
        "101: from 0 at 0 to 9 at 2, lowest 0 at 0, highest 9 at 2\n"
        "102: from 0 at 0 to 4 at 3, lowest 0 at 0, highest 4 at 3\n"
        "at 1.5: 103 cut"
    )


def test_a_notebook_gets_both() -> None:
    bundle = chart()._repr_mimebundle_()
    assert bundle == {"text/plain": chart().text, "image/svg+xml": chart().svg()}
    assert repr(chart()) == chart().text
    assert picture(chart()).get("aria-label") == chart().text.replace("\n", " ")
    assert picture(chart()).get("role") == "img"


@pytest.mark.parametrize("kind", ["line", "step", "bars"])
def test_the_same_data_give_the_same_picture(kind: str) -> None:
    assert chart(kind=kind).svg() == chart(kind=kind).svg()


@pytest.mark.parametrize("kind", ["line", "step", "bars"])
def test_everything_stands_inside_the_picture_and_is_named(kind: str) -> None:
    drawn = chart(kind=kind)
    said = words(drawn)
    for expected in ("The log ends", "seconds", "offset", "101", "102", "103 cut"):
        assert expected in said
    for element in picture(drawn).iter():
        x = element.get("x")
        assert x is None or 0 <= float(x) <= WIDTH


def test_a_step_holds_its_value_until_the_next_point() -> None:
    path = next(p for p in _lines(chart(kind="step")) if 'stroke-width="2"' in p)
    assert re.search(r'd="M[\d.]+ [\d.]+H[\d.]+V[\d.]+H[\d.]+V[\d.]+"', path)


def _lines(drawn: Chart) -> list[str]:
    return re.findall(r"<path [^>]*>", drawn.svg())


def test_series_differ_in_shape_too() -> None:
    assert len(set(DASHES)) == len(set(SHAPES)) == len(DASHES) == len(SHAPES) == 6
    lines = [p for p in _lines(chart()) if 'stroke-width="2"' in p]
    assert [re.search('dasharray="([^"]*)"', line)[1] for line in lines] == list(DASHES[:2])  # type: ignore[index]
    bars = chart(kind="bars").svg()
    assert "<pattern" in bars
    assert 'fill="var(--c0)"' in bars


def test_it_has_a_background_of_its_own_and_a_dark_one() -> None:
    drawn = chart().svg()
    assert 'fill="var(--bg)"' in drawn
    assert "prefers-color-scheme:dark" in drawn
    assert "#0072b2" in COLOURS


def test_a_value_that_is_no_number_interrupts_the_line() -> None:
    drawn = Chart("A gap", {"": [(0, 1), (1, 2), (2, math.nan), (3, 5), (4, 4)]})
    assert re.search(r'd="M[^M]+L[^M]+M[^M]+L[^M]+" fill="none"', drawn.svg())
    assert "from 1 at 0 to 4 at 4, lowest 1 at 0, highest 5 at 3" in drawn.text


def test_no_points_and_one_point_are_drawn_too() -> None:
    drawn = Chart("Few", {"none": [], "one": [(3, 7)]})
    assert drawn.text == "Few\nnone: no points\none: 7 at 3"
    assert "nan" not in drawn.svg()
    assert Chart("None", {}).svg() == Chart("None", {}).svg()


def test_marks_do_not_cover_each_other() -> None:
    near = {1.0: "101 killed", 1.01: "102 leads", 3.0: "101 is back again"}
    drawn = picture(chart(marks=near))
    rows = {
        element.text: float(element.get("y", 0))
        for element in drawn.iter(f"{SVG}text")
        if element.text in near.values()
    }
    assert rows["101 killed"] != rows["102 leads"]
    last = next(e for e in drawn.iter(f"{SVG}text") if e.text == near[3.0])
    assert last.get("class") == "bad e", "near the right edge the text stands left of its line"


def test_names_at_the_ends_do_not_cover_each_other() -> None:
    drawn = Chart("Ends", {name: [(0, 0), (1, 5)] for name in ("one", "two", "three", "four")})
    heights = sorted(
        float(element.get("y", 0))
        for element in picture(drawn).iter(f"{SVG}text")
        if element.text in drawn.series
    )
    assert len(heights) == 4
    assert all(b - a >= 14 for a, b in pairwise(heights))


def test_a_logarithmic_axis_refuses_zero_in_a_sentence() -> None:
    with pytest.raises(ValueError, match="leave out log_y"):
        chart(log_y=True)
    shown = words(Chart("Latency", {"": [(50, 0.4), (99, 4000)]}, log_y=True))
    assert {"0.1", "1", "10", "10,000"} <= set(shown)


def test_more_series_than_shapes_are_refused() -> None:
    with pytest.raises(ValueError, match="at most 6 series"):
        Chart("Too many", {str(number): [(0, number)] for number in range(7)})


def test_ticks_are_round_numbers() -> None:
    assert Axis(0, 9, 0, 1).ticks(5) == [0, 2, 4, 6, 8]
    assert Axis(0, 9, 0, 1).to_ticks(5).ticks(5)[-1] == 10
    assert Axis(0, 2, 0, 1, whole=True).ticks(8) == [0, 1, 2], "no half offsets"
    assert Axis(-2, 6, 0, 1).ticks(4) == [-2, 0, 2, 4, 6]
    assert [nice_step(rough) for rough in (0.3, 1, 1.1, 30, 60)] == [0.5, 1, 2, 50, 100]


def test_numbers_on_an_axis_can_be_read() -> None:
    assert labels([0, 0.5, 1]) == ["0.0", "0.5", "1.0"]
    assert labels([0, 50_000, 100_000]) == ["0", "50,000", "100,000"]
    assert labels([-1_000_000, 0, 1_000_000]) == ["-1 M", "0", "1 M"]
    assert [spoken(value) for value in (3.0, 0.1234, 1.5, 1234.56)] == [
        "3",
        "0.123",
        "1.5",
        "1,235",
    ]


def test_zero_belongs_to_the_axis_where_it_is_near() -> None:
    assert span([3, 10], from_zero=False, logarithmic=False) == (0, 10)
    assert span([1000, 1010], from_zero=False, logarithmic=False) == (1000, 1010)
    assert span([1000, 1010], from_zero=True, logarithmic=False) == (0, 1010)
    assert span([5, 5], from_zero=False, logarithmic=False) == (4, 6)
