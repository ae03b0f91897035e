"""From a source to the two notebooks: what each holds, and what is refused."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path

import nbformat
import pytest

from kit.authoring import outputs, rules
from kit.authoring.build import BuildFailed, build, drift
from kit.authoring.sources import BadSource, read_source

SOURCE = "lessons/nb99_sample/source/99_sample.py"


def source_with(course: Path, text: str) -> Path:
    path = course / "lessons" / "nb98_other" / "source" / "98_other.py"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(text))
    return path


def cells_of(path: Path) -> dict:
    return {cell.id: cell for cell in nbformat.read(path, as_version=4).cells}


def text_of(cell) -> str:
    return json.dumps(cell.outputs)


def test_one_run_writes_a_students_notebook_and_a_reference(course) -> None:
    source = course / SOURCE
    student_path, reference_path = build(source)
    assert student_path == course / "notebooks" / "99-sample.ipynb"
    assert reference_path == course / "notebooks" / "solutions" / "99-sample.ipynb"
    student, reference = cells_of(student_path), cells_of(reference_path)
    assert list(student) == list(reference)

    assert "return min(" not in json.dumps(student)
    assert "return min(" in reference["exercise-99-2"].source
    assert student["exercise-99-2"].metadata.tags == ["exercise", "99-2"]
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in student.values())
    assert "right" in text_of(reference["check-99-2"])

    demonstration = reference["how-a-high-watermark-moves"]
    assert demonstration.outputs[0].text == "3\n"
    assert "nbval-check-output" in demonstration.metadata.tags
    assert "Recorded: b" in text_of(reference["prediction-99-1"])
    assert "As you predicted" not in text_of(reference["prediction-99-1"])
    assert "As you predicted" in text_of(demonstration)
    assert 'predict("99-1", "b")' not in student["prediction-99-1"].source

    metadata = nbformat.read(student_path, as_version=4).metadata
    assert metadata.kernelspec.name == "python3"
    assert "widgets" not in metadata
    assert drift(source) == []


def test_a_run_that_contradicts_the_solutions_prediction_stops_the_build(course) -> None:
    source = course / SOURCE
    source.write_text(source.read_text().replace("watermark = min(", "watermark = max("))
    with pytest.raises(BuildFailed, match="how-a-high-watermark-moves: the run settles"):
        build(source)


def test_an_undefined_question_stops_the_build(course) -> None:
    source = course / SOURCE
    source.write_text(source.read_text().replace("99-5", "99-8"))
    with pytest.raises(BuildFailed, match="There is no exercise 99-8; 99 has 99-1"):
        build(source)
    found = list(rules.defined(rules.read(source)))
    assert found[0].startswith("exercises/__init__.py does not define 99-8")
    assert found[1] == "exercises/__init__.py defines 99-5, which has no cells"


def test_a_deeper_section_opens_closed_and_the_minutes_are_counted(course) -> None:
    student, reference = map(cells_of, build(course / SOURCE))
    for notebook in (student, reference):
        closed = [c for c in notebook.values() if c.metadata.get("jp-MarkdownHeadingCollapsed")]
        assert [cell.source.split("\n")[0] for cell in closed] == ["## Deeper: another cluster"]
        first = next(iter(notebook.values())).source
        assert "15 minutes, and 5 more for the Deeper sections" in first


SIDES = """\
    # %% away tags=["read"]
    1

    # %% world tags=["sim"]
    from kit import lab
    lab.world(seed=1).run(for_s=1)

    # %% engine tags=["live"]
    eng = lab.engine()
    len(eng.brokers)
