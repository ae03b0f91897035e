"""Three producers on the same script of broker answers: the engine's own, Java's, librdkafka's.

A scripted broker answers as the script says, and notes every batch as it arrives: epoch, sequence,
values.  The engine's producer must show exactly what Kafka's own shows, batch by batch and
verdict by verdict.  librdkafka is another implementation, and differs where `DIFFERS` says;
there its outcome must be the declared one, so that a stale declaration is noticed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from kit.probes.java_client import JavaProgram
from tests.conformance.producer_scripts import (
    SCRIPTS,
    Outcome,
    broker_for,
    java_line,
    outcome,
    run_librdkafka,
    run_ours,
)
from tests.real_clusters import require_local_kafka

DIFFERS: dict[str, tuple[str, Outcome]] = {
    "the first of three fails": (
        'librdkafka drains what is under way and begins a new epoch (its "epoch bump and drain"), '
        "where the Java client sends the same numbers again, one batch at a time",
        Outcome(
            (
                "A: epoch 0, sequence 0 -> NOT_ENOUGH_REPLICAS",
                "B: epoch 0, sequence 1 -> OUT_OF_ORDER_SEQUENCE_NUMBER",
                "C: epoch 0, sequence 2 -> OUT_OF_ORDER_SEQUENCE_NUMBER",
                "A: epoch 1, sequence 0 -> ok",
                "B: epoch 1, sequence 1 -> ok",
                "C: epoch 1, sequence 2 -> ok",
            ),
            ("A", "B", "C"),
            ("A acknowledged 0", "B acknowledged 1", "C acknowledged 2"),
        ),
    ),
    "the first of three fails, one in flight": (
        "librdkafka sends the next message while the failed one rests, so one in flight does not "
        "keep the order; the Java client holds the partition back",
        Outcome(
            (
                "A: plain -> NOT_ENOUGH_REPLICAS",
                "B: plain -> ok",
                "A: plain -> ok",
                "C: plain -> ok",
            ),
            ("B", "A", "C"),
            ("A acknowledged 1", "B acknowledged 0", "C acknowledged 2"),
        ),
    ),
    "three under way when the connection ends, without idempotence": (
        "librdkafka puts what was under way back in its order; the Java client puts one batch "
        "after the other at the front of the queue, so that they come out reversed",
        Outcome(
            (
                "A: plain -> hang-up",
                "A: plain -> ok",
                "B: plain -> ok",
                "C: plain -> ok",
            ),
            ("A", "B", "C"),
            ("A acknowledged 0", "B acknowledged 1", "C acknowledged 2"),
        ),
    ),
    "a gap after two": (
        "a gap that nothing explains is fatal for librdkafka's producer; the Java client begins "
        "a new epoch and goes on (KIP-360)",
        Outcome(
            (
                "A: epoch 0, sequence 0 -> ok",
                "B: epoch 0, sequence 1 -> ok",
                "C: epoch 0, sequence 2 -> OUT_OF_ORDER_SEQUENCE_NUMBER",
            ),
            ("A", "B"),
            (
                "A acknowledged 0",
                "B acknowledged 1",
                "C OUT_OF_ORDER_SEQUENCE_NUMBER -1",
                "fatal OUT_OF_ORDER_SEQUENCE_NUMBER",
            ),
        ),
    ),
}
JAVA_ONLY = (
    "given up while under way, and another",
    "the first of three fails twice",
    "one that lingers goes along",
)
"""librdkafka's socket.timeout.ms ends a connection a second later, so how often it tries again
before message.timeout.ms is over is a matter of luck.  After a failure it has all three batches
under way again in a new epoch, so the second step means something else to it.  And it puts one
partition into a request, so that nothing goes along."""


@cache
def ours(name: str) -> Outcome:
    return run_ours(SCRIPTS[name])


@pytest.fixture(scope="module")
def java() -> Iterator[Callable[[str], Outcome]]:
    """Kafka's own producer, in one JVM for all scripts."""
    require_local_kafka()
    with JavaProgram(Path(__file__).with_name("ScriptProducer.java")) as program:

        def play(name: str) -> Outcome:
            broker = broker_for(SCRIPTS[name])
            (line,) = program.ask(java_line(SCRIPTS[name], broker.port))
            broker.close()
            return outcome(broker, line.split(","))

        yield play


@pytest.mark.real
@pytest.mark.parametrize("name", SCRIPTS)
def test_ours_does_what_kafkas_own_producer_does(name: str, java: Callable[[str], Outcome]) -> None:
    assert ours(name) == java(name)


@pytest.mark.parametrize("name", [name for name in SCRIPTS if name not in JAVA_ONLY])
def test_librdkafka_does_the_same_or_differs_as_declared(name: str) -> None:
    _, expected = DIFFERS.get(name, ("", ours(name)))
    assert run_librdkafka(SCRIPTS[name]) == expected


def test_every_declared_difference_is_one() -> None:
    for name, (reason, theirs) in DIFFERS.items():
        assert theirs != ours(name), reason
