"""The plans in the instructor guide are those that the notebooks' minutes give."""

from __future__ import annotations

import pytest

from kit import plans
from kit.authoring import times
from kit.authoring.sources import read_source
from kit.cli import main
from kit.course import group_of, source_files
from kit.plans import Lesson


def test_the_guide_holds_the_plans_of_today() -> None:
    assert plans.PAGE.read_text("utf-8") == plans.written(), (
        "run: kafkalab guide --write-plans"
    )  # fmt: skip


def test_every_notebook_is_in_the_twelve_weeks_once() -> None:
    weeks = plans.find("twelve-weeks").parts
    assert len(weeks) == 12
    planned = [number for week in weeks for number in week]
    assert len(planned) == len(set(planned))
    assert {group_of(source) for source in source_files()} <= set(planned)


def test_the_minutes_are_those_that_the_notebook_prints() -> None:
    for source in source_files():
        number = group_of(source)
        found = plans.lesson(number)
        assert found is not None
        said = times.sentence(number, read_source(source))
        assert said.startswith(f"{found.core} minutes")
        assert (f"and {found.deeper} more" in said) == bool(found.deeper)


def test_half_a_day_ends_before_the_fourth_hour_and_a_day_before_the_eighth() -> None:
    for name, longest in (("half-day", 4 * 60), ("two-days", 8 * 60)):
        for part in plans.find(name).parts:
            day = [each for number in part if (each := plans.lesson(number))]
            *_, (end, what, _) = plans.timetable(day)
            assert what == "end"
            assert end <= longest


def test_breaks_come_in_time_and_a_long_day_has_a_lunch() -> None:
    day = [Lesson(str(n), f"lesson {n}", 45, 0) for n in range(6)]
    said = [(what, minutes) for _, what, minutes in plans.timetable(day)]
    assert said.count(("lunch", plans.LUNCH)) == 1
    worked = 0
    for what, minutes in said:
        worked = 0 if what in ("lunch", "break") else worked + minutes
        assert worked <= plans.WORK_BEFORE_A_BREAK
    short = [what for _, what, _ in plans.timetable(day[:2])]
    assert short == ["lesson 0", "break", "lesson 1", "end"]


def test_a_plan_can_be_printed_and_an_unknown_one_gets_a_sentence(capsys) -> None:
    assert main(["guide", "--plan", "half-day"]) == 0
    assert "| 0:00 | 00 " in capsys.readouterr().out
    assert main(["guide", "--plan", "a-year"]) == 1
    assert "there are half-day, two-days, twelve-weeks." in capsys.readouterr().err


def test_a_notebook_that_is_not_there_is_left_out() -> None:
    assert plans.lesson("99") is None
    with pytest.raises(plans.NoSuchPlan):
        plans.find("")


def test_a_plan_goes_into_a_file_if_one_is_named(tmp_path, capsys) -> None:
    out = tmp_path / "plan.md"
    assert main(["guide", "--plan", "half-day", "--out", str(out)]) == 0
    assert capsys.readouterr().out == f"{out}: the plan half-day\n"
    assert out.read_text("utf-8") == f"{plans.document(plans.find('half-day'))}\n"
