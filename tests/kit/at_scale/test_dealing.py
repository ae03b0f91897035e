"""What is decided before a task starts, and what the page says after the last one has ended."""

from __future__ import annotations

import json

import pytest

from kit import cli
from kit.at_scale import campaign_page, grading, grading_page, tasks
from kit.at_scale.tasks import Done
from kit.bench import synthetic_class
from kit.grading import class_run, report
from kit.grading.class_run import Options
from kit.grading.marking import Mark, Marks
from tests.kit.grading.handing_in import SAMPLE, handed_in

MASTERS = {
    "local": "local[1,4]",
    "local[2]": "local[2,4]",
    "local[*]": "local[*,4]",
    "local[2,1]": "local[2,1]",
    "spark://127.0.0.1:7077": "spark://127.0.0.1:7077",
    "local-cluster[2,1,1024]": "local-cluster[2,1,1024]",
}


@pytest.mark.parametrize(("given", "chosen"), MASTERS.items())
def test_a_local_master_gives_a_task_four_attempts(given, chosen) -> None:
    assert tasks.with_attempts(given) == chosen


@pytest.fixture
def sample_course(monkeypatch) -> None:
    monkeypatch.setenv("KAFKALAB_COURSE", str(SAMPLE))


def test_what_takes_longest_starts_first(sample_course, tmp_path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    known = {"anna": "x = 1", "bob": "y = 2", "carl": "z = 3", "dora": None}
    files = [handed_in(tmp_path / f"{name}.ipynb", answer) for name, answer in known.items()]
    seen = class_run.look_at(files, Options(sandboxed=False), None)
    todo, _ = class_run._not_yet_marked(seen, {}, Options(), out)
    for each in todo[:2]:
        report.write_json(each.unmarked, out)
    (out / "times.csv").write_text("name,seconds\nanna,3.0\nbob,90.0\nodd\n")
    ordered = [each.unmarked.name for each in grading.longest_first(todo, out)]
    assert ordered == ["bob", "carl", "anna", "dora"], "carl: as the median of 99, 46.5 s"


def test_without_spark_the_command_says_what_helps(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("SPARK_MASTER", "local[2]")
    file = handed_in(tmp_path / "anna.ipynb")
    out = tmp_path / "out"
    assert cli.main(["grade", str(file), "--no-sandbox", "--spark", "--out", str(out)]) == 1
    assert "Java is missing" in capsys.readouterr().err
    assert not out.exists()
    assert cli.main(["campaign", "--seeds", "0:2", "--spark", "--out", str(out)]) == 1
    assert "run: make setup" in capsys.readouterr().err


def test_a_synthetic_class_has_every_kind_and_is_the_same_again(sample_course, tmp_path) -> None:
    kinds = [synthetic_class.hand_in(tmp_path / side, "99", 9, seed=5) for side in "ab"]
    assert kinds[0] == kinds[1]
    assert set(kinds[0]) == set(synthetic_class.KINDS)
    files = {path.relative_to(tmp_path / "a"): path for path in tmp_path.glob("a/*/*.ipynb")}
    for name, path in files.items():
        cells = [json.loads(p.read_text())["cells"] for p in (path, tmp_path / "b" / name)]
        assert [c["source"] for c in cells[0]] == [c["source"] for c in cells[1]]
    odd = {"syntax": "def broken(:", "raises": "not finished", "slow": "time.sleep"}
    for number, kind in enumerate(kinds[0], 1):
        text = (tmp_path / "a" / f"learner-{number:02}" / "99.ipynb").read_text()
        assert odd.get(kind, "") in text, kind


def done(index: int, name: str, states: dict[str, str], worker: str, attempt: int = 0) -> Done:
    marks = tuple(Mark(exercise, False, state) for exercise, state in states.items())  # type: ignore[arg-type]
    value = (Marks(name, learner=name, notebook="99", marks=marks), "", 2.0)
    return Done(index, value, index, attempt, worker, 100.0 + index, 2.0 + index)


def test_the_page_of_a_class_shows_marks_lanes_and_times() -> None:
    finished = [
        done(0, "anna", {"99-2": "right", "99-10": "empty"}, "host:7"),
        done(1, "<b>bob", {"99-2": "wrong", "99-10": "failed"}, "host:8", attempt=1),
        done(2, "carl", {"99-2": "right", "99-10": "right"}, "host:7"),
    ]
    page = grading_page.page(finished, "local[2,4]")
    assert "3 submissions in 3 Spark tasks on local[2,4]: 9 s of work within 6 s" in page
    assert "1.50 at once on average; 1 task was tried again" in page
    assert "Tried again: &lt;b&gt;bob." in page
    assert "<b>bob" not in page
    assert page.index(">99-2<") < page.index(">99-10<")
    assert "67 % right" in page
    assert "Median 3.0 s, longest 4.0 s." in page
    assert page.count("class='lane'") == 2
    assert "title='anna: 2.0 s, task 0'" in page
    assert "&lt;b&gt;bob: 3.0 s, task 1, attempt 2" in page


def test_a_row_of_the_table_is_a_mark_and_an_unmarked_submission_has_one() -> None:
    first, second = grading.rows("now", done(0, "anna", {"99-2": "right", "99-3": "failed"}, "w"))
    assert first == (
        "now", "anna", "anna", "", "99", "99-2", False, "right", 1, 2.0, 100.0, 0, 0, "w"
    )  # fmt: skip
    assert second[7:9] == ("failed", 0)
    unmarked = (Marks("bob", notebook="99", problem="No room.", fault="course"), "", 1.0)
    (row,) = grading.rows("now", Done(0, unmarked, 0, 0, "w", 1.0, 1.0))
    assert row[5:9] == (None, None, "not marked", None)
    assert len(row) == len(first) == grading.SCHEMA.count(",") + 1


def test_the_page_of_a_campaign_names_each_violation() -> None:
    from engine.sim.campaign.play import Outcome
    from engine.sim.campaign.schedules import draw

    played = [
        Outcome(draw(seed, True).setup, 10, seed, 1, violation="<lost>" * (seed == 2))
        for seed in range(130)
    ]
    finished = [
        Done(n, outcome, n // 8, 0, f"w:{n % 2}", 1.0 + n, 1.0) for n, outcome in enumerate(played)
    ]
    page = campaign_page.page(finished, "local[2,4]")
    assert "1 schedules violated" not in page
    assert "1 schedule violated an invariant" in page
    assert "&lt;lost&gt;" in page
    assert "at 2: violation" in page
    assert "mean of 3 seeds" in page
    clean = campaign_page.page(finished[10:12], "local[2,4]")
    assert "No schedule violated an invariant." in clean
