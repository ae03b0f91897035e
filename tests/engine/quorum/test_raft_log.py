"""The metadata log of a voter: flushed, committed, cut where the leader's says something else."""

from __future__ import annotations

import pytest

from engine.events import Flush, Outbox
from engine.metadata.records import encode_batch
from engine.quorum.raft_log import RaftLog
from engine.settings import Settings
from engine.storage.memory_disk import MemoryDisk
from engine.wire import messages as m
from engine.wire.errors import KafkaError

NOW = 1_767_225_600_000_000


class Voter:
    """A log, and the flushes that it asks for."""

    def __init__(self) -> None:
        self.outbox = Outbox()
        self.log = RaftLog(MemoryDisk(), Settings(), self.outbox, NOW)

    @property
    def flushes(self) -> int:
        return sum(isinstance(each, Flush) for each in self.outbox.effects)

    def append(self, epoch: int, records: int = 1) -> None:
        batch = encode_batch([m.NoOpRecord()] * records, NOW // 1000)
        self.log.append(batch, epoch, NOW)

    def copy(self, other: Voter, epoch: int = 99) -> None:
        data = other.log.read(self.log.end_offset, 1 << 20, other.log.end_offset)
        self.log.append_fetched(data, epoch)

    def follow(self, leader: Voter) -> None:
        """Fetches until this log ends where the leader's does."""
        while parted := leader.log.differs(self.log.last_epoch, self.log.end_offset):
            self.log.truncate(*parted)
        self.copy(leader)


def voter(*epochs: int) -> Voter:
    """A voter whose log has one record of each of these epochs."""
    made = Voter()
    for epoch in epochs:
        made.append(epoch)
    return made


def contents(each: Voter) -> bytes:
    return each.log.read(0, 1 << 20, each.log.end_offset)


def test_one_flush_is_under_way_and_takes_along_what_came_before_it_began() -> None:
    made = voter(1, 1, 1)
    assert made.flushes == 1
    assert made.log.flushed_to == 0
    made.log.flushed()
    assert made.log.flushed_to == 1
    assert made.flushes == 2
    made.log.flushed()
    assert made.log.flushed_to == 3
    assert made.log.is_flushed
    assert made.flushes == 2


def test_a_flush_of_what_was_cut_off_meanwhile_does_not_count() -> None:
    made = voter(1, 1)
    made.log.flushed()
    made.log.truncate(1, 1)
    made.append(2)
    assert made.log.end_offset == 2
    made.log.flushed()
    assert made.log.flushed_to == 1
    made.log.flushed()
    assert made.log.flushed_to == 2


@pytest.mark.parametrize(
    ("follower", "leader"),
    [
        ((), (1, 1, 2)),
        ((1, 1), (1, 1, 2)),
        ((1, 1, 1, 1), (1, 1, 2)),
        ((1, 2, 2, 2), (1, 3, 3)),
        ((1, 1, 4, 4), (1, 1, 2, 2, 5)),
        ((2, 2), (1, 3)),
        ((1, 3, 5), (1, 2, 4, 6)),
        ((1,), (1,)),
    ],
)
def test_a_follower_ends_with_its_leaders_log(
    follower: tuple[int, ...], leader: tuple[int, ...]
) -> None:
    behind, ahead = voter(*follower), voter(*leader)
    behind.follow(ahead)
    assert contents(behind) == contents(ahead)
    assert behind.log.last_epoch == leader[-1]


def test_nothing_that_is_committed_is_cut_off() -> None:
    made = voter(1, 1, 1)
    made.log.raise_high_watermark(2)
    with pytest.raises(KafkaError, match="committed up to 2"):
        made.log.truncate(1, 1)
    assert made.log.end_offset == 3


def test_the_high_watermark_goes_neither_back_nor_beyond_the_end() -> None:
    made = voter(1, 1, 1)
    assert made.log.raise_high_watermark(2)
    assert not made.log.raise_high_watermark(1)
    assert made.log.raise_high_watermark(9)
    assert made.log.high_watermark == 3


def test_batches_of_a_later_epoch_than_the_leaders_are_not_taken() -> None:
    made = Voter()
    made.copy(voter(1, 2, 3), epoch=2)
    assert made.log.end_offset == 2


def test_what_a_former_process_left_counts_once_it_is_flushed() -> None:
    made = voter(1, 1)
    again = RaftLog(made.log.log.disk, Settings(), Outbox(), NOW)
    assert (again.end_offset, again.flushed_to) == (2, 0)


def test_records_are_read_from_the_middle_of_a_batch() -> None:
    made = Voter()
    made.append(1, records=3)
    made.append(1, records=2)
    assert [offset for offset, _ in made.log.records(1, 5)] == [1, 2, 3, 4]
