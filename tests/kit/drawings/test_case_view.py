"""A case in a notebook: what differs is marked, and the text says the same."""

from __future__ import annotations

from html import escape

import pytest

from kit.drawings.case_view import CaseView, aligned, case


@pytest.fixture(scope="module")
def view() -> CaseView:
    return case("kip-279")


def test_what_only_one_side_has_is_marked(view: CaseView) -> None:
    html = view._repr_html_()
    assert "<b>≠ truncate from 3 to 1</b>" in html
    assert "<div>truncate from 3 to 1</div>" not in html
    assert "<div>leader 101 in epoch 4</div><div>leader 101 in epoch 4</div>" in html


def test_both_verdicts_are_there_as_html_and_as_text(view: CaseView) -> None:
    for ending, mark in ((view.old, "✗"), (view.new, "✓")):
        assert f"{mark} {escape(ending.sentence)}" in view._repr_html_()
        assert ending.sentence in view.text
    assert repr(view) == view.text
    assert all(len(line) <= 118 for line in view.text.splitlines())


def test_lines_are_aligned_where_they_are_equal() -> None:
    assert aligned(["a", "b", "d"], ["a", "c", "x", "d"]) == [
        ("a", "a"),
        ("b", "c"),
        ("", "x"),
        ("d", "d"),
    ]
