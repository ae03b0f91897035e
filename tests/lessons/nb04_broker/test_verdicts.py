"""The predictions of notebook 04 are settled by what a run has seen, and by nothing else."""

from __future__ import annotations

import pytest

from engine.replication.partition import Partition
from kit.exercises import catalogue, settling
from kit.exercises.exercise import Prediction
from kit.probes import one_partition
from tests.lessons.verdicts import seen_by, settled

PREDICTIONS = [found for found in catalogue.of_group("04") if isinstance(found, Prediction)]


def test_the_slowest_member_of_the_isr_decides() -> None:
    seen = seen_by("04", "produce-timeline")
    assert settled("04-1", seen) == "c"
    assert settled("04-1", seen | {"delay": 200}) == "", "the choices are for 40 ms"
    assert seen["102 has it after"] < 5 < 40 < seen["103 has it after"] < seen["answered after"]


def test_a_broker_that_counts_min_insync_replicas_settles_it_otherwise(monkeypatch) -> None:
    """The mutant commits as soon as min.insync.replicas brokers have the record."""

    def early(self: Partition, now: int) -> bool:
        ends = sorted((f.log_end_offset for f in self.followers.values()), reverse=True)
        committed = ends[self.min_in_sync_replicas - 2] if ends else self.log.log_end_offset
        if not self.is_leader or committed <= self.high_watermark:
            return False
        self.high_watermark = committed
        self._trace("advance_high_watermark", "high_watermark", to=committed)
        return True

    monkeypatch.setattr(Partition, "advance_high_watermark", early)
    # The simulator's own invariants would stop the run.
    monkeypatch.setitem(one_partition.cluster.__kwdefaults__, "checked", False)
    assert settled("04-1", seen_by("04", "produce-timeline")) == "a"


def test_a_few_slow_requests_delay_the_quick_ones() -> None:
    seen = seen_by("04", "idle-and-waiting")
    assert settled("04-15", seen) == "d"
    assert settled("04-15", {**seen, "wait": seen["alone"]}) == "a"


@pytest.mark.parametrize(
    ("cell", "exercise_id", "answer"),
    [
        ("stand-in", "04-12", "d"),
        ("one-connection", "04-14", "1 2 3"),
        ("three-readers", "04-3", "c"),
        ("stages", "04-16", "a"),
        ("over-its-rate", "04-2", "b"),
    ],
)
def test_what_the_served_engine_shows_settles_it(monkeypatch, cell, exercise_id, answer) -> None:
    monkeypatch.setenv("KAFKALAB_REAL", "off")
    seen = seen_by("04", cell)
    assert settled(exercise_id, seen) == answer
    prediction = catalogue.find(exercise_id)
    for letter in prediction.because:
        because = settling._because(prediction, letter, seen)
        assert because
        assert "{" not in because


def test_other_answers_of_a_broker_settle_otherwise() -> None:
    one = {"the fetches with a replica id": "NONE", "then the write is acknowledged": False,
           "and a consumer sees the record": False}  # fmt: skip
    assert settled("04-12", one) == "a"
    assert settled("04-12", one | {"the fetches with a replica id": "UNKNOWN"}) == "c"
    stage = "longest, slow reader"
    assert settled("04-16", {stage: "LocalTimeMs"}) == "d"
    rates = ("fetches without writes", "fetches from a stream", "fetches with fetch-min-bytes")
    brings = "one with fetch-min-bytes brings"
    for measured, records, choice in (
        ((2.0, 49.0, 5.0), 10, ""),
        ((0.0, 49.0, 2.0), 25, "a"),
        ((2.0, 49.0, 1.0), 49, "b"),
        ((1.9, 22.0, 1.7), 15, "c"),
        ((2.0, 2.0, 2.0), 25, ""),
        ((900.0, 49.0, 2.0), 25, "d"),
    ):
        seen = dict(zip(rates, measured, strict=True)) | {brings: records}
        assert settled("04-3", seen) == choice
    late = {"its error": "NONE", "answered before half of that time": False}
    assert settled("04-2", late) == "c"
