"""What a record takes from buffer.memory, and who is let in when some comes back."""

from __future__ import annotations

import pytest

from engine.client.accumulator import Accumulator
from engine.client.producer_batch import Sent
from engine.client.settings import ProducerSettings
from tests.engine.client.by_hand import ByHand
from tests.engine.client.worlds import produce, world


def test_with_acks_0_memory_that_is_free_at_once_lets_the_next_in_at_once() -> None:
    hand = ByHand(acks="0", batch_size=1_024, buffer_memory=1_024, linger_ms=0)
    for _ in range(6):
        hand.send(bytes(900))
    hand.connect()
    hand.tell_leader(101, 101)  # and nothing else is ever answered
    assert hand.producer.verdicts.count() == {"acknowledged": 6}


def test_a_batch_size_over_buffer_memory_is_not_waited_for() -> None:
    w = world()
    produce(w, batch_size=20_000, buffer_memory=1_000)
    w.tell("shop", "send", "orders", b"A", None, 0)
    (sent,) = w.client("shop").sends
    assert (sent.verdict, sent.error) == ("refused", "larger than buffer.memory")


@pytest.mark.parametrize(
    ("key", "length", "refused_for"),
    [
        (None, 1_048_489, ""),
        (None, 1_048_490, "max.request.size"),
        (b"", 1_048_489, ""),
        (b"k", 1_048_488, ""),
        (b"k", 1_048_489, "max.request.size"),
    ],
)
def test_a_record_is_too_large_to_the_byte_where_the_java_client_says_so(
    key: bytes | None, length: int, refused_for: str
) -> None:
    accumulator = Accumulator(ProducerSettings.of())
    record = Sent(1, "orders", 0, key, bytes(length), 1_767_225_600_000_000)
    assert accumulator.too_large(record) == refused_for
