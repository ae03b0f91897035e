"""Where the cluster fails, nothing is counted: no verdict, no hint, no attempt."""

from __future__ import annotations

from typing import Any

import pytest

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
    ],
)
def test_a_failure_of_the_cluster_is_no_answer(failure: ClusterError, own_progress) -> None:
    def answer(*_: Any) -> None:
        raise failure

    card = lab.check(an_exercise(), answer)
    assert not card.passed
    assert str(failure) in repr(card)
    assert "nothing was counted" in repr(card)
    assert "hint" not in repr(card).lower()
    assert progress_file.read() == {}


def test_an_error_of_the_answer_itself_is_a_wrong_answer(own_progress) -> None:
    def answer(*_: Any) -> None:
        raise ValueError("no such partition")

    exercise = an_exercise()
    assert lab.check(exercise, answer).passed is False
    assert progress_file.read()[exercise].attempts == 1
