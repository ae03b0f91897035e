"""A crash test as an exercise: journals leave the kernel, and the judge names the mistake."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest

from kit.crashes.judging import evidence_of, fresh_records, loop_that
from kit.exercises import plain
from kit.exercises.cluster_log import Context
from kit.exercises.exercise import Verdict
from tests.kit.crashes import loops, wild_loops


def checked(loop: Any, cluster: Any, promise: str = "at least once") -> tuple[Any, Context]:
    """What a check sends, and what its judge knows."""
    inputs = fresh_records(Random("a seed"))
    answer = [evidence_of(loop, cluster)(*arguments) for arguments in inputs]
    return plain.from_json(plain.to_json(answer)), Context(None, inputs)


def judged(loop: Any, cluster: Any, promise: str = "at least once") -> Verdict:
    return loop_that(promise)(*checked(loop, cluster))


def test_a_right_loop_passes(one_engine) -> None:
    verdict = judged(loops.at_least_once, one_engine)
    assert verdict.passed, verdict
    assert "At least once holds" in verdict.message


def test_a_wrong_loop_fails_with_its_mistake_and_a_counter_example(one_engine) -> None:
    verdict = judged(loops.swallowed_exception, one_engine)
    assert not verdict.passed
    assert verdict.message.startswith("Swallowed exception. Processing record 5 failed")
    assert verdict.expected == "at least once, without a mistake"
    assert verdict.seen == "loses and repeats: swallowed exception"
    assert "lost" in verdict.counter_example


@pytest.mark.full
def test_the_promise_is_the_exercises(one_engine) -> None:
    answer, context = checked(loops.at_most_once, one_engine)
    assert loop_that("at most once")(answer, context).passed
    assert "Commit before processing" in loop_that()(answer, context).message


def test_the_stub_is_named_first(one_engine) -> None:
    assert "stub is still there" in judged(wild_loops.stub, one_engine).message


def test_forged_evidence_is_refused(one_engine) -> None:
    answer, context = checked(loops.at_least_once, one_engine)
    judge = loop_that()
    elsewhere = Context(None, fresh_records(Random("another seed")))
    assert not judge(answer, elsewhere).passed
    few = json.loads(json.dumps(answer))
    few[0]["trials"] = few[0]["trials"][:2]
    assert "not that of a whole crash test" in judge(few, context).message
    for nothing in (None, [], [{"raised": "KeyError: 3"}], [{"trials": 3}], ["at least once"]):
        assert not judge(nothing, context).passed
    assert "KeyError: 3" in judge([{"raised": "KeyError: 3"}], context).message


def test_each_check_has_records_of_its_own() -> None:
    assert fresh_records(Random("1")) != fresh_records(Random("2"))


@pytest.mark.full
@pytest.mark.parametrize("promise", ["at least once", "exactly once"])
def test_an_idempotent_loop_keeps_both(one_engine, promise) -> None:
    assert judged(loops.idempotent, one_engine, promise).passed
