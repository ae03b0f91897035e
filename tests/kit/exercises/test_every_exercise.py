"""For every exercise of the course: the stub fails, the solution passes, and each plausible
wrong answer fails with a message of its own.

The set-up cells run again for each answer only where the judge looks at the cluster, which the
answer changes.  Other answers are definitions and values: each gets a copy of the names that one
run of the set-up left.

A lab's answers are Spark jobs and take a minute for each exercise.  Its solutions run in its
notebook every time (tests/notebooks/test_nbval.py); here they run in `make test-all`.
"""

from __future__ import annotations

import contextlib
import io
import pickle
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import pytest

from kit.authoring.sources import Cell, read_source
from kit.course import PROJECT, source_files
from kit.crashes import moments
from kit.exercises import catalogue
from kit.exercises.exercise import Exercise, Prediction, Question
from tests.lessons.verdicts import run_cell

SAMPLE = Path(__file__).parents[1] / "sample_course"
COURSES = {"course": None, "sample": SAMPLE}


def sources_of_both_courses() -> Iterator[tuple[str, Path]]:
    for name, folder in COURSES.items():
        with pytest.MonkeyPatch.context() as patch:
            if folder:
                patch.setenv("KAFKALAB_COURSE", str(folder))
            for path in source_files():
                yield name, path


def is_lab(path: Path) -> bool:
    return path.is_relative_to(PROJECT / "labs")


SLOW = ("04-7", "06-7", "06-8", "07-7", "08-7", "10-9", "10-10", "11-12")
"""Each wrong answer is run on a cluster of its own, or crashed at every line."""


LONG = ("L6-6",)
"""Nine minutes: each wrong answer is a service that Spark runs to its end."""


def needs_of(path: Path, name: str) -> list[pytest.MarkDecorator]:
    """A lab needs PySpark and minutes; half of the labs go to another lane.

    The others need no more than the engine, but are many: they go where there is room.
    """
    if is_lab(path):
        lane = "clusters" if name.startswith(("L1", "L2", "L3")) else "screens"
        size = pytest.mark.long if name in LONG else pytest.mark.full
        return [pytest.mark.spark, size, pytest.mark.lane(lane)]
    return [pytest.mark.lane("screens"), *([pytest.mark.full] if name in SLOW else [])]


CASES = [
    pytest.param(
        course, path, cell.name, id=f"{course}-{cell.name}", marks=needs_of(path, cell.name)
    )
    for course, path in sources_of_both_courses()
    for cell in read_source(path)
    if cell.has("stub")
]


@pytest.fixture
def own_progress(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("KAFKALAB_PROGRESS", str(tmp_path / "progress.json"))


def choose_course(monkeypatch, course: str) -> None:
    if folder := COURSES[course]:
        monkeypatch.setenv("KAFKALAB_COURSE", str(folder))


def setup_code(cells: list[Cell], before: str) -> str:
    """The cells that the exercise builds on: those tagged `setup` above it."""
    position = next(i for i, cell in enumerate(cells) if cell.name == before)
    return "\n".join(cell.text for cell in cells[:position] if cell.has("setup"))


def after_setup(code: str) -> dict:
    """The names that the set-up cells leave."""
    names: dict = {}
    exec(code, names)
    return names


after_one_setup = cache(after_setup)


def plain_data(names: dict) -> dict[str, bytes]:
    """The lists, sets and mappings among the names, as they are now."""
    return {
        name: pickle.dumps(value)
        for name, value in names.items()
        if isinstance(value, list | dict | set) and name != "__builtins__"
    }


def run(cells: list[Cell], exercise_id: str, answer: str):
    """Runs set-up, `answer` in place of the stub, and the check cell; gives its card."""
    cards = []

    def keep(function):
        def called(*arguments, **options):
            card = function(*arguments, **options)
            if arguments and arguments[0] == exercise_id:
                cards.append(card)
            return card

        return called

    check_cell = next((c.text for c in cells if c.name == exercise_id and c.has("check")), "")
    with contextlib.redirect_stdout(io.StringIO()):
        start = after_setup if "cluster=" in check_cell else after_one_setup
        names = dict(start(setup_code(cells, exercise_id)))
        real = names["lab"]
        kept = {name: keep(getattr(real, name)) for name in ("check", "predict", "quiz")}
        names["lab"] = SimpleNamespace(**{n: getattr(real, n) for n in dir(real)} | kept)
        before = plain_data(names)
        run_cell(answer, names, f"<{exercise_id}>")
        exec(check_cell, names)
    if start is after_one_setup:
        after = plain_data(start(setup_code(cells, exercise_id)))
        assert after == before, "the next answer would begin with what this one left"
    assert cards, f"no cell asks for a verdict on {exercise_id}"
    return cards[-1]


@pytest.mark.timeout(900)
@pytest.mark.parametrize(("course", "path", "exercise_id"), CASES)
def test_stub_fails_solution_passes_and_wrong_answers_differ(
    course, path, exercise_id, monkeypatch, own_progress
) -> None:
    choose_course(monkeypatch, course)
    monkeypatch.setattr(moments, "MOST_PER_LINE", 1)  # nbval runs the solution with all crashes
    cells = read_source(path)
    stub, solution = (
        next(c.text for c in cells if c.name == exercise_id and c.has(role))
        for role in ("stub", "solution")
    )
    definition = catalogue.find(exercise_id)
    answered, at_first = run(cells, exercise_id, solution), run(cells, exercise_id, stub)
    if isinstance(definition, Prediction):
        assert (answered.passed, at_first.passed) == (None, None), "no verdict before the run"
        assert "Recorded: " in repr(answered)
        return
    assert answered.passed is True, "the solution must pass"
    if isinstance(definition, Question):
        assert at_first.passed is None, "the stub of a question only asks"
        return
    assert isinstance(definition, Exercise)
    assert at_first.passed is False, "the stub must fail"
    assert "the stub is still there" in repr(at_first).lower(), f"a guess at the stub: {at_first!r}"
    messages = {}
    for name, code in definition.wrong_answers.items():
        card = run(cells, exercise_id, code)
        assert card.passed is False, f"the wrong answer {name!r} passed"
        labels = dict(card.rows)
        assert {"expected", "seen"} <= set(labels), f"{name!r} gets no help: {card!r}"
        assert labels["expected"] != labels["seen"], f"{name!r} is refused for nothing: {card!r}"
        messages[labels[""]] = name
    assert len(messages) == len(definition.wrong_answers), f"same message twice: {messages}"


def test_every_definition_has_its_cells_and_every_cell_its_definition() -> None:
    in_sources = {c.name for path in source_files() for c in read_source(path) if c.has("stub")}
    assert {found.id for found in catalogue.everything()} == in_sources
