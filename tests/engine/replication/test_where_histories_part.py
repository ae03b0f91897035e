"""Truncation: two random histories always meet where they parted, and never before."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from engine.replication.truncation import end_of_epoch, where_to_cut
from tests.engine.replication.parts import log_of

Histories = tuple[list[int], list[int]]


@st.composite
def histories(draw: st.DrawFn) -> Histories:
    """The epochs of two logs, leader's and follower's, with a common beginning.

    After it no epoch is in both: an epoch has one leader, and who copies from it copies in
    order, so two logs that both hold an epoch agree on the shorter one's part of it.
    """
    common = sorted(draw(st.lists(st.integers(0, 3), max_size=4)))
    first = (common[-1] if common else 0) + 1
    epochs = list(range(first, first + 6))
    of_leader = draw(st.lists(st.sampled_from(epochs), max_size=3, unique=True))
    rest = [epoch for epoch in epochs if epoch not in of_leader]
    of_follower = draw(st.lists(st.sampled_from(rest), max_size=3, unique=True))
    tails = []
    for own in (of_leader, of_follower):
        lengths = draw(st.lists(st.integers(1, 2), min_size=len(own), max_size=len(own)))
        tails.append([e for e, n in zip(sorted(own), lengths, strict=True) for _ in range(n)])
    # One of the two may have written on in the last common epoch.
    if common:
        more = [common[-1]] * draw(st.integers(0, 2))
        side = draw(st.booleans())
        tails[side] = more + tails[side]
    return [*common, *tails[0]], [*common, *tails[1]]


def agreement(one: list[int], other: list[int]) -> int:
    """How far two histories agree."""
    length = 0
    while length < min(len(one), len(other)) and one[length] == other[length]:
        length += 1
    return length


@settings(max_examples=150, deadline=None)
@given(histories())
def test_fetch_divergence_ends_where_the_histories_parted(pair: Histories) -> None:
    of_leader, of_follower = pair
    leader, follower = log_of(of_leader), log_of(of_follower)
    leader_epoch = max([*of_leader, *of_follower, 0]) + 1
    leader.epochs.assign(leader_epoch, leader.log_end_offset)
    wanted = agreement(of_leader, of_follower)
    for _ in range(10):
        asked = follower.latest_epoch
        if asked < 0:
            break
        epoch, end = end_of_epoch(leader, asked, leader_epoch)
        if epoch >= asked and end >= follower.log_end_offset:
            break
        cut = where_to_cut(follower, epoch, end, high_watermark=wanted)
        assert wanted <= cut.offset <= follower.log_end_offset
        follower.truncate_to(cut.offset)
    else:
        raise AssertionError("they never agree")
    assert follower.log_end_offset == wanted


def test_the_leader_that_knows_no_such_epoch_leaves_the_high_watermark() -> None:
    cut = where_to_cut(log_of([3, 3, 3]), -1, -1, high_watermark=2)
    assert (cut.offset, cut.done) == (2, True)


def test_kip_101_cuts_at_the_end_of_the_epoch_and_is_done() -> None:
    cut = where_to_cut(log_of([0, 0, 0, 1]), -1, 2, high_watermark=0)
    assert (cut.offset, cut.done) == (2, True)


def test_kip_279_asks_again_with_an_epoch_that_both_know() -> None:
    """The leader answers for epoch 1, which the follower never had: cut to the end of 0."""
    log = log_of([0, 0, 2, 2])
    cut = where_to_cut(log, 1, 4, high_watermark=0)
    assert (cut.offset, cut.done) == (2, False)


def test_it_never_cuts_beyond_the_end() -> None:
    assert where_to_cut(log_of([0, 0]), 0, 9, high_watermark=0).offset == 2
