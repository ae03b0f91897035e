"""Every lesson follows the template, and each rule catches its fault."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import nbformat
import pytest

from kit.authoring import rules
from kit.authoring.build import build
from kit.authoring.rules import Lesson
from kit.authoring.sources import Cell
from kit.course import group_of, reference_notebook, source_files, source_of
from kit.exercises import catalogue, settling
from kit.exercises.exercise import Exercise, Prediction

SOURCES = source_files()


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_a_lesson_follows_the_template(source) -> None:
    assert rules.faults(rules.read(source)) == []


def test_no_position_is_a_good_guess() -> None:
    assert rules.positions({group_of(s): rules.right_letters(s) for s in SOURCES}) == []


def test_every_prediction_is_settled_by_a_run() -> None:
    settled = {question for s in SOURCES for _, _, question in rules.read(s).key_runs}
    asked = {
        found.id
        for source in SOURCES
        for found in catalogue.of_group(group_of(source))
        if isinstance(found, Prediction)
    }
    assert settled == asked


def predictions() -> list[Prediction]:
    return [found for found in catalogue.everything() if isinstance(found, Prediction)]


@pytest.mark.parametrize("prediction", predictions(), ids=lambda each: each.id)
def test_a_solution_says_why_a_tempting_answer_is_wrong(prediction: Prediction) -> None:
    path = reference_notebook(source_of(prediction.id.partition("-")[0]))
    outputs = [
        output.get("data", {}).get("text/plain", "")
        for cell in nbformat.read(path, as_version=4).cells
        if cell.cell_type == "code"
        for output in cell.outputs
    ]
    (card,) = (text for text in outputs if f"{prediction.id}  As you predicted" in text)
    assert f"why not {settling.words(prediction.tempting)}  " in card


def lesson(*cells: Cell) -> Lesson:
    return Lesson("98", Path("98_other.py"), cells)


FIRST = Cell("first", False, "# A lesson\n\n{minutes}")
ASKED = Cell("98-1", True, 'lab.predict("98-1")', ("stub", "predict"))
RUN = Cell("run", True, 'victim = 101\nlab.verdict("98-1", {"victim": victim})', ("sim",))
AFTER = Cell("after", False, "Why.")
SETUP = Cell("setup", True, "from kit import lab\nfrom lessons.nb98 import runs", ("setup",))


def said(rule, *cells: Cell) -> str:
    return " | ".join(rule(lesson(*cells)))


def test_exercises_are_listed_as_the_notebook_has_them(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second, *_ = (e for e in catalogue.of_group("06") if isinstance(e, Exercise))
    cells = [Cell(each.id, True, "", ("stub",)) for each in (first, second)]
    for listed, fault in (((first, second), False), ((second, first), True)):
        monkeypatch.setattr(catalogue, "of_group", lambda _, listed=listed: listed)
        assert ("in another order than" in said(rules.defined, *cells)) is fault


def test_a_sentence_cannot_name_an_observation_with_a_point(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def asked(text: str) -> Prediction:
        return Prediction("98-1", "?", ("x",), settle=lambda seen: "a", because={"a": text})

    found = {}
    for text in ("{gap:.1f} of {the log}", "{bytes of .log}"):
        monkeypatch.setattr(catalogue, "of_group", lambda group, text=text: [asked(text)])
        found[text] = said(rules.sentences, FIRST)
    assert found["{gap:.1f} of {the log}"] == ""
    assert "98-1 names {bytes of .log}" in found["{bytes of .log}"]


def test_a_prediction_stands_directly_before_its_run_and_the_explanation_after() -> None:
    assert said(rules.order, FIRST, ASKED, RUN, AFTER) == ""
    between = said(rules.order, FIRST, ASKED, AFTER, RUN, AFTER)
    assert "98-1 does not stand directly before its run" in between
    assert "settles 98-1, which is not asked directly before" in between
    assert "no explanation follows the run run" in said(rules.order, FIRST, ASKED, RUN)
    slider = replace(RUN, name="slider", text="lab.slider(run)", tags=("read",))
    assert said(rules.order, FIRST, ASKED, RUN, slider, AFTER) == ""
    assert "no explanation follows" in said(rules.order, FIRST, ASKED, RUN, slider)


def test_the_core_is_small_and_says_how_long_it_takes() -> None:
    many = [replace(AFTER, name=f"c{n}") for n in range(41)]
    assert "the core has 42 cells" in said(rules.size, FIRST, *many)
    deeper = Cell("deep", False, "## Deeper: more")
    assert said(rules.size, FIRST, deeper, *many) == ""
    assert "2502 words" in said(rules.size, FIRST, Cell("long", False, "word " * 2499))
    assert "how long" in said(rules.size, AFTER)


@pytest.mark.parametrize(
    ("code", "fault"),
    [
        ('lab.verdict("98-1", runs.dies(victim=101))', "no value to change"),
        ('seed = 1\nlab.verdict("98-1", runs.dies())', "hides its scenario in runs.dies()"),
        ("seed = 1\n" + "\n" * 30 + 'lab.verdict("98-1", {})', "32 lines"),
        ('seed = 1\nlab.verdict("98-1", runs.dies(seed))', ""),
        ('seed = 1\nlab.verdict("98-1", runs.start(seed).wait())', ""),
    ],
)
def test_a_key_run_shows_its_scenario(code, fault) -> None:
    found = said(rules.scenario, FIRST, SETUP, ASKED, replace(RUN, text=code), AFTER)
    assert fault in found
    assert bool(found) == bool(fault)


def test_a_deeper_section_works_by_itself() -> None:
    heading = Cell("deep", False, "## Deeper: quotas")
    own = Cell("own", True, "limit = 5\nlab.world(limit)", ("sim",))
    other = Cell("other", True, "world.run(victim)", ("sim",))
    assert said(rules.deeper, FIRST, SETUP, RUN, heading, own) == ""
    found = said(rules.deeper, FIRST, SETUP, RUN, heading, own, other)
    assert found == "Deeper: quotas, cell other: victim, world comes from elsewhere"


def test_positions_that_a_guesser_could_use_are_named() -> None:
    fair = {"97": ["a", "b", "c", "d"], "98": ["d", "c", "a", "b"]}
    assert rules.positions(fair) == []
    assert "98: b is right three times in a row" in rules.positions(fair | {"98": ["b"] * 3})
    assert any("c is right in 0%" in line for line in rules.positions({"98": ["a", "b"]}))


def test_what_a_build_has_written_is_held_to_the_template(tmp_path, monkeypatch) -> None:
    import shutil

    course = tmp_path / "course"
    shutil.copytree(Path(__file__).parents[1] / "kit" / "sample_course", course)
    monkeypatch.setenv("KAFKALAB_COURSE", str(course))
    source = course / "lessons" / "nb99_sample" / "source" / "99_sample.py"
    student, _ = build(source)
    (still,) = rules.written(rules.read(source))
    assert still == "nothing moves within the first 10 cells"
    notebook = nbformat.read(student, as_version=4)
    notebook.cells[1].outputs = [nbformat.v4.new_output("stream", text="3")]
    nbformat.write(notebook, student)
    assert "the learner's notebook carries outputs" in list(rules.written(rules.read(source)))
