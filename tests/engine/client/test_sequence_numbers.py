"""The ends of the numbers: sequences begin at 0 again, and epochs with a new producer id."""

from __future__ import annotations

from typing import Any

from engine.client.idempotence import EPOCH_MAX, NO_IDENTITY, Idempotence
from engine.client.producer_batch import SEQUENCES, ProducerBatch, Sent
from engine.events import Outbox
from engine.records import batch
from engine.wire import messages as m
from engine.wire.errors import Errors
from tests.engine.client.by_hand import TOPIC, ByHand

PLACE = (TOPIC, 0)


def numbered(identity: Idempotence, partition: int) -> ProducerBatch:
    made = ProducerBatch(1, (TOPIC, partition), 0, 1_000, 0)
    made.takes(Sent(1, TOPIC, partition, None, b"A", 0))
    identity.number(made)
    return made


def test_a_second_refusal_at_the_last_epoch_waits_for_the_new_id_like_the_first() -> None:
    identity = Idempotence(Outbox(), resets=False)
    identity.became(7, EPOCH_MAX)
    refused = [numbered(identity, partition) for partition in (0, 1)]
    behind = numbered(identity, 1)
    assert behind.base_sequence == 1
    for each in refused:
        identity.failed(each, Errors.INVALID_RECORD, renumber=True)
        identity.settle()
        assert identity.identity == NO_IDENTITY
        assert not identity.may_leave(behind)
    identity.became(8, 0)
    identity.settle()
    assert identity.identity == (8, 0)
    assert (behind.producer_id, behind.producer_epoch, behind.base_sequence) == (8, 0, 0)
    assert numbered(identity, 1).base_sequence == 1


def test_sequence_numbers_begin_at_0_after_the_last() -> None:
    hand = ByHand(linger_ms=0, batch_size=0)
    hand.send(b"A")
    hand.connect()
    hand.tell_leader(101, 101)
    hand.later(1)
    hand.answer(m.InitProducerIdResponse(producer_id=7, producer_epoch=0), m.InitProducerIdRequest)
    hand.settle_produce()
    assert hand.producer.identity is not None
    hand.producer.identity.numbers(PLACE).next_sequence = SEQUENCES - 1
    for value in (b"B", b"C"):
        hand.send(value)
    sequences = [sequence(each.body) for each in hand.waiting(m.ProduceRequest)]
    assert sequences == [SEQUENCES - 1, 0]


def sequence(request: Any) -> int:
    """The first number that a Produce request brings."""
    (part,) = request.topic_data[0].partition_data
    return batch.read_header(bytes(part.records)).base_sequence


def test_a_batch_across_the_end_is_cut_and_numbered_as_the_broker_counts() -> None:
    whole = ProducerBatch(1, PLACE, 0, 1_000, 0)
    for number in range(4):
        whole.takes(Sent(number, TOPIC, 0, None, b"A", 0))
    whole.number_from(7, 0, SEQUENCES - 2)
    assert batch.read_header(whole.encode()).last_sequence == whole.last_sequence == 1
    assert [part.base_sequence for part in whole.split(2, 2)] == [SEQUENCES - 2, 0]
