"""Reports: inert, clean, the same for the same marks, and of use to a teacher."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from kit import cli
from kit.grading import class_files, class_page, feedback, gradebook, likeness, messages, report
from kit.grading.identity import read_roster
from kit.grading.marking import Mark, Marks
from tests.kit.grading.handing_in import SAMPLE, table


@pytest.fixture(autouse=True)
def sample_course(monkeypatch) -> None:
    monkeypatch.setenv("KAFKALAB_COURSE", str(SAMPLE))


def marked(name: str, *states: str, notebook: str = "99", **more) -> Marks:
    marks = tuple(
        Mark(f"{notebook}-{n}", False, state, "It waits." if state == "wrong" else "")
        for n, state in enumerate(states, 1)
    )
    named = {"learner": name, "file": f"{name}.ipynb"} | more
    return Marks(name, notebook=notebook, marks=marks, **named)


HOSTILE = {
    "colours": ("\x1b[31mred\x1b[0m \x1b[1;4mbold", "red bold"),
    "a title and a link": ("\x1b]0;owned\x07a\x1b]8;;http://x\x1b\\b\x1b]8;;\x1b\\", "ab"),
    "eight-bit escapes": ("\x9b31mred\x9d0;t\x9c!", "red!"),
    "an escape without an end": ("before\x1b]0;never ends", "before"),
    "escapes in pytest's XML": ("#x1B]0;owned#x07#x1B[31mError#x1B[39m:", "Error:"),
    "backspace and bell": ("a\x08\x07b\x00", "a\\x08\\x07b\\x00"),
    "text from right to left": ("\u202eevil\u2066", "\\u202eevil\\u2066"),
    "no width": ("a\u200bb\ufeff", "a\\u200bb\\ufeff"),
    "half a character": ("\ud800", "\\ud800"),
    "a carriage return": ("wrong\rright\r\nnext", "wrong\\rright\nnext"),
    "other spaces": ("a\u00a0b\tc", "a b    c"),
}


@pytest.mark.parametrize(("text", "shown"), HOSTILE.values(), ids=HOSTILE.keys())
def test_signs_that_steer_a_terminal_or_hide_text_do_not_pass(text, shown) -> None:
    assert messages.cleaned(text) == shown


def test_long_texts_are_cut() -> None:
    assert len(messages.cleaned("x" * 300_000)) < 1020
    assert messages.cleaned("x" * 300_000).endswith("… (cut)")
    assert messages.cleaned("a\n" * 100).count("\n") <= messages.MOST_LINES
    assert messages.one_line("a\nb\n\n  c") == "a b c"
    assert len(messages.cleaned("\x1b[31m" * 100_000)) < 1020


def test_reports_are_inert(tmp_path) -> None:
    attack = "</script><img src=x onerror=alert(1)><script>alert(1)</script>"
    mark = Mark("99-2", False, "wrong", attack, attack, attack, attack)
    marks = Marks(
        "=cmd()", attack, "99", (mark,), (attack,), learner=attack, answers={"99-2": attack}
    )
    for page in (class_page.page(gradebook.summed_up([marks])), feedback.page(marks)):
        assert "<img" not in page
        assert "<script" not in page
        assert "default-src 'none'" in page
    report.write_class_csv([marks], tmp_path)
    assert table(tmp_path / "class.csv")[1][0] == "'=cmd()"


def test_columns_and_rows_are_in_natural_order(tmp_path) -> None:
    states = ["right"] * 11
    report.write_class_csv([marked("learner 10", *states), marked("learner 9", *states)], tmp_path)
    head, *rows = table(tmp_path / "class.csv")
    first = len(report.CLASS_HEAD)
    assert head[first : first + 3] == ["99-1", "99-2", "99-3"]
    assert head[-3:-1] == ["99-10", "99-11"]
    assert [row[0] for row in rows] == ["learner 9", "learner 10"]


def test_tables_open_in_spreadsheets_with_their_names_intact(tmp_path) -> None:
    report.write_class_csv([marked("Zoë", "right")], tmp_path)
    assert (tmp_path / "class.csv").read_bytes().startswith("\ufeffname,".encode())


@pytest.mark.parametrize(
    ("learner", "name"),
    [
        ("06 Anna-Lena O'Hara (2)", "06 Anna-Lena O'Hara (2)"),
        ("Zoe\u0301", "Zo\u00e9"),
        ("हिन्दी", "हिन्दी"),
        ('what: "this"? <a|b>*', "what_ _this__ _a_b__"),
        ("line\nbreak\x1b[31m", "line_break__31m"),
        ("CON", "_CON"),
        ("lpt1.old", "_lpt1.old"),
        ("ends in dots. . ", "ends in dots"),
        ("..", "submission"),
        (".hidden", "hidden"),
        ("x" * 250, "x" * 60),
        ("class", "class-99"),
    ],
)
def test_every_file_system_takes_a_reports_name(tmp_path, learner, name) -> None:
    assert report.name_for(learner, "99", set()) == name
    assert report.read_json(report.write_json(Marks(name), tmp_path)) == Marks(name)


def test_names_that_differ_in_case_alone_are_distinguished() -> None:
    taken: set[str] = set()
    names = [report.name_for(each, "", taken) for each in ("é", "É", "e\u0301")]
    assert names == ["é", "É-2", "é-3"]


def test_a_report_is_read_back_as_it_was_written(tmp_path) -> None:
    mark = Mark("99-2", False, "wrong", "seen: \ud800", title="a title")
    who = {"learner": "Odd", "id": "7", "identified_by": "folder"}
    more = {"digest": "d", "course": "c", "answers": {"99-2": "x"}}
    marks = Marks("odd", "odd.ipynb", "99", (mark,), ("a note",), **who, **more)
    assert report.read_json(report.write_json(marks, tmp_path)) == marks
    page = class_page.page(gradebook.summed_up([marks]))
    report.write(tmp_path / "class.html", page)
    assert r"seen: \ud800" in (tmp_path / "class.html").read_text(encoding="utf-8")


def test_totals_go_over_notebooks_and_name_the_missing(tmp_path) -> None:
    roster = tmp_path / "roster.csv"
    roster.write_text("Student,ID,Email address\nAnna,1,a@example.org\nBob,2,\nZoe,3,\n")
    reports = [
        marked("Anna", "right", "wrong", id="1"),
        marked("Anna", "right", "right", "wrong", notebook="98", id="1", file="anna-98"),
        marked("Bob", "right", "right", id="2"),
        marked("Mallory", "wrong", "wrong"),
        Marks("Carl", learner="Carl", problem="This is a link.", fault="file"),
    ]
    by_name = {f"{marks.name}-{marks.notebook}": marks for marks in reports}
    class_files.write(by_name, tmp_path, read_roster(roster), {})
    assert table(tmp_path / "totals.csv") == [
        ["learner", "id", "98", "99", "score", "of"],
        ["Anna", "1", "2", "1", "3", "5"],
        ["Bob", "2", "", "2", "2", "5"],
        ["Carl", "", "", "", "0", "5"],
        ["Mallory", "", "", "0", "0", "5"],
        ["Zoe", "3", "", "", "0", "5"],
    ]
    assert table(tmp_path / "import.csv") == [
        ["Student", "ID", "Email address", "Notebook 98", "Notebook 99"],
        ["Anna", "1", "a@example.org", "2", "1"],
        ["Bob", "2", "", "", "2"],
        ["Zoe", "3", "", "", ""],
    ]
    content = json.loads((tmp_path / "class.json").read_text())
    assert content["missing"] == {"98": ["Bob", "Carl", "Mallory", "Zoe"], "99": ["Carl", "Zoe"]}
    page = (tmp_path / "class.html").read_text()
    assert "No submission of 99 (2): Carl (a file that cannot be read), Zoe." in page
    assert "3 of 5" in page


LOOP = """
def high_watermark(log_end_offsets, isr):
    result = None
    for broker in isr:
        end = log_end_offsets[broker]
        if result is None or end < result:
            result = end
    return result
