"""The verdicts of notebook 03 come from what its runs observe."""

from __future__ import annotations

from typing import Any

import pytest

from engine.client.accumulator import Accumulator
from engine.client.partitioners import BuiltIn
from engine.client.producer import Producer
from kit.exercises import settling
from lessons.nb03_partitioning.exercises.predictions import PREDICTIONS
from tests.lessons.verdicts import seen_by, settled

DEFINED = {each.id: each for each in PREDICTIONS}


def test_a_producer_that_deals_records_out_makes_six_batches(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def moves_on(self: BuiltIn, topic: str, size: int, *_: Any) -> None:
        self.stuck_to[topic] = (self.stuck_to.get(topic, 0) + (size > 0)) % 6

    monkeypatch.setattr(BuiltIn, "appended", moves_on)
    assert settled("03-1", seen_by("03", "no-key")) == "6"


def test_a_batch_that_takes_only_what_it_holds_leaves_room_for_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Accumulator, "_need", lambda self, record: 200)
    assert settled("03-4", seen_by("03", "buffer")) == "12"


def test_a_producer_that_counts_compressed_bytes_stores_the_large_record(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The limit of the client is asked before compression; without it the broker decides."""
    from engine.sim.world.world import World
    from kit.probes.own_producer import OwnProducer
    from lessons.nb03_partitioning import payloads

    monkeypatch.setattr(Accumulator, "too_large", lambda self, record: "")
    world = World(seed=3, rewindable=False)
    world.create_topic("texts")
    producer = OwnProducer(world, "texts", {"compression.type": "gzip"})
    producer.send(payloads.text(1_500_000))
    producer.wait()
    assert producer.verdicts == ["acknowledged"]
    assert isinstance(producer.producer, Producer)


OLD = "keys that moved to an old partition"
SEEN: dict[str, list[tuple[dict[str, Any], str]]] = {
    "03-2": [
        ({"orders": 300, "orders with both events in one partition": 300}, "a"),
        ({"orders": 300, "orders with both events in one partition": 150}, "b"),
        ({"orders": 300, "orders with both events in one partition": 0}, "d"),
        ({"orders": 300, "orders with both events in one partition": 220}, ""),
    ],
    "03-3": [
        ({"keys": 400, "keys that moved": 350, OLD: 150}, "a"),
        ({"keys": 400, "keys that moved": 200, OLD: 90}, "c"),
        ({"keys": 400, "keys that moved": 0, OLD: 0}, "d"),
        ({"keys": 400, "keys that moved": 318, OLD: 232}, ""),
    ],
    "03-5": [
        ({"rate, long against short": 0.1, "wait, long against short": 15}, "a"),
        ({"rate, long against short": 4.0, "wait, long against short": 15}, "b"),
        ({"rate, long against short": 1.1, "wait, long against short": 1.0}, "c"),
    ],
    "03-6": [
        ({"bytes of one record": 110, "bytes of one record, none": 200}, "a"),
        ({"bytes of one record": 50, "bytes of one record, none": 200}, "c"),
        ({"bytes of one record": 150, "bytes of one record, none": 200}, "d"),
    ],
    "03-7": [
        ({"refused by": "nothing"}, "b"),
        ({"refused by": "max.message.bytes"}, "c"),
        ({"refused by": "buffer.memory"}, ""),
    ],
}


@pytest.mark.parametrize(
    ("question", "seen", "letter"),
    [(question, *case) for question, cases in SEEN.items() for case in cases],
)
def test_a_changed_scenario_makes_another_choice_right(
    question: str, seen: dict[str, Any], letter: str
) -> None:
    assert settled(question, seen) == letter


BATCHES = {"records": 60, "partitions": 6, "batches": 1, "partitions used": 1}
TAKEN = {"records taken": 4, "partitions": 12, "buffer.memory": 65_536, "batch.size": 16_384,
         "records that would fit by their bytes": 385}  # fmt: skip


@pytest.mark.parametrize(
    ("question", "answer", "seen", "says"),
    [
        ("03-1", "6", BATCHES, "does not deal them out"),
        ("03-1", "60", BATCHES, "travel together"),
        ("03-1", "3", BATCHES, "1 batch left, with 60 records"),
        ("03-2", "a", {"orders": 300, "orders with both events in one partition": 51}, "51 of 300"),
        ("03-3", "c",
         {"keys": 400, "keys that moved": 202, OLD: 0}, "0 of 202 keys"),
        ("03-4", "12", TAKEN, "no memory for a batch in each"),
        ("03-4", "385", TAKEN, "16,384 bytes at once"),
        ("03-4", "5", TAKEN, "4 batches of 16,384"),
        ("03-5", "a",
         {"rate, long against short": 1.1, "wait, long against short": 15.2}, "1.10 times"),
        ("03-6", "c", {"bytes of one record": 214, "bytes of one record, none": 201}, "214 bytes"),
        ("03-7", "b",
         {"refused by": "max.request.size", "bytes in the log": 0}, "before compression"),
    ],
)  # fmt: skip
def test_a_wrong_answer_hears_what_this_run_showed(
    question: str, answer: str, seen: dict[str, Any], says: str
) -> None:
    prediction = DEFINED[question]
    given = settling.answer_of(prediction, answer)
    assert says in settling.settle(prediction, given, {"": seen}).because


def test_every_sentence_can_be_written() -> None:
    """Each name in a sentence is an observation of its run."""
    observed: dict[str, dict[str, Any]] = {
        "03-2": {"orders": 1, "orders with both events in one partition": 1, "partitions": 6},
        "03-3": {"keys": 1, "keys that moved": 1, OLD: 1},
        "03-5": {"rate, long against short": 1.0, "wait, long against short": 1.0},
        "03-6": {"bytes of one record": 1, "bytes of one record, none": 1},
        "03-7": {"refused by": "nothing", "bytes in the log": 0},
    }
    for question, seen in observed.items():
        for sentence in DEFINED[question].because.values():
            words = sentence(seen) if callable(sentence) else sentence.format(**seen)
            assert "{" not in words