"""


def test_a_deeper_section_begins_with_a_cell_of_its_own(course) -> None:
    """Else what the section before has shown would stand open above its closed cells."""
    source = source_with(
        course,
        """\
        # %% [markdown]
        # ## Deeper: One
        # %% run tags=["setup"]
        2 + 2
        # %% [markdown]
        # It was four.
        #
        # ## Deeper: Two
        #
        # ### Deeper: not a section
        """,
    )
    one, run, ending, two = read_source(source)
    assert (one.opens_deeper, ending.text) == (True, "It was four.")
    assert (run.name, two.text) == ("run", "## Deeper: Two\n\n### Deeper: not a section")


def test_a_build_notes_which_side_each_cell_reached(course) -> None:
    _, reference = build(source_with(course, SIDES))
    sides = {name: cell.metadata.kafkalab["side"] for name, cell in cells_of(reference).items()}
    assert sides == {"away": "read", "world": "sim", "engine": "engine"}


def test_a_changed_source_is_seen_as_drift(course) -> None:
    source = course / SOURCE
    build(source)
    source.write_text(source.read_text().replace("min(log_end_offsets.values())", "3 + 0"))
    assert any("how-a-high-watermark-moves: its source differs" in line for line in drift(source))
    (course / "notebooks" / "solutions" / "99-sample.ipynb").unlink()
    assert any("is not there; run: make notebooks" in line for line in drift(source))


def test_a_cell_that_fails_stops_the_build_and_writes_nothing(course) -> None:
    source = source_with(course, '# %% boom tags=["live"]\nraise ValueError("no leader")\n')
    with pytest.raises(BuildFailed, match="no leader"):
        build(source)
    assert not (course / "notebooks" / "98-other.ipynb").exists()


WIDGET = """\
    # %% panel tags=["{kind}"]
    class Panel:
        def _repr_mimebundle_(self, **options):
            view = {{"model_id": "1", "version_major": 2, "version_minor": 0}}
            return {{"text/plain": "panel", "{extra}": "<svg/>",
                    "application/vnd.jupyter.widget-view+json": view}}
    Panel()
"""


def test_a_widget_leaves_its_static_form_in_the_file(course) -> None:
    _, reference = build(source_with(course, WIDGET.format(kind="live", extra="image/svg+xml")))
    panel = cells_of(reference)["panel"]
    assert set(panel.outputs[0].data) == {"text/plain", "image/svg+xml"}
    assert panel.metadata.kafkalab["moves"]


@pytest.mark.parametrize(
    ("kind", "extra", "sentence"),
    [("sim", "text/html", "cannot show a widget"), ("live", "text/plain", "no static form")],
)
def test_widgets_that_a_file_cannot_show_are_refused(course, kind, extra, sentence) -> None:
    with pytest.raises(BuildFailed, match=sentence):
        build(source_with(course, WIDGET.format(kind=kind, extra=extra)))


def test_a_notebook_too_large_for_a_code_hosting_site_is_refused(course) -> None:
    source = source_with(course, '# %% big tags=["live"]\nprint("x" * 400_000)\n')
    with pytest.raises(BuildFailed, match="300 KB is the limit"):
        build(source)


def test_folders_of_the_authors_machine_do_not_stand_in_outputs(course) -> None:
    source = source_with(
        course,
        '# %% where tags=["live"]\nimport kit, pathlib\nprint(kit.__file__, pathlib.Path.home())\n',
    )
    _, reference = build(source)
    (output,) = cells_of(reference)["where"].outputs
    assert output.text == "kit/__init__.py ~\n"


def test_a_folder_that_only_begins_like_the_checkout_is_another_folder(monkeypatch) -> None:
    monkeypatch.setattr(outputs, "PROJECT", Path("/srv/kafka"))
    monkeypatch.setenv("HOME", "/srv/kafka-fan")
    cell = nbformat.v4.new_code_cell("")
    text = "/srv/kafka/kit/lab.py /srv/kafka. /srv/kafka-fan/x /srv/kafka.d /srv/kafka"
    cell.outputs = [nbformat.v4.new_output("stream", text=text)]
    outputs.clean(cell, 1)
    assert cell.outputs[0].text == "kit/lab.py .. ~/x /srv/kafka.d ."


def test_text_printed_in_pieces_becomes_one_output() -> None:
    piece = {"output_type": "stream", "name": "stdout", "text": "a"}
    cell = nbformat.v4.new_code_cell("")
    cell.outputs = [nbformat.from_dict(piece), nbformat.from_dict(piece)]
    outputs.clean(cell, 1)
    assert [output.text for output in cell.outputs] == ["aa"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("# %% a\n1\n", "needs one of the tags"),
        ('# %% a tags=["simm"]\n1\n', "'simm' is not one of"),
        ('# %% a tags=["sim"]\n1\n# %% a tags=["sim"]\n2\n', "another cell has this name"),
        ('# %% 98-1 tags=["stub"]\n1\n', "has a stub cell and no solution"),
        ('# %% 98-1 tags=["check"]\n1\n', "has a check cell and no stub"),
        ('# %% a name tags=["sim"]\n1\n', "letters, digits and dashes"),
        ('# %% tags=["sim"]\nnumber = 1\n', "begins with 'number = 1' has no name"),
    ],
)
def test_a_source_that_breaks_the_convention_is_refused_by_cell(course, text, sentence) -> None:
    path = source_with(course, text)
    with pytest.raises(BadSource, match=sentence):
        read_source(path)