"""
RENAMED = """
# my own work
def high_watermark(ends, in_sync):
    lowest = None
    for b in in_sync:   # each of them
        e = ends[b]
        if lowest is None or e < lowest: lowest = e
    return lowest
"""
OTHER = """
def high_watermark(log_end_offsets, isr):
    reached = sorted(log_end_offsets[broker] for broker in isr)
    assert reached, "an ISR is never empty"
    lowest, *others = reached
    return lowest if len(others) < len(isr) else {broker: 0 for broker in isr}
"""


def answering(name: str, code: str, **more) -> Marks:
    return marked(name, "right", answers={"99-2": code}, **more)


def test_submissions_that_are_alike_are_hinted_at() -> None:
    pairs = likeness.alike(
        [answering("anna", LOOP), answering("bob", RENAMED), answering("zoe", OTHER)]
    )
    assert [(pair.first, pair.second) for pair in pairs] == [("anna", "bob")]
    assert pairs[0].share >= likeness.ALIKE


def test_short_answers_and_answers_of_many_are_no_hint() -> None:
    short = "def high_watermark(leo, isr):\n    return min(leo[b] for b in isr)"
    assert likeness.alike([answering("anna", short), answering("bob", short)]) == []
    crowd = [answering(f"learner {n}", LOOP) for n in range(9)]
    assert likeness.alike(crowd) == [], "what the class has in common was taught"
    twins = [answering(name, LOOP, digest="same") for name in ("anna", "bob")]
    assert likeness.alike(twins)[0].same_file
    assert likeness.alike([answering("a", LOOP, learner="anna"),
                           answering("b", LOOP, learner="anna")]) == []  # fmt: skip


def test_of_a_long_answer_the_beginning_counts() -> None:
    """A megabyte of code in one cell must not hold up a class."""
    start = LOOP + "\n#" + "-" * likeness.LONGEST_CODE + "\n"
    longer = [answering(name, start + f"{name}.sell({n})\n" * 40_000, learner=name)
              for n, name in enumerate(("anna", "bob"))]  # fmt: skip
    assert [pair.share for pair in likeness.alike(longer)] == [1.0]


def test_code_that_is_no_python_is_compared_up_to_its_error() -> None:
    assert likeness.runs_in("x = (((") == likeness.runs_in("y = (((")
    assert likeness.runs_in("'''") == frozenset()


def test_a_learners_page_says_what_was_expected_and_seen() -> None:
    marks = Marks(
        "anna", "anna.ipynb", "99",
        (
            Mark("99-2", False, "wrong", "It waits.", "2", "3", "called with", "The watermark"),
            Mark("99-3", False, "right", "Yes."),
            Mark("99-4", True, "empty"),
        ),
        learner="Anna", id="4711", identified_by="folder", answers={"99-2": "return 3"},
    )  # fmt: skip
    page = feedback.page(marks)
    assert "<h1>Anna: 99 A sample notebook</h1>" in page
    for text in ("1 of 2", "4711", "It waits.", "called with", "return 3",
                 "hint(&quot;99-2&quot;)", "The watermark"):  # fmt: skip
        assert text in page, text


def test_a_course_is_summed_up_over_folders(tmp_path, capsys) -> None:
    for folder, notebook, states in (("06", "06", "right wrong"), ("08", "08", "right right")):
        out = tmp_path / "grades" / folder
        out.mkdir(parents=True)
        for name in ("Zoë", "Émile", "Fay"):
            if (name, notebook) != ("Fay", "08"):
                report.write_json(marked(name, *states.split(), notebook=notebook), out)
    out = tmp_path / "course"
    folders = [str(tmp_path / "grades" / name) for name in ("06", "08")]
    assert cli.main(["report", *folders, "--out", str(out), "--title", "Autumn"]) == 0
    assert table(out / "totals.csv")[1:] == [
        ["Émile", "", "1", "2", "3", "4"],
        ["Fay", "", "1", "", "1", "4"],
        ["Zoë", "", "1", "2", "3", "4"],
    ]
    page = (out / "course.html").read_text()
    assert "<h1>Autumn</h1>" in page
    assert "href='../grades/06/feedback/Fay.html'" in page
    assert "06-2 (0 % right)" in page
    assert "5 submissions" in capsys.readouterr().out
    assert cli.main(["report", str(tmp_path), "--out", str(out)]) == 1
    assert "holds no reports" in capsys.readouterr().err


def test_times_are_kept_over_runs(tmp_path: Path) -> None:
    book = {name: marked(name, "right") for name in ("a", "b")}
    class_files.write(book, tmp_path, None, {"a": 1.04, "gone": 9.0})
    class_files.write(book, tmp_path, None, {"b": 2.0})
    with (tmp_path / "times.csv").open(encoding="utf-8-sig") as file:
        assert list(csv.reader(file)) == [["name", "seconds"], ["a", "1.0"], ["b", "2.0"]]
