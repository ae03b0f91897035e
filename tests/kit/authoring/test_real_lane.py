"""The tests' real lane: the main notebook, what changed, and a third of the rest in turn."""

from __future__ import annotations

from pathlib import Path

from kit.authoring import real_lane
from kit.authoring.real_lane import chosen
from kit.course import group_of, source_files

SOURCES = [Path(f"lessons/nb{n:02}/source/{n:02}_lesson.py") for n in range(10)]
SOURCES.append(Path("labs/L1_lab/source/L1_lab.py"))


def numbers(found: set[Path]) -> set[str]:
    return {group_of(source) for source in found}


def test_the_main_notebook_and_what_changed_always_take_part() -> None:
    for turn in range(3):
        changed = {SOURCES[3], Path("lessons/nb04/scenes.py"), Path("tests/lessons/nb05/test.py")}
        assert {"06", "03", "04"} <= numbers(chosen(SOURCES, changed, turn))


def test_three_turns_take_in_every_notebook_and_none_of_the_others_twice() -> None:
    turns = [numbers(chosen(SOURCES, (), turn)) - {"06"} for turn in range(3)]
    assert sorted(name for turn in turns for name in turn) == [
        "00", "01", "02", "03", "04", "05", "07", "08", "09", "L1",
    ]  # fmt: skip
    assert all(3 <= len(turn) <= 4 for turn in turns)


def test_all_can_be_asked_for(monkeypatch) -> None:
    monkeypatch.setenv(real_lane.VARIABLE, "all")
    assert real_lane.chosen_now(source_files()) == set(source_files())


def test_without_git_the_main_notebook_still_runs(monkeypatch) -> None:
    monkeypatch.delenv(real_lane.VARIABLE, raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    assert real_lane.changed() == set()
    assert {"06"} <= numbers(real_lane.chosen_now(source_files()))
