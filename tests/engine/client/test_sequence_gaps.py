"""A gap in the sequence, met by a producer of today and by one of before KIP-360."""

from __future__ import annotations

from typing import Any

import pytest

from engine.client.idempotence import Idempotence
from engine.client.producer import Producer
from engine.client.producer_batch import ProducerBatch
from engine.client.sockets import SocketDriver
from engine.events import Outbox
from engine.wire.errors import Errors
from kit.probes.scripted_broker import BROKER, TOPIC, ScriptedBroker

SETTINGS = {"batch.size": 0, "linger.ms": 0, "retry.backoff.ms": 20, "retry.backoff.max.ms": 40}


BEFORE = {"sequence.gap": "reset"}


def meet(values: str, *steps: list[str], **settings: Any) -> tuple[Producer, ScriptedBroker]:
    """Sends one word after the other, each when the one before has its verdict; the letters of
    a word are records of their own, under way at once."""
    broker = ScriptedBroker([list(step) for step in steps])
    producer = Producer("gap", (BROKER,), {**SETTINGS, **settings})
    driver = SocketDriver(producer, {BROKER: ("127.0.0.1", broker.port)})
    try:
        for value in values.split():
            for letter in value:
                driver.send(TOPIC, letter.encode(), partition=0)
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
def test_before_it_a_gap_failed_the_record_and_the_next_went_under_a_new_id(error: str) -> None:
    producer, broker = meet("A B C", ["ok"], [error], **BEFORE)
    assert [each.verdict for each in producer.sends] == ["acknowledged", "refused", "acknowledged"]
    assert broker.seen[2:] == ["C: new producer, epoch 0, sequence 0 -> ok"]


def test_before_it_what_was_under_way_behind_a_gap_was_dropped_with_the_id() -> None:
    gap = "OUT_OF_ORDER_SEQUENCE_NUMBER"
    producer, broker = meet("A BCD E", ["ok"], [gap, gap, gap], **BEFORE)
    assert [each.verdict for each in producer.sends] == [
        "acknowledged", "refused", "refused", "refused", "acknowledged",
    ]  # fmt: skip
    assert broker.seen[4:] == ["E: new producer, epoch 0, sequence 0 -> ok"]


@pytest.mark.parametrize(("log_start", "tries_again", "numbered"), [(3, True, 0), (2, False, 3)])
def test_before_it_the_numbers_began_again_when_the_leader_had_deleted_the_records(
    log_start: int, tries_again: bool, numbered: int
) -> None:
    """With the records goes the leader's memory, and nothing can be missing."""
    identity = Idempotence(Outbox(), resets=True)
    identity.became(7, 0)
    numbers = identity.numbers((TOPIC, 0))
    numbers.restart(identity.identity)
    numbers.next_sequence, numbers.last_acknowledged, numbers.last_acknowledged_offset = 3, 2, 2
    batch = ProducerBatch(1, (TOPIC, 0), 0, 100, 0)
    identity.number(batch)
    assert identity.may_retry(batch, Errors.UNKNOWN_PRODUCER_ID, log_start) is tries_again
    assert batch.base_sequence == numbered


def test_before_it_what_was_behind_a_refused_batch_moved_up() -> None:
    producer, broker = meet("A B", ["MESSAGE_TOO_LARGE"], **BEFORE)
    assert broker.seen[1] == "B: epoch 0, sequence 0 -> ok"
    assert producer.sends[1].verdict == "acknowledged"


def test_an_epoch_at_its_end_asks_for_another_id() -> None:
    broker = ScriptedBroker([["ok"], ["OUT_OF_ORDER_SEQUENCE_NUMBER"]])
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
