"""Where the cluster fails, nothing is counted: no verdict, no hint, no attempt."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
from confluent_kafka import KafkaError, KafkaException

from kit import lab
from kit.clusters.interface import ClusterEnded, ClusterError, WaitTimeout
from kit.exercises import catalogue, progress_file
from kit.exercises.exercise import Exercise


@pytest.fixture
def own_progress(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("KAFKALAB_PROGRESS", str(tmp_path / "progress.json"))


def an_exercise() -> str:
    """One whose answer is a function."""
    return next(
        each.id for each in catalogue.everything() if isinstance(each, Exercise) and each.inputs
    )


@pytest.mark.parametrize(
    "failure",
    [
        ClusterError("Broker 101 does not answer: start it."),
        ClusterEnded("This engine has ended: start another with lab.engine()."),
        WaitTimeout("It did not come to hold within 60 s."),
        KafkaException(KafkaError(KafkaError._TIMED_OUT, "Timed out")),
        KafkaException(KafkaError(KafkaError._ALL_BROKERS_DOWN, "3/3 brokers are down")),
    ],
)
def test_a_failure_of_the_cluster_is_no_answer(failure: Exception, own_progress) -> None:
    def answer(*_: Any) -> None:
        raise failure

    card = lab.check(an_exercise(), answer)
    assert not card.passed
    assert str(failure) in repr(card)
    assert "nothing was counted" in repr(card)
    assert "hint" not in repr(card).lower()
    assert progress_file.read() == {}


@pytest.mark.parametrize(
    "error",
    [
        ValueError("no such partition"),
        KafkaException(KafkaError(KafkaError.TOPIC_ALREADY_EXISTS, "It is there already.")),
    ],
)
def test_an_error_of_the_answer_itself_is_a_wrong_answer(error: Exception, own_progress) -> None:
    def answer(*_: Any) -> None:
        raise error

    exercise = an_exercise()
    assert lab.check(exercise, answer).passed is False
    assert progress_file.read()[exercise].attempts == 1


class Spiteful(dict):
    def items(self) -> Any:
        raise RuntimeError("not today")


class Point(NamedTuple):
    x: int


@pytest.mark.parametrize("answer", [{"acks": 10**5_000}, [Point], Spiteful(a=1), [int, Exercise]])
def test_an_answer_that_cannot_be_read_gets_a_sentence(answer: Any, own_progress) -> None:
    exercise = an_exercise()
    for card in (lab.check(exercise, answer), lab.check(exercise, lambda *_: answer)):
        assert not card.passed
        assert "Your answer" in repr(card)
    assert progress_file.read() == {}
