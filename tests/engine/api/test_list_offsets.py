"""ListOffsets in the window after an election: who is told what, and who is told to ask again."""

from __future__ import annotations

import pytest

from engine.api import list_offsets
from engine.replication.partition import Partition
from engine.wire.errors import Errors, KafkaError
from tests.engine.replication.parts import NOW, OTHER, image, partition

WRITTEN_MS = NOW // 1000
"""The timestamp of every record."""
BEFORE, AFTER = WRITTEN_MS - 1, WRITTEN_MS + 1


def new_leader(high_watermark: int) -> Partition:
    """Leads epoch 1, which starts at 4: four records of epoch 0, known to be safe up to there."""
    replica = partition(OTHER, (0, 0, 0, 0), high_watermark)
    replica.update(NOW, image(leader=OTHER, leader_epoch=1))
    assert replica.epoch_start_offset == 4
    return replica


def ask(replica: Partition, timestamp: int, who: int = list_offsets.CONSUMER, **old: bool) -> int:
    return list_offsets.find(replica, timestamp, who, 0, **old)[0]


@pytest.mark.parametrize(
    ("high_watermark", "timestamp"),
    [(3, list_offsets.LATEST), (0, list_offsets.LATEST), (3, AFTER), (0, BEFORE),
     (0, list_offsets.MAX_TIMESTAMP)],
)  # fmt: skip
def test_in_the_window_a_consumer_must_ask_again(high_watermark, timestamp) -> None:
    with pytest.raises(KafkaError) as refused:
        ask(new_leader(high_watermark), timestamp)
    assert refused.value.code == Errors.OFFSET_NOT_AVAILABLE


def test_what_lies_below_the_high_watermark_is_answered_even_in_the_window() -> None:
    assert ask(new_leader(3), BEFORE) == 0
    assert ask(new_leader(3), list_offsets.EARLIEST) == 0


def test_the_window_closes_when_the_high_watermark_reaches_the_start_of_the_epoch() -> None:
    assert ask(new_leader(4), list_offsets.LATEST) == 4
    assert ask(new_leader(4), AFTER) == -1


def test_replicas_receive_the_log_end_and_a_leader_of_before_kip_207_goes_back() -> None:
    assert ask(new_leader(3), list_offsets.LATEST, who=OTHER) == 4
    assert ask(new_leader(3), AFTER, who=OTHER) == -1
    assert ask(new_leader(3), list_offsets.LATEST, old=True) == 3
    assert ask(new_leader(3), AFTER, old=True) == -1
