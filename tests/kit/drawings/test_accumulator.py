"""The accumulator's film and timeline show what the producer has noted, and nothing else."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping
from typing import Any

import pytest

from engine.sim.world.world import World
from kit.drawings.accumulator import AccumulatorFilm, AccumulatorTimeline
from kit.probes.own_producer import OwnProducer

SVG = "{http://www.w3.org/2000/svg}"


def ready(settings: Mapping[str, Any] | None = None, partitions: int = 3) -> OwnProducer:
    world = World(seed=3, rewindable=False)
    assignment = {n: [101 + n % 3] for n in range(partitions)}
    world.create_topic("orders", assignment=assignment)
    world.run(for_s=1)
    return OwnProducer(world, "orders", settings)


def test_a_batch_fills_leaves_and_is_stored() -> None:
    producer = ready({"linger.ms": 5})
    producer.send("A", "B", partition=1)
    producer.cluster.run(for_s=0.002)
    producer.send("C", partition=1)
    producer.wait()
    moments = AccumulatorTimeline(producer).moments
    assert [each.kind for each in moments] == ["start", "record", "record", "sent", "acknowledged"]
    assert [len(each.lots) for each in moments] == [0, 1, 1, 1, 0]
    assert moments[1].sentence == "batch 1 begins in partition 1 with 2 records."
    assert moments[2].sentence == "1 record joins batch 1, which has 3."
    assert "batch 1 (3 records; linger.ms=5 is over)" in moments[3].sentence
    assert moments[-1].stored == {1: 3}
    assert moments[3].ms - moments[1].ms == pytest.approx(
        6, abs=1
    )  # linger.ms, then the connection


def test_memory_is_taken_by_batches_as_the_producer_counts_it() -> None:
    producer = ready({"batch.size": 1_000, "linger.ms": 50}, partitions=2)
    producer.send("small", partition=0)
    producer.send("x" * 3_000, partition=1)
    moment = AccumulatorTimeline(producer).moments[-1]
    accumulator = producer.producer.accumulator
    held = accumulator.settings.buffer_memory - accumulator.free
    assert moment.memory == pytest.approx(held, abs=25)  # the client estimates one size high
    sizes = {lot.partition: lot.size for lot in moment.lots}
    assert sizes == {
        place[1]: queue[0].size for place, queue in accumulator.queues.items() if queue
    }


def test_a_blocked_send_and_its_end_are_shown() -> None:
    producer = ready({"buffer.memory": 2_000, "batch.size": 1_000, "max.block.ms": 100})
    for broker in (101, 102, 103):
        producer.cluster.pause(broker)
    for partition in (0, 1, 2):
        producer.send("x", partition=partition)
    producer.cluster.run(for_s=1)
    moments = AccumulatorTimeline(producer).moments
    assert max(each.blocked for each in moments) == 1
    assert "2,000 of 2,000 bytes" in next(m.sentence for m in moments if m.kind == "blocked")
    assert moments[-1].sentence == "Record 3 is refused: max.block.ms."
    assert moments[-1].blocked == 0


def test_a_lost_answer_puts_the_batch_back() -> None:
    producer = ready({"request.timeout.ms": 500})
    producer.cluster.drop(101, "app", api="Produce")
    producer.send("A", partition=0)
    producer.wait()
    kinds = [each.kind for each in AccumulatorTimeline(producer).moments]
    assert kinds.count("sent") == 2
    assert "retry" in kinds
    again = [m.sentence for m in AccumulatorTimeline(producer).moments if m.kind == "sent"][1]
    assert "attempt 2" in again


def test_requests_are_kept_apart_and_count_their_batches() -> None:
    producer = ready({"linger.ms": 20}, partitions=6)
    for partition in range(6):
        producer.send("A", partition=partition)
    producer.wait()
    sent = [m for m in AccumulatorTimeline(producer).moments if m.kind == "sent"]
    assert len(sent) == producer.requests == 3
    assert all(len([lot for lot in m.lots if lot.request]) >= 2 for m in sent)


def test_the_picture_names_every_batch_in_its_text() -> None:
    producer = ready({"partitioner.class": "round-robin"})
    producer.send(*"ABCDEF")
    producer.wait()
    timeline = AccumulatorTimeline(producer, "Six records")
    root = ElementTree.fromstring(timeline.svg())
    words = [each.text for each in root.iter(f"{SVG}text")]
    assert [f"partition {n}" in words for n in range(3)] == [True] * 3
    assert words.count("2") >= 3
    assert timeline.text.count("2 records, waits") == 3
    assert (root.get("aria-label") or "").split() == timeline.text.split()


def test_a_film_is_plain_data_and_steps_without_a_browser() -> None:
    producer = ready()
    producer.send("A", partition=2)
    producer.wait()
    film = AccumulatorFilm(producer)
    assert json.loads(json.dumps(film.film)) == film.film
    assert len(film) == 4
    film.step(-1)
    assert film.position == 0
    film.step(2)
    assert "in flight batch 1 (1)" in film.text
    film.step(9)
    assert film.position == 3
    assert "partition 2: waits –; in flight –; stored 1" in film.text
    static = film._repr_mimebundle_()[0]
    assert "image/svg+xml" in static
