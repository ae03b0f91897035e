"""Facilitator pages have the same headings, and one document gathers them."""

from __future__ import annotations

import re

import pytest

from kit import guide
from kit.authoring.sources import read_source
from kit.cli import main
from kit.course import group_of, slice_of, source_files

SOURCES = source_files()


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_a_page_has_the_headings_that_a_teacher_looks_for(source) -> None:
    page = (slice_of(source) / guide.PAGE).read_text()
    assert page.startswith(f"# Facilitator page: {group_of(source)}, ")
    assert guide.headings(page) == list(guide.HEADINGS)
    for plan in ("45 minutes", "90 minutes"):
        table = page.partition(f"## {plan}\n")[2].partition("\n## ")[0]
        assert "| minute | what | cell |" in table
    assert page.count("\n1. ") >= 1
    assert page.count("\n5. ") == 1


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_what_must_be_done_has_its_minute(source) -> None:
    page = (slice_of(source) / guide.PAGE).read_text()
    must = page.partition("## Must and may\n")[2].partition("May:")[0]
    plan = page.partition("## 45 minutes\n")[2].partition("\n## ")[0]
    exercises = {*guide.EXERCISE.findall(must)}
    assert {each for each in exercises if not re.search(rf"\b{each}\b", plan)} == set()


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_the_cells_of_a_plan_are_in_the_notebook(source) -> None:
    page = (slice_of(source) / guide.PAGE).read_text()
    rows = re.findall(r"^\| *\d+ *\|.*\|(.*)\|$", page, re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`([^`]+)`", row)}
    assert named - {cell.name for cell in read_source(source)} == set()


def test_one_document_gathers_the_pages(tmp_path, capsys) -> None:
    out = tmp_path / "guide.html"
    assert main(["guide", "--out", str(out)]) == 0
    assert str(out) in capsys.readouterr().out
    text = out.read_text()
    for source in source_files():
        number = group_of(source)
        assert f"<a href='#lesson-{number}'>{number}, " in text
        assert f"<section id='lesson-{number}'>" in text
    assert "<table>" in text
    assert "minutes" in text


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_a_page_names_what_a_teacher_sees(source) -> None:
    """Sections and exercises, and no name of a cell that only its source shows."""
    cells = read_source(source)
    page = guide.in_sections((slice_of(source) / guide.PAGE).read_text(), cells)
    spans = {*re.findall(r"`([^`\n]+)`", page)}
    shown = {name for name in spans if guide.EXERCISE.fullmatch(name)}
    assert spans & {cell.name for cell in cells} <= shown
    headings = {*re.findall(r"^##+ (.+)$", source.read_text().replace("# #", "#"), re.MULTILINE)}
    assert {*re.findall(r"“([^”]+)”", page)} & headings


def test_one_lesson_can_be_chosen_and_an_unknown_one_gets_a_sentence(tmp_path, capsys) -> None:
    out = tmp_path / "one.html"
    assert main(["guide", "00", "--out", str(out)]) == 0
    assert out.read_text().count("<section") == 1
    assert main(["guide", "99", "--out", str(out)]) == 1
    assert "There is no lesson 99; there are 00, " in capsys.readouterr().err
    assert main(["guide", "--out", str(tmp_path / "absent" / "x.html")]) == 1
