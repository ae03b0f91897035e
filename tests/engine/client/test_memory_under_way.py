"""A batch that expires under way keeps its part of buffer.memory until its request is over."""

from __future__ import annotations

import pytest

from engine.client.producer_batch import PENDING, UNKNOWN
from engine.wire import messages as m
from tests.engine.client.by_hand import ByHand

ONE_BATCH = {"batch_size": 1_000, "buffer_memory": 1_000, "linger_ms": 0}


def expired_under_way() -> ByHand:
    """Memory for one batch: it leaves after 10 s, because its leader is slow to connect, and
    expires 20 s later; a second record has waited outside all the time."""
    hand = ByHand(
        acks="1", request_timeout_ms=30_000, delivery_timeout_ms=30_000, **ONE_BATCH
    )  # fmt: skip
    hand.send(bytes(700))
    hand.connect()
    hand.tell_leader(102, 101, 102)
    hand.later(1)
    hand.send(bytes(700))
    hand.later(10_000)
    hand.connect()
    hand.later(20_000)
    return hand


def verdicts(hand: ByHand) -> list[str]:
    return [each.verdict for each in hand.producer.sends]


def test_memory_that_the_network_still_uses_admits_no_sender() -> None:
    hand = expired_under_way()
    assert verdicts(hand) == [UNKNOWN, PENDING]
    assert len(hand.waiting(m.ProduceRequest)) == 1
    assert len(hand.producer.blocked) == 1


@pytest.mark.parametrize("answered", [True, False])
def test_the_answer_or_the_end_of_the_connection_gives_it_back(answered: bool) -> None:
    hand = expired_under_way()
    if answered:
        hand.settle_produce()
    else:
        hand.answer(None, m.ProduceRequest)
    assert not hand.producer.blocked
    hand.later(1_000)
    if not answered:
        hand.connect()
    hand.settle_produce()
    assert verdicts(hand) == [UNKNOWN, "acknowledged"]
    assert hand.producer.accumulator.free == ONE_BATCH["buffer_memory"]
