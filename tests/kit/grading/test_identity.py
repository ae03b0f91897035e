"""Whose a submission is, and which notebook: from its place and its cells, never from its text."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import pytest

from kit.grading import class_run, identity, intake, submission
from tests.kit.grading.handing_in import SAMPLE, graded, handed_in, notebook

pytestmark = pytest.mark.timeout(60)


@pytest.fixture
def sample_course(monkeypatch) -> None:
    monkeypatch.setenv("KAFKALAB_COURSE", str(SAMPLE))


MOODLE = "Anna Müller_4711_assignsubmission_file"
CANVAS = "mulleranna_LATE_4711_90210_06-replication-and-the-isr-1.ipynb"
PLACES = {
    # a path below the folder that the command line names -> learner, id, where it stands
    "anna.ipynb": ("anna", "", "file name"),
    "06-anna.ipynb": ("anna", "", "file name"),
    "Anna Müller_06-replication-and-the-isr (2).ipynb": ("Anna Müller", "", "file name"),
    "anna-L1.ipynb": ("anna", "", "file name"),
    "anna06.ipynb": ("anna06", "", "file name"),
    "anna/06-replication-and-the-isr.ipynb": ("anna", "", "folder"),
    "anna/answers/bob.ipynb": ("anna", "", "folder"),
    "06-replication-and-the-isr-Copy1.ipynb": ("class", "", "folder"),
    "06_replication_and_the_isr.ipynb": ("class", "", "folder"),
    f"{MOODLE}_/06.ipynb": ("Anna Müller", "4711", "folder"),
    f"{MOODLE}/06.ipynb": ("Anna Müller", "4711", "folder"),
    CANVAS: ("mulleranna", "4711", "file name"),
    "a\x1b[31m\u202eb\n.ipynb": (r"a\u202eb", "", "file name"),
    f"{'n' * 150}.ipynb": ("n" * 80 + " … (cut)", "", "file name"),
}


@pytest.mark.parametrize(("place", "whose"), PLACES.items(), ids=[p[:50] for p in PLACES])
def test_a_learner_is_named_by_the_place_of_a_file(tmp_path, place, whose) -> None:
    path = tmp_path / "class" / place
    path.parent.mkdir(parents=True)
    path.write_text("{}")
    found = intake.search([tmp_path / "class"])
    (learner,) = identity.learners(found)
    assert (learner.name, learner.id, learner.source) == whose


def test_files_of_one_name_belong_to_the_learners_of_their_folders(sample_course, tmp_path) -> None:
    paths = ["a/nb.ipynb", "b/nb.ipynb", "c/Homework.ipynb", "d/homework.ipynb", "e/carl.ipynb"]
    files = [handed_in(tmp_path / path) for path in paths]
    found = graded(files, tmp_path / "out")
    assert list(found) == ["a", "b", "c", "carl", "d"]
    assert {row["file"] for row in found.values()} == {str(file) for file in files}
    for name, row in found.items():
        stored = json.loads((tmp_path / "out" / f"{name}.json").read_text())
        assert (stored["file"], stored["learner"]) == (row["file"], row["learner"])


def archive(path: Path, *names: str) -> Path:
    with zipfile.ZipFile(path, "w") as made:
        for name in names:
            made.writestr(name, json.dumps(notebook()))
    return path


ARCHIVES = {
    # the members of class.zip -> the learners
    ("anna.ipynb", "bob.ipynb"): {"anna", "bob"},
    ("anna/06.ipynb", "bob/06.ipynb", "bob/08.ipynb"): {"anna", "bob"},
    ("week 3/anna/06.ipynb", "week 3/bob/06.ipynb"): {"anna", "bob"},
    ("week 3/anna.ipynb", "week 3/bob.ipynb"): {"anna", "bob"},
    (f"{MOODLE}_/06.ipynb",): {"Anna Müller"},
    (f"week 3/{CANVAS}", "week 3/doejohn_12_13_06.ipynb", "eve/06.ipynb"): {
        "mulleranna",
        "doejohn",
        "eve",
    },
    (f"anna/{CANVAS}", "anna/06_2024_11_first.ipynb", "eve/06.ipynb"): {"anna", "eve"},
    ("../../bob.ipynb", "/etc/anna.ipynb"): {"_", "etc"},
    ("anna.ipynb", "__MACOSX/._anna.ipynb", ".DS_Store"): {"anna"},
    ("06-replication-and-the-isr.ipynb",): {"class"},
}


@pytest.mark.parametrize(("names", "people"), ARCHIVES.items())
def test_the_learners_of_an_archive(tmp_path, names, people) -> None:
    found = intake.search([archive(tmp_path / "class.zip", *names)])
    assert {learner.name for learner in identity.learners(found)} == people
    assert list(tmp_path.iterdir()) == [tmp_path / "class.zip"], "nothing was unpacked"


def test_an_archive_among_the_submissions_is_its_learners_folder(sample_course, tmp_path) -> None:
    (tmp_path / "class").mkdir()
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as made:
        made.writestr("work/99-sample.ipynb", json.dumps(notebook()))
    (tmp_path / "class" / "anna.zip").write_bytes(inner.getvalue())
    with zipfile.ZipFile(tmp_path / "class" / "bob.zip", "w") as made:
        made.writestr("work/nested.zip", inner.getvalue())
    found = graded([tmp_path / "class"], tmp_path / "out")
    assert {name: row["state"] for name, row in found.items()} == {
        "anna": "marked",
        "bob": "marked",
    }


def test_two_files_of_one_name_in_an_archive_are_both_marked(sample_course, tmp_path) -> None:
    with pytest.warns(UserWarning, match="Duplicate name"):
        made = archive(tmp_path / "class.zip", "anna.ipynb", "anna.ipynb")
    found = graded([made], tmp_path / "out")
    assert set(found) == {"anna", "anna-99"}


ROSTER = """Student,ID,SIS User ID,Email address
"Müller, Anna",4711,s001,anna.mueller@example.org
Bob O'Hara,4712,s002,bob@example.org
Li Wei,4713,s003,li@example.org
Li Wei,4714,s004,wei@example.org
"""
CLAIMS = {
    "anna_muller.ipynb": ("Müller, Anna", "roster, by file name"),
    "Anna Müller/06.ipynb": ("Müller, Anna", "roster, by folder"),
    "Mueller, Anna.ipynb": ("Mueller, Anna", "file name"),
    "s001.ipynb": ("Müller, Anna", "roster, by file name"),
    "bob@example.org/06.ipynb": ("Bob O'Hara", "roster, by folder"),
    "06 BOB OHARA.ipynb": ("Bob O'Hara", "roster, by file name"),
    "homework s002 final.ipynb": ("Bob O'Hara", "roster, by file name"),
    CANVAS: ("Müller, Anna", "roster, by file name"),
    # A system's number of a participant or a group is no one's id.
    "Bob Ohara_4711_assignsubmission_file/06.ipynb": ("Bob O'Hara", "roster, by folder"),
    "Eve Stranger_4711_assignsubmission_file/06.ipynb": ("Eve Stranger", "folder"),
    "Group 4711_9_assignsubmission_file/06.ipynb": ("Group 4711", "folder"),
    "4712_4711_assignsubmission_file/06.ipynb": ("4712", "folder"),
    "Li Wei_4713_assignsubmission_file/06.ipynb": ("Li Wei", "folder"),
    "strangereve_4711_90210_06-replication-and-the-isr.ipynb": ("strangereve", "file name"),
    "Li Wei.ipynb": ("Li Wei", "file name"),
    "s003.ipynb": ("Li Wei", "roster, by file name"),
    "mallory.ipynb": ("mallory", "file name"),
}


@pytest.mark.parametrize(("place", "whose"), CLAIMS.items(), ids=CLAIMS.keys())
def test_a_roster_gives_a_claim_its_name_and_id(tmp_path, place, whose) -> None:
    (tmp_path / "roster.csv").write_text("\ufeff" + ROSTER, encoding="utf-8")
    path = tmp_path / "class" / place
    path.parent.mkdir(parents=True)
    path.write_text("{}")
    roster = identity.read_roster(tmp_path / "roster.csv")
    (learner,) = identity.learners(intake.search([tmp_path / "class"]), roster)
    assert (learner.name, learner.source) == whose
    assert bool(learner.note) is not learner.source.startswith("roster")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("First name;Last name;Username\nAnna;Müller;s001\n", "Anna Müller"),
        ("id\ns001\n", "s001"),
        ("\tName\tE-Mail\n\tAnna\ts001@example.org\n", "Anna"),
        ("Student,ID\n    Points Possible,\nAnna,s001\n", "Anna"),
    ],
)
def test_rosters_of_other_shapes(tmp_path, text, name) -> None:
    (tmp_path / "roster.csv").write_text(text)
    roster = identity.read_roster(tmp_path / "roster.csv")
    assert [person.name for person in roster.find("s001")] == [name]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "needs a header"),
        (b"colour\nred\n", "needs a header"),
        ("Name\nMüller\n".encode("latin-1"), "not in UTF-8"),
    ],
)
def test_a_roster_that_cannot_be_used_is_refused(tmp_path, content, sentence) -> None:
    (tmp_path / "roster.csv").write_bytes(content)
    with pytest.raises(RuntimeError, match=sentence):
        identity.read_roster(tmp_path / "roster.csv")
    with pytest.raises(RuntimeError, match="No such file"):
        identity.read_roster(tmp_path / "absent.csv")


def exercise_cells(*ids: str) -> list[dict]:
    return [
        {"cell_type": "code", "source": "1", "metadata": {"tags": ["exercise", each]}}
        for each in ids
    ]


def lifted(*ids: str, group: str = "") -> submission.Submission:
    return submission.parse(json.dumps({"cells": exercise_cells(*ids)}).encode(), group)


def test_pasted_cells_of_another_notebook_do_not_change_which_notebook_it_is() -> None:
    ids = [cell.name for cell in submission.cells_of("06") if cell.has("stub")]
    other = next(cell.name for cell in submission.cells_of("00") if cell.has("stub"))
    found = lifted(*ids, *[other] * 50)
    assert found.group == "06"
    assert set(found.answers) == set(ids)
    assert found.notes[0] == "It has cells of notebook 00, too; only those of 06 were marked."


def test_a_notebook_that_was_asked_for_is_the_one_that_is_marked() -> None:
    ids = [cell.name for cell in submission.cells_of("06") if cell.has("stub")]
    other = next(cell.name for cell in submission.cells_of("00") if cell.has("stub"))
    assert lifted(*ids, other, group="00").group == "00"
    with pytest.raises(submission.Unreadable, match=r"no exercise of notebook 08 \(it has of: 06"):
        lifted(*ids, group="08")


def test_other_notebooks_beside_the_one_that_was_asked_for_are_no_fault(tmp_path) -> None:
    for place, group in (("anna/a", "06"), ("anna/b", "08"), ("bob/b", "08")):
        ids = [cell.name for cell in submission.cells_of(group) if cell.has("stub")]
        path = tmp_path / "class" / f"{place}.ipynb"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"cells": exercise_cells(*ids)}))
    options = class_run.Options(notebook="06")
    looked_at = class_run.look_at([tmp_path / "class"], options, None)
    assert [(each.unmarked.learner, bool(each.submission)) for each in looked_at] == [
        ("anna", True),
        ("bob", False),
    ]
    assert "(it has of: 08)" in looked_at[1].unmarked.problem


def test_of_two_cells_of_an_exercise_the_last_with_an_answer_counts(sample_course) -> None:
    stub = next(c.text for c in submission.cells_of("99") if c.name == "99-3" and c.has("stub"))
    cells = [
        {"cell_type": "code", "source": source, "id": "exercise-99-3"}
        for source in ("first", "second", "# nothing", stub)
    ]
    found = submission.parse(json.dumps({"cells": cells}).encode())
    assert found.answers == {"99-3": "second"}
    assert found.notes[0].startswith("99-3 is there twice")
