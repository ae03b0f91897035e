"""When a query stands at its point, and what a reader's rows count for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kit.course import PROJECT
from labs.crash import driver, results
from labs.crash.debugger import Stop
from labs.crash.payments import Count, Feed, count
from labs.crash.points import (
    AFTER_COMMITS,
    AFTER_SINK,
    EXECUTOR,
    IN_SINK,
    WRITES,
    Point,
    Watch,
)
from labs.crash.results import Results, read

RUN, *_, RESULT, _, REPORT = IN_SINK.methods


def stops_at(watch: Watch, point: Point) -> int:
    """At which call of the point's method the query stays."""
    assert point.method
    calls = 0
    while not watch.stands(0):
        calls += 1
        stayed = watch.stay(Stop(point.method, "stream execution thread", 1))
        assert stayed == bool(watch.stands(0))
    return calls


@pytest.mark.parametrize(("point", "batch", "call"), [(AFTER_SINK, 0, 1), (AFTER_SINK, 1, 2)])
def test_a_query_stands_at_the_call_of_its_micro_batch(point, batch, call) -> None:
    assert stops_at(Watch(point, batch), point) == call


def test_after_commits_is_the_call_of_the_next_micro_batch() -> None:
    assert stops_at(Watch(AFTER_COMMITS, 1), AFTER_COMMITS) == 3


def test_each_query_is_counted_by_itself() -> None:
    watch = Watch(AFTER_SINK, 1)
    assert stops_at(watch, AFTER_SINK) == 2
    watch.begin()
    assert stops_at(watch, AFTER_SINK) == 2


def task(index: int) -> str:
    return f"Executor task launch worker for task {index}.0 in stage 3.0 (TID {70 + index})"


def in_tasks(watch: Watch) -> list[bool]:
    """Four tasks begin to write and report; who stays?  A report that a task runs comes first."""
    stay = []
    for index in (2, 0, 3, 1):
        watch.stay(Stop(REPORT, task(index), 1))
        held = watch.stay(Stop(WRITES[0], task(index), 1))
        stay.append(held or watch.stay(Stop(REPORT, task(index), 1)))
    return stay


def test_in_the_sink_half_of_the_tasks_are_done() -> None:
    watch = Watch(IN_SINK, 0)
    watch.stay(Stop(RUN, "stream execution thread", 1))
    assert in_tasks(watch) == [True, False, True, False]
    assert watch.stands(0).startswith("2 of 4 tasks at FileFormatWriter.executeTask")


def test_on_an_executor_all_tasks_stand_when_they_have_written() -> None:
    watch = Watch(EXECUTOR, 0)
    watch.stay(Stop(RUN, "stream execution thread", 1))
    assert in_tasks(watch) == [True] * 4
    assert watch.stands(0).startswith("4 of 4 tasks at CoarseGrainedExecutorBackend")


def test_a_sink_that_writes_in_the_driver_has_its_middle_there() -> None:
    watch = Watch(IN_SINK, 0)
    watch.begin(tasks_write=False)
    watch.stay(Stop(RUN, "stream execution thread", 1))
    assert not any(watch.stay(Stop(RESULT, task(index), 1)) for index in range(4))
    watch.stood_at("half of the records sent")
    assert watch.stands(0) == "half of the records sent"


def test_tasks_of_another_micro_batch_go_on() -> None:
    watch = Watch(IN_SINK, 1)
    watch.stay(Stop(RUN, "stream execution thread", 1))
    assert in_tasks(watch) == [False] * 4
    assert not watch.stands(0)


@pytest.mark.parametrize(
    ("found", "text", "rows"),
    [("abc", "exact", 3), ("ab", "1 lost", 2), ("abcc", "1 repeated", 4),
     ("aab", "1 lost, 1 repeated", 3), ("abcxx", "2 foreign", 5)],
)  # fmt: skip
def test_rows_are_compared_with_the_truth(found, text, rows) -> None:
    counted = count(found, "abc")
    assert (str(counted), counted.rows) == (text, rows)


def test_the_feed_has_each_event_once_and_a_seed_decides() -> None:
    feed = Feed()
    assert len(set(feed.event_ids())) == 120
    values = [record.value for record in feed.records()]
    assert values == [record.value for record in Feed().records()]
    assert values != [record.value for record in Feed(seed=8).records()]


def test_a_driver_that_would_kill_its_neighbors_refuses(capsys, monkeypatch) -> None:
    monkeypatch.setattr("os.getpgrp", lambda: 1)
    there = ["--bootstrap", "127.0.0.1:1", "--folder", "unused", "--point", "after-sink"]
    assert driver.main(there) == 1
    assert "a session of its own" in capsys.readouterr().err


def test_a_written_table_is_read_again_and_names_the_points(tmp_path: Path) -> None:
    exact, twice, short = Count(120, 0, 0), Count(120, 0, 40), Count(120, 40, 0)
    of_points = {"before-offsets": exact, "in-sink": twice, "after-sink": short}
    whole = Results(7, 1, {"Kafka sink": of_points})
    (tmp_path / "table.json").write_text(whole.text())
    found = read(tmp_path / "table.json")
    assert found == whole
    assert found.repeats("Kafka sink") == ["in the sink"]
    assert found.losses("Kafka sink") == ["after the sink"]


def test_the_table_of_the_lab_was_made_by_this_code() -> None:
    assert json.loads(results.WRITTEN.read_text()).get("code") == results.code(), (
        "The crash lab has changed since its table was made; make it again: "
        f"python -m labs.crash.table --write {results.WRITTEN.relative_to(PROJECT)}"
    )


def test_better_english_needs_no_new_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    maker = tmp_path / "maker.py"
    monkeypatch.setattr(results, "_MAKERS", [maker])

    def digest(source: str) -> str:
        maker.write_text(source)
        return results.code()

    first = digest('"""Kills."""\n\n# All tasks wait.\nsignal = "KILL"\n')
    assert digest('"""Kills the\ndriver."""\nsignal = "KILL"\n') == first
    assert digest('"""Kills."""\n\nsignal = "TERM"\n') != first
