"""The rows of the graded class: what counts as the same reports, and when the budget holds."""

from __future__ import annotations

from pathlib import Path

import pytest

from kit.bench import ON_REQUEST, PARTS, grading


def reports(folder: Path, score: str, times: str) -> Path:
    (folder / "feedback").mkdir(parents=True)
    (folder / "marks.delta").mkdir()
    (folder / "class.csv").write_text(score)
    (folder / "feedback" / "anna.html").write_text(score)
    for name in ("times.csv", "spark.html", "marks.delta/part"):
        (folder / name).write_text(times)
    return folder


def test_times_and_tables_of_a_run_make_no_difference_and_marks_do(tmp_path) -> None:
    first = reports(tmp_path / "first", "1", "3.0")
    assert grading.differences(first, reports(tmp_path / "same", "1", "9.9")) == []
    other = reports(tmp_path / "other", "2", "3.0")
    (other / "bob.json").write_text("{}")
    assert grading.differences(first, other) == ["bob.json", "class.csv", "feedback/anna.html"]


def test_two_cores_must_take_seven_tenths_of_the_time_of_one(tmp_path, monkeypatch) -> None:
    seconds = {"local[1]": 100.0, "local[2]": 69.0, "": 60.0}
    asked = []

    def graded(area: Path, name: str, master: str) -> float:
        reports(area / name, "1", master)
        asked.append(len(list(area.glob("class/*/*.ipynb"))))
        return seconds[master]

    monkeypatch.setattr(grading, "_graded", graded)
    cores, jobs = grading.measure(submissions=8)
    assert (cores["ratio"], cores["budget"], cores["holds"]) == (0.69, "≤ 0.7", True)
    assert (jobs["ratio"], jobs["budget"]) == (1.15, "same reports")
    assert asked == [8, 8, 8]
    seconds["local[2]"] = 71.0
    assert not grading.measure(submissions=1)[0]["holds"]


def test_reports_that_differ_are_not_timed(monkeypatch) -> None:
    monkeypatch.setattr(
        grading, "_graded", lambda area, name, master: len(str(reports(area / name, name, "")))
    )
    with pytest.raises(RuntimeError, match="The reports differ, so nothing is timed"):
        grading.measure(submissions=1)


def test_the_long_part_runs_only_where_it_is_named() -> None:
    assert "grading" in ON_REQUEST
    assert "grading" not in PARTS
