"""Consumer loops, crashed after each line on the engine: verdicts, mistakes, explanations."""

from __future__ import annotations

import re

import pytest

from kit.crashes.crash_test import crash_test
from kit.crashes.result import CrashResult
from tests.kit.crashes import loops

AUTO = {"enable.auto.commit": True}
STORED = AUTO | {"enable.auto.offset.store": False}

RIGHT = [
    (loops.at_least_once, {}, "at least once", "at least once"),
    (loops.batches, {}, "at least once", "at least once"),
    (loops.stored_offsets, STORED, "at least once", "at least once"),
    (loops.at_most_once, {}, "at most once", "at most once"),
    (loops.idempotent, {}, "exactly once", "exactly once"),
]
WRONG = [
    (loops.commit_before_processing, {}, "at most once", "commit before processing",
     r"Line 7 committed offset (\d+) when (\w+) records? had been processed\. The crash after "
     r"line \d+ lost records? [\d–]+: the next application starts at \1\."),
    (loops.auto_commit_with_async_work, AUTO, None, "auto-commit with async work",
     r"The client had committed offset \d+ by itself when \w+ records? had been processed\. "
     r"The crash after line \d+ lost records? .*\. Another thread still had them to do\."),
    (loops.commit_ahead_of_a_queue, {}, None, "commit ahead of async work",
     r"Line 15 committed offset \d+ when"),
    (loops.auto_commit, AUTO, "loses and repeats", "auto-commit of a record in hand",
     r"The client had committed offset (\d+) by itself when \w+ records? .* lost record \d+\."),
    (loops.swallowed_exception, {}, "loses and repeats", "swallowed exception",
     r"Processing record 5 failed, .* went on with 6 records, and the committed offset rose to "
     r"12\. Record 5 is never processed\."),
    (loops.slow_poll, {}, "at least once", "slow poll",
     r"Application A took [2-9]\.\d s for 12 records from one poll, and max\.poll\.interval\.ms "
     r"allows 2 s\. .* records 0–11 were processed twice\."),
    (loops.seek_without_pause, {}, "at least once", "seek without pause",
     r"Record 5 failed, and line 11 went back to it\. But records 6–7 had been read before the "
     r"seek, .* 2 records were processed twice, and record 5 came too late\."),
    (loops.commit_in_on_assign, {}, "at least once", "commit in the wrong listener",
     r"Partition \d left application A when it was processed up to record \d\. The loop commits "
     r"in on_assign, after the partition has gone: B started at offset 0, and records? [\d–]+ "
     r"of partition \d \w+ processed twice\."),
    (loops.commit_in_on_lost, {}, "at least once", "commit in the wrong listener",
     r"The loop commits in on_lost, after the partition has gone"),
    (loops.no_commit_when_a_partition_leaves, {}, "at least once",
     "no commit when a partition leaves", r"only offset 0 was committed"),
    (loops.one_offset_short, {}, "at least once", "one offset short",
     r"When record (\d+) was processed, line 9 committed offset \1: its own\. .* record \1 is "
     r"processed again"),
    (loops.zombie, {}, "at least once", "zombie after eviction",
     r"while it processed record 3, .* Then A went on with record 4, though its commit of "
     r"offset 4 had been refused \(\w+\): 2 records were processed twice\."),
    (loops.shared_key, {}, "at most once", "one key for several records",
     r"Another record had brought the same idempotency key: records 1–11 had no effect"),
    (loops.never_commits, {}, "at least once", "no commit", r"All 12 records were processed"),
]  # fmt: skip


LONG = ("batches", "stored_offsets", "commit_ahead_of_a_queue", "auto_commit", "commit_in_on_lost",
        "no_commit_when_a_partition_leaves", "one_offset_short", "shared_key", "idempotent",
        "auto_commit_with_async_work", "seek_without_pause", "swallowed_exception")  # fmt: skip
"""Neighbors of other cases: they run in `make test-all`."""


def each_of(cases: list) -> list:
    names = [case[0].__name__ for case in cases]
    return [pytest.param(*case, id=name, marks=[pytest.mark.full] if name in LONG else [])
            for name, case in zip(names, cases, strict=True)]  # fmt: skip


@pytest.mark.parametrize(("loop", "settings", "promise", "verdict"), each_of(RIGHT))
def test_a_loop_that_keeps_its_promise(one_engine, loop, settings, promise, verdict) -> None:
    result = crash_test(loop, one_engine, settings=settings, promise=promise)
    assert (result.verdict, [each.name for each in result.mistakes]) == (verdict, []), result.text
    assert result
    assert len([each for each in result.trials if each.crash is not None]) >= 14


@pytest.mark.parametrize(("loop", "settings", "verdict", "mistake", "says"), each_of(WRONG))
def test_a_mistake_is_named_and_explained(
    one_engine, loop, settings, verdict, mistake, says
) -> None:
    result = crash_test(loop, one_engine, settings=settings)
    assert result.mistakes, result.text
    first = result.mistakes[0]
    assert first.name == mistake, result.text
    assert re.search(says, first.sentence), first.sentence
    assert verdict in (None, result.verdict)
    assert not result
    assert first.evidence.lost or first.evidence.repeated
    assert_drawn(result)


def assert_drawn(result: CrashResult) -> None:
    """The picture and the text show the loop, the mistake and the crash point."""
    first, page = result.mistakes[0], result._repr_html_()
    for shown in (result.text, page):
        assert first.name in shown
    assert "lost" in page if first.evidence.lost else "2×" in page or "3×" in page
    if first.evidence.crash is not None:
        number = result.source.number(first.evidence.line)
        assert f"A crash after line {number}, and a restart" in result.text
        line = result.lines[number - 1]
        assert (line.lost, line.repeated) >= (len(first.evidence.lost), 0)


def test_a_longer_poll_interval_is_a_remedy_for_a_slow_poll(one_engine) -> None:
    more = {"max.poll.interval.ms": 20_000}
    result = crash_test(loops.slow_poll, one_engine, settings=more, situations=("slow",))
    assert result, result.text


def test_every_mistake_has_a_remedy_of_its_own() -> None:
    assert len({case[3] for case in WRONG}) >= 8


@pytest.mark.full
def test_the_promise_decides_whether_an_order_is_a_mistake(one_engine) -> None:
    """The same loop is right where records may be lost, and wrong where they may not."""
    loop = loops.at_most_once
    assert crash_test(loop, one_engine, promise="at most once", situations=())
    wrong = crash_test(loop, one_engine, promise="at least once", situations=())
    assert [each.name for each in wrong.mistakes] == ["commit before processing"]
    again = crash_test(loops.at_least_once, one_engine, promise="at most once", situations=())
    assert [each.name for each in again.mistakes] == ["not at most once"]
    assert "repeated record" in again.mistakes[0].sentence
