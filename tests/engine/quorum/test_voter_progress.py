"""What a leader counts: the high watermark, and who still fetches."""

from __future__ import annotations

import pytest

from engine.quorum.voter_progress import VoterProgress
from engine.quorum.voters import ReplicaKey, VoterSet

S = 1_000_000


def progress(others: int, epoch_start: int = 10) -> VoterProgress:
    voters = range(100, 100 * (others + 2), 100)
    return VoterProgress(ReplicaKey(100), VoterSet.of_ids(voters), epoch_start, now=0)


@pytest.mark.parametrize(
    ("own", "others", "expected"),
    [
        (20, [], 20),
        (20, [-1], None),
        (20, [15], 15),
        (20, [15, -1], 15),
        (20, [-1, -1], None),
        (12, [20, 20], 20),
        (20, [18, 15, 12, 11], 15),
        (20, [18, 11, -1, -1], 11),
        (20, [18, -1, -1, -1], None),
    ],
)
def test_the_high_watermark_is_what_a_majority_has(
    own: int, others: list[int], expected: int | None
) -> None:
    seen = progress(len(others))
    for reader, offset in zip(seen.voters, others, strict=True):
        if offset >= 0:
            seen.fetched(1, reader, offset, 0)
    assert seen.high_watermark(own) == expected


def test_records_of_earlier_epochs_are_not_committed_by_counting() -> None:
    """Figure 8 of the Raft paper: they are committed with a record of the leader's own epoch."""
    seen = progress(2, epoch_start=10)
    seen.fetched(1, 200, 10, 0)
    assert seen.high_watermark(11) is None
    seen.fetched(2, 200, 11, 0)
    assert seen.high_watermark(11) == 11


def test_brokers_are_not_counted() -> None:
    seen = progress(2)
    for broker in (101, 102, 103):
        seen.fetched(1, broker, 20, 0)
    assert seen.high_watermark(20) is None
    assert sorted(each.id for each in seen.observers) == [101, 102, 103]


def test_a_client_that_reads_the_log_is_no_reader_of_the_cluster() -> None:
    seen = progress(2)
    seen.fetched(1, -1, 20, 0)
    assert not seen.observers


@pytest.mark.parametrize(("others", "needed"), [(1, 1), (2, 1), (3, 2), (4, 2)])
def test_a_leader_is_followed_as_long_as_a_majority_fetches(others: int, needed: int) -> None:
    seen = progress(others)
    for number, reader in enumerate(list(seen.voters)[:needed], 1):
        assert seen.heard_at == 0
        seen.fetched(number * S, reader, 5, 0)
    assert seen.heard_at == needed * S


def test_one_voter_that_fetches_often_is_no_majority_of_five() -> None:
    seen = progress(4)
    for second in range(1, 10):
        seen.fetched(second * S, 200, 5, 0)
    assert seen.heard_at == 0


def test_the_successor_is_the_one_with_the_longest_log() -> None:
    seen = progress(3)
    for reader, offset in ((200, 5), (300, 9)):
        seen.fetched(1, reader, offset, 0)
    assert seen.successors() == [300, 200, 400]


def test_those_who_do_not_fetch_are_reminded() -> None:
    seen = progress(2)
    assert seen.unaware(0, S) == [200, 300]
    seen.fetched(5 * S, 200, 5, 0)
    assert seen.unaware(5 * S, S) == [300]
    assert seen.unaware(6 * S, S) == [200, 300]
