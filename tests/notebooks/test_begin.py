"""A lesson that a command has begun passes every rule before a word of it is changed."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kit import guide
from kit.authoring import __main__ as command
from kit.authoring import rules
from kit.authoring.begin import PAGE, CannotBegin, begin
from kit.authoring.build import build, drift
from kit.authoring.sources import read_source
from kit.course import PROJECT
from kit.exercises import catalogue
from kit.exercises.exercise import Exercise, Prediction
from tests.kit.exercises import test_unseen_inputs as unseen
from tests.kit.exercises.test_every_exercise import run

pytestmark = pytest.mark.timeout(300)


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "docs").mkdir()
    shutil.copy(PROJECT / PAGE, tmp_path / PAGE)
    monkeypatch.setenv("KAFKALAB_COURSE", str(tmp_path))
    written = begin(tmp_path, "98", "a-new-lesson")
    return next(path for path in written if path.parent.name == "source")


def test_a_new_lesson_follows_the_template(source: Path, tmp_path: Path) -> None:
    lesson = rules.read(source)
    before_it_is_built = [rule for rule in rules.RULES if rule is not rules.written]
    assert [line for rule in before_it_is_built for line in rule(lesson)] == []
    page = (tmp_path / "lessons/nb98_a_new_lesson/facilitator.md").read_text()
    assert guide.headings(page) == list(guide.HEADINGS)
    named = {*re.findall(r"`([^`(.]+)`", page)}
    assert named - {cell.name for cell in read_source(source)} == set()
    added = {*(tmp_path / PAGE).read_text().splitlines()} - {
        *(PROJECT / PAGE).read_text().splitlines()
    }
    link = "[facilitator page](../lessons/nb98_a_new_lesson/facilitator.md)"
    assert added == {f"| 98 a new lesson | {link} |"}
    for file in tmp_path.rglob("*.py"):
        options = ("--config", str(PROJECT / "pyproject.toml"), str(file))
        command = [sys.executable, "-m", "ruff", "format", "--check", *options]
        assert subprocess.run(command, capture_output=True).returncode == 0, file


def test_a_new_lessons_questions_work(source: Path, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("KAFKALAB_PROGRESS", str(tmp_path / "progress.json"))
    cells = read_source(source)
    found = {each.id: each for each in catalogue.of_group("98")}
    exercise, prediction = found["98-2"], found["98-1"]
    assert isinstance(exercise, Exercise)
    assert isinstance(prediction, Prediction)
    stub, solution = (
        next(c.text for c in cells if c.name == "98-2" and c.has(role))
        for role in ("stub", "solution")
    )
    assert run(cells, "98-2", solution).passed is True
    assert "the stub is still there" in repr(run(cells, "98-2", stub)).lower()
    cards = [run(cells, "98-2", code) for code in exercise.wrong_answers.values()]
    assert {card.passed for card in cards} == {False}
    assert len({dict(card.rows)[""] for card in cards}) == len(exercise.wrong_answers)
    assert prediction.settle({"leader": 103}) == 103
    unseen.test_the_instructive_inputs_alone_show_every_mistake(exercise)
    unseen.test_the_made_inputs_alone_show_every_mistake(exercise)


@pytest.mark.real
@pytest.mark.full
def test_a_new_lesson_is_built_without_a_fault(source: Path, monkeypatch) -> None:
    monkeypatch.setenv("KAFKALAB_REAL", "local")
    build(source)
    assert drift(source) == []
    assert rules.faults(rules.read(source)) == []


@pytest.mark.parametrize(
    ("number", "slug", "sentence"),
    [
        ("5", "quorum", "give two digits, such as 05"),
        ("L7", "quorum", "give two digits"),
        ("", "", "give two digits"),
        ("97", "The Quorum", "give words with dashes"),
        ("97", "../quorum", "give words with dashes"),
        ("97", "", "give words with dashes"),
        ("98", "again", "Lesson 98 is there: lessons/nb98_a_new_lesson/source/98_a_new_lesson.py."),
    ],
)
def test_what_cannot_begin_gets_a_sentence(source: Path, tmp_path, number, slug, sentence) -> None:
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(CannotBegin, match=re.escape(sentence)):
        begin(tmp_path, number, slug)
    assert sorted(tmp_path.rglob("*")) == before


def test_the_command_takes_the_words_of_a_name(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setattr(command, "PROJECT", tmp_path)
    monkeypatch.setattr(sys, "argv", ["authoring", "new", "97", "the", "control", "plane"])
    assert command.main() == 0
    assert (tmp_path / "lessons/nb97_the_control_plane/facilitator.md").is_file()
    assert command.main() == 1
    assert "Lesson 97 is there" in capsys.readouterr().err
