"""A loop from topic to topic: what counts is what a reader with read_committed finds at the end."""

from __future__ import annotations

import re
from random import Random
from typing import Any

import pytest

from kit.clusters.interface import Cluster
from kit.crashes.crash_test import crash_test
from kit.crashes.facts import Mistake
from kit.crashes.judging import evidence_of, fresh_records, loop_that
from kit.crashes.result import CrashResult
from kit.exercises import plain
from kit.exercises.cluster_log import Context
from tests.kit.crashes import writing_loops as loops

TRANSACTIONAL = {"transactional.id": "bank"}


def crashed(loop: Any, cluster: Any, producer: dict[str, Any], **more: Any) -> CrashResult:
    return crash_test(loop, cluster, promise="exactly once", producer=producer, **more)


def line_of(result: CrashResult, word: str) -> list[Any]:
    return [each for each in result.lines if word in each.text]


def test_results_and_offsets_in_one_transaction_count_exactly_once(one_engine) -> None:
    result = crashed(loops.in_transactions, one_engine, TRANSACTIONAL)
    assert result, result.text
    assert "exactly once" in result.headline
    undone = sum(len(each.of("undone")) for each in result.trials)
    assert undone > 0
    assert f"{undone} results are in the log and were not committed" in result.tally
    (frozen,) = [each for each in result.trials if each.trial.situation.name == "freeze"]
    (raised,) = frozen.of("raised", "A1")
    assert "Failed to commit offsets to transaction" in raised.details[1]


@pytest.mark.full
def test_without_a_transaction_a_crash_repeats_or_loses(one_engine) -> None:
    result = crashed(loops.one_by_one, one_engine, {}, situations=())
    assert (result.verdict, result.lost) == ("at least once", False)
    assert line_of(result, "produce(")[0].repeated == 1
    assert "in one transaction" in result.mistakes[0].remedy
    result = crashed(loops.offsets_first, one_engine, {}, situations=())
    assert (result.verdict, result.repeated) == ("at most once", False)
    assert line_of(result, "consumer.commit")[0].lost == 1


@pytest.mark.full
def test_a_standstill_names_the_offset_that_the_other_began_with(one_engine) -> None:
    frozen = _mistake_of_a_standstill(one_engine)
    ((repeated, committed),) = re.findall(r"record (\d+); .* offset was (\d+)", frozen.sentence)
    assert repeated == committed, frozen.sentence


def _mistake_of_a_standstill(cluster: Cluster, tries: int = 3) -> Mistake:
    """The worst trial may be a crash: on a busy machine, a standstill sometimes repeats nothing."""
    for _ in range(tries):
        result = crashed(loops.one_by_one, cluster, {}, situations=("freeze",))
        (mistake,) = result.mistakes
        if mistake.evidence.trial.situation.name == "freeze":
            return mistake
    raise AssertionError("no standstill repeated a record")


@pytest.mark.full
def test_offsets_outside_the_transaction_repeat_a_whole_one(one_engine) -> None:
    result = crashed(loops.offsets_apart, one_engine, TRANSACTIONAL, situations=())
    assert result.verdict == "at least once"
    assert line_of(result, "commit_transaction")[0].repeated == 4
    assert "written before the crash" in result.text


@pytest.mark.full
def test_one_crash_for_each_line_finds_the_same_mistake(one_engine) -> None:
    result = crashed(loops.offsets_apart, one_engine, TRANSACTIONAL, situations=(), per_line=1)
    assert result.verdict == "at least once"
    assert line_of(result, "commit_transaction")[0].repeated == 4
    assert {each.crashes for each in result.lines} <= {0, 1}


def test_a_result_that_names_no_input_is_refused(one_engine) -> None:
    result = crashed(loops.nameless, one_engine, {}, situations=())
    assert "Each result must have its record's value" in result.problem


def test_the_topics_of_the_results_are_deleted(one_engine) -> None:
    before = set(one_engine.snapshot()["topics"])
    crashed(loops.nameless, one_engine, {}, situations=())
    assert set(one_engine.snapshot()["topics"]) <= before


@pytest.mark.full
@pytest.mark.real
def test_kafka_gives_the_same_verdict(local_cluster) -> None:
    result = crashed(loops.in_transactions, local_cluster, TRANSACTIONAL)
    assert result, result.text


@pytest.mark.full
@pytest.mark.parametrize(
    ("loop", "passes"), [(loops.in_transactions, True), (loops.offsets_apart, False)]
)
def test_it_is_an_exercise_too(one_engine, loop, passes) -> None:
    inputs = fresh_records(Random("a seed"))
    answer = [evidence_of(loop, one_engine, producer=TRANSACTIONAL)(*each) for each in inputs]
    sent = plain.from_json(plain.to_json(answer))
    verdict = loop_that("exactly once", writes=True)(sent, Context(None, inputs))
    assert verdict.passed is passes, verdict
