"""A gap in the sequence, met by a producer of today and by one of before KIP-360."""

from __future__ import annotations

from typing import Any

import pytest

from engine.client.producer import Producer
from engine.client.sockets import SocketDriver
from kit.lessons.tape_broker import BROKER, TOPIC, TapeBroker

SETTINGS = {"batch.size": 0, "linger.ms": 0, "retry.backoff.ms": 20, "retry.backoff.max.ms": 40}


def meet(values: str, *steps: list[str], **settings: Any) -> tuple[Producer, TapeBroker]:
    """Sends one value after the other, each when the one before has its verdict."""
    broker = TapeBroker([list(step) for step in steps])
    producer = Producer("gap", (BROKER,), {**SETTINGS, **settings})
    driver = SocketDriver(producer, {BROKER: ("127.0.0.1", broker.port)})
    try:
        for value in values.split():
            driver.send(TOPIC, value.encode(), partition=0)
            assert driver.run(lambda: producer.idle, timeout_s=20)
    finally:
        driver.close()
        broker.close()
    return producer, broker


@pytest.mark.parametrize("error", ["OUT_OF_ORDER_SEQUENCE_NUMBER", "UNKNOWN_PRODUCER_ID"])
def test_since_kip_360_a_gap_begins_a_new_epoch(error: str) -> None:
    producer, broker = meet("A B C", ["ok"], [error])
    assert [each.verdict for each in producer.sends] == ["acknowledged"] * 3
    assert broker.seen[2:] == [
        "B: epoch 1, sequence 0 -> ok",
        "C: epoch 1, sequence 1 -> ok",
    ]


@pytest.mark.parametrize("error", ["OUT_OF_ORDER_SEQUENCE_NUMBER", "UNKNOWN_PRODUCER_ID"])
def test_before_it_a_gap_ended_the_producer(error: str) -> None:
    producer, broker = meet("A B C", ["ok"], [error], **{"sequence.gap": "fatal"})
    assert [each.verdict for each in producer.sends] == ["acknowledged", "refused", "refused"]
    assert len(broker.seen) == 2, "nothing is sent after it"


def test_before_it_what_was_behind_a_refused_batch_moved_up() -> None:
    gap = {"sequence.gap": "fatal"}
    producer, broker = meet("A B", ["MESSAGE_TOO_LARGE"], **gap)
    assert broker.seen[1] == "B: epoch 0, sequence 0 -> ok"
    assert producer.sends[1].verdict == "acknowledged"


def test_an_epoch_at_its_end_asks_for_another_id() -> None:
    broker = TapeBroker([["ok"], ["OUT_OF_ORDER_SEQUENCE_NUMBER"]])
    producer = Producer("gap", (BROKER,), SETTINGS)
    driver = SocketDriver(producer, {BROKER: ("127.0.0.1", broker.port)})
    driver.send(TOPIC, b"A", partition=0)
    driver.run(lambda: producer.idle, timeout_s=20)
    assert producer.identity is not None
    last = (1 << 15) - 1
    producer.identity.identity = (producer.identity.identity[0], last)
    driver.send(TOPIC, b"B", partition=0)
    assert driver.run(lambda: producer.idle, timeout_s=20)
    driver.close()
    broker.close()
    assert broker.ids_given == 2
    assert broker.seen[-1] == "B: new producer, epoch 0, sequence 0 -> ok"
