"""Divergence and truncation on demand: on the engine, on a real Kafka, and the two are equal."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from kit.both import comparison
from kit.clusters import engine
from kit.clusters.interface import Cluster
from kit.lab import BRISK
from lessons.nb07_reconciliation import scenes

A_AND_B = ["0 A (epoch 0)", "1 B (epoch 0)"]
ONE_HISTORY = {
    "log": [*A_AND_B, "2 Y1 (epoch 1)"],
    "leader-epoch-checkpoint": ["0 0", "1 2"],
    "replication-offset-checkpoint": 3,
}


@pytest.fixture(scope="module")
def brisk() -> Iterator[Cluster]:
    with engine.start(settings=BRISK) as cluster:
        yield cluster


def check(seen: scenes.Seen) -> None:
    """What either side must have seen."""
    window = seen["102 leads, 103 has not fetched yet"]
    assert window["leader epoch"] == 1
    assert window["Metadata of 103"] == "102 leads epoch 1"
    assert window["ListOffsets latest"] == "OFFSET_NOT_AVAILABLE"
    assert window["Fetch from 1"] == "no records, HW 1"
    assert seen["103 has fetched, Y1 is written"]["Fetch from 1"] == "B, HW 2"
    assert seen["103 has fetched, Y1 is written"]["Y1, acks=all"] == "acknowledged"
    dead, back = seen["on disk, 101 dead, Y1 not written yet"], seen["on disk, 101 back"]
    assert dead["101"]["log"] == [*A_AND_B, "2 X1 (epoch 0)", "3 X2 (epoch 0)", "4 X3 (epoch 0)"]
    assert dead["101"]["leader-epoch-checkpoint"] == ["0 0"]
    assert dead["102"]["log"] == dead["103"]["log"] == A_AND_B
    assert dead["102"]["leader-epoch-checkpoint"] == ["0 0", "1 2"]
    assert back == {"each of the three": ONE_HISTORY}
    assert seen["102's fetch answer to 101"] == "epoch 0 ends at 2"
    assert seen["101 cut its log at"] == 2
    assert seen["a consumer reads"] == ["A", "B", "Y1"]


def test_the_engine_diverges_and_reconciles(brisk: Cluster) -> None:
    check(comparison.on(scenes.diverge_and_reconcile, brisk))


def test_a_moment_that_was_missed_is_tried_again(
    brisk: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The leader of the window takes 103 out of the ISR, and knows all at once what it lacked."""
    ask, delays = scenes.latest_offset, [2.0]

    def late(cluster: Cluster, broker: int) -> str:
        if delays:
            time.sleep(delays.pop())
        return ask(cluster, broker)

    monkeypatch.setattr(scenes, "latest_offset", late)
    check(comparison.on(scenes.diverge_and_reconcile, brisk))


@pytest.mark.real
def test_a_real_kafka_does_the_same_and_every_observation_is_equal(local_cluster: Cluster) -> None:
    with engine.start() as ours:
        outcome = comparison.run(scenes.diverge_and_reconcile, ours, local_cluster, "")
    assert outcome.complete
    assert outcome.differences == []
    assert outcome.real is not None
    check(outcome.real)
