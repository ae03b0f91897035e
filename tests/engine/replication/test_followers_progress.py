"""What a leader makes of its followers' fetches: caught up, in sync, committed."""

from __future__ import annotations

from random import Random

import pytest

from engine.events import Send, Trace
from engine.metadata.active_controller import ActiveController
from engine.metadata.image import BrokerImage
from engine.replication.alter_partition import AlterPartitionQueue
from engine.replication.delayed_append import PendingAppend
from engine.replication.fetch_sessions import FetchedPartition, FetchSession, FetchSessions, View
from engine.replication.follower_state import FollowerState
from engine.replication.hosted import HostedPartitions
from engine.replication.in_sync import InSyncReplicas
from engine.replication.partition import Partition
from engine.replication.purgatory import Purgatory
from engine.wire.errors import Errors, KafkaError
from tests.engine.replication.parts import (
    LEADER,
    NOW,
    OTHER,
    THIRD,
    TOPIC_ID,
    image,
    partition,
    records,
)

LAG_US = 2_000


def follower() -> FollowerState:
    state = FollowerState(OTHER)
    state.reset(0, 10, in_sync=True)
    return state


def test_a_fetch_at_the_leaders_end_is_caught_up_now() -> None:
    state = follower()
    state.fetched(5_000, 12, 0, 12, -1)
    assert state.last_caught_up_us == 5_000
    assert state.is_caught_up(5_000 + LAG_US, 13, LAG_US)
    assert not state.is_caught_up(5_001 + LAG_US, 13, LAG_US)


def test_a_fetch_at_the_end_of_last_time_was_caught_up_then() -> None:
    """Under steady load the end moves on between fetches; that is no lag."""
    state = follower()
    state.fetched(1_000, 10, 0, 20, -1)
    state.fetched(2_000, 20, 0, 30, -1)
    assert state.last_caught_up_us == 1_000
    state.fetched(3_000, 29, 0, 40, -1)
    assert state.last_caught_up_us == 1_000


def test_a_follower_at_the_end_is_caught_up_however_long_ago_it_fetched() -> None:
    state = follower()
    state.fetched(1_000, 12, 0, 12, -1)
    assert state.is_caught_up(10**9, 12, LAG_US)


def idle_since(last_used_us: int) -> FetchedPartition:
    """A follower's part of a session whose last request came then."""
    session = FetchSession(9, 1, last_used_us, View(OTHER), by_id=True)
    return FetchedPartition((TOPIC_ID, 0), "orders", TOPIC_ID, 0, session=session)


def test_an_idle_follower_was_caught_up_at_its_sessions_last_fetch() -> None:
    state = follower()
    state.fetched(1_000, 5, 0, 5, 7)
    state.idle = idle_since(3_000)
    assert state.caught_up_us == 3_000
    assert not state.is_caught_up(3_000 + LAG_US + 1, 6, LAG_US)


def test_a_record_ends_what_an_idle_follower_is_credited_with() -> None:
    """Its next fetch comes late and is behind, so what counts is the one before."""
    replica = leading()
    state = replica.followers[OTHER]
    replica.follower_fetched(NOW, OTHER, 0, 0, 7)
    idle = state.idle = idle_since(NOW + 50)
    replica.append_as_leader(NOW + 100, records("A"), acks=1)
    assert idle.session is not None
    idle.session.last_used_us = NOW + 900
    replica.follower_fetched(NOW + 900, OTHER, 0, 0, 7)
    assert state.caught_up_us == NOW + 50


def test_a_new_epoch_knows_nothing_but_who_is_in_sync() -> None:
    state = FollowerState(OTHER)
    state.fetched(5, 9, 0, 9, 3)
    state.reset(1_000, 10, in_sync=False)
    assert (state.log_end_offset, state.broker_epoch, state.last_caught_up_us) == (-1, None, 0)
    state.reset(1_000, 10, in_sync=True)
    assert state.last_caught_up_us == 1_000


# -- what acks=all waits for


def waiting() -> tuple[Partition, PendingAppend, HostedPartitions]:
    """A leader whose followers do not have its only record yet."""
    replica = partition(epochs=(0,))
    hosted = HostedPartitions(replica.metadata)
    hosted.partitions[replica.key] = replica
    replica.update(NOW, image())
    return replica, PendingAppend(replica.key, required=1), hosted


def test_a_leader_that_stays_through_an_epoch_keeps_its_promise() -> None:
    """What counts is who leads when all have the record, not in which epoch (as in Kafka)."""
    replica, pending, hosted = waiting()
    assert not pending.judge(hosted)
    replica.update(NOW, image(leader_epoch=1, partition_epoch=1))
    assert not pending.judge(hosted)
    for broker_id in (OTHER, THIRD):
        replica.follower_fetched(NOW, broker_id, 1, 0, 7)
    assert pending.judge(hosted)
    assert pending.error == Errors.NONE


def test_a_leader_that_is_deposed_does_not() -> None:
    replica, pending, hosted = waiting()
    replica.update(NOW, image(leader=OTHER, leader_epoch=1, partition_epoch=1))
    assert pending.judge(hosted)
    assert pending.error == Errors.NOT_LEADER_OR_FOLLOWER


# -- the ISR between asking and hearing back


def test_who_was_proposed_counts_until_the_answer() -> None:
    isr = InSyncReplicas((101, 102), None, 4)
    isr.propose((103, 101, 102))
    assert (isr.committed, isr.maximal) == ((101, 102), (101, 102, 103))
    assert isr.confirm((101, 102, 103), 5)
    assert isr.maximal == isr.committed == (101, 102, 103)
    assert not isr.in_flight


def test_who_is_to_go_counts_until_the_answer() -> None:
    isr = InSyncReplicas((101, 102), None, 4)
    isr.propose((101,))
    assert isr.maximal == (101, 102)


def test_old_news_does_not_end_a_proposal() -> None:
    isr = InSyncReplicas((101, 102), None, 4)
    isr.propose((101,))
    assert not isr.confirm((101, 102, 103), 4)
    assert isr.in_flight
    assert isr.committed == (101, 102)


def test_a_withdrawn_proposal_leaves_things_as_they_were() -> None:
    isr = InSyncReplicas((101, 102), None, 4)
    isr.propose((101,))
    isr.withdraw()
    assert isr.maximal == (101, 102)
    assert not isr.in_flight


# -- the leader


def leading(isr: tuple[int, ...] = (LEADER, OTHER, THIRD), min_in_sync: int = 1) -> Partition:
    replica = partition()
    replica.min_in_sync_setting = min_in_sync
    replica.max_lag_us = LAG_US
    replica.update(NOW, image(isr))
    return replica


def test_committed_is_what_all_in_sync_replicas_have() -> None:
    replica = leading()
    replica.append_as_leader(NOW, records("a", "b", "c"), 1)
    replica.follower_fetched(NOW, OTHER, 3, 0, 7)
    assert replica.high_watermark == 0
    replica.follower_fetched(NOW, THIRD, 2, 0, 7)
    assert replica.high_watermark == 2


def test_a_replica_outside_the_isr_does_not_hold_it_back() -> None:
    replica = leading(isr=(LEADER, OTHER))
    replica.append_as_leader(NOW + 10 * LAG_US, records("a"), 1)
    replica.follower_fetched(NOW + 10 * LAG_US, OTHER, 1, 0, 7)
    assert replica.high_watermark == 1


def test_below_min_isr_nothing_is_committed_and_acks_all_is_refused() -> None:
    replica = leading(isr=(LEADER,), min_in_sync=2)
    replica.append_as_leader(NOW, records("a"), 1)
    assert replica.high_watermark == 0
    with pytest.raises(KafkaError) as refusal:
        replica.append_as_leader(NOW, records("b"), -1)
    assert refusal.value.code == Errors.NOT_ENOUGH_REPLICAS
    assert "min.insync.replicas" in refusal.value.message
    assert replica.log.log_end_offset == 1


def test_min_isr_is_never_more_than_there_are_replicas() -> None:
    replica = partition()
    replica.min_in_sync_setting = 5
    replica.update(NOW, image(replicas=(LEADER, OTHER), isr=(LEADER, OTHER)))
    assert replica.min_in_sync_replicas == 2


def test_a_follower_joins_with_all_that_is_committed_and_this_epochs_start() -> None:
    replica = partition(epochs=(0, 0, 0), high_watermark=1)
    replica.update(NOW, image(isr=(LEADER,), leader_epoch=1))
    asked = replica.proposals.asked
    replica.follower_fetched(NOW, OTHER, 2, 0, 7)
    assert asked == []
    replica.follower_fetched(NOW, OTHER, 3, 0, 7)
    assert asked == [(LEADER, OTHER)]
    replica.follower_fetched(NOW, THIRD, 3, 0, 7)
    assert asked == [(LEADER, OTHER)], "one proposal at a time"


@pytest.mark.parametrize("state", [{"fenced": True}, {"in_controlled_shutdown": True}])
def test_who_is_fenced_or_leaving_is_not_let_in(state: dict[str, bool]) -> None:
    replica = leading(isr=(LEADER,))
    known = replica.metadata.brokers[OTHER]
    fields = {name: getattr(known, name) for name in type(known).__slots__}
    replica.metadata.brokers[OTHER] = type(known)(**{**fields, **state})
    replica.follower_fetched(NOW, OTHER, 0, 0, 7)
    assert replica.proposals.asked == []


def test_a_fetch_of_an_incarnation_unknown_here_lets_no_replica_in() -> None:
    replica = leading(isr=(LEADER,))
    replica.follower_fetched(NOW, OTHER, 0, 0, 8)
    assert replica.proposals.asked == []


def test_a_fetch_of_a_former_incarnation_is_refused_while_the_broker_is_alive() -> None:
    """KIP-903: what counts is the metadata log, not whether the new one has fetched here."""
    replica = leading()
    with pytest.raises(KafkaError) as refusal:
        replica.follower_fetched(NOW, OTHER, 0, 0, 6)
    assert refusal.value.code == Errors.NOT_LEADER_OR_FOLLOWER
    assert replica.followers[OTHER].log_end_offset == -1
    replica.metadata.brokers[OTHER] = BrokerImage(OTHER, 7, bytes(16), fenced=True)
    replica.follower_fetched(NOW, OTHER, 0, 0, 6)
    assert replica.followers[OTHER].log_end_offset == 0


def test_who_left_the_isr_before_its_first_fetch_holds_nothing_back() -> None:
    """Nothing says which life of it would join, so nobody waits for it."""
    replica = leading()
    replica.append_as_leader(NOW, records("a"), 1)
    replica.follower_fetched(NOW, OTHER, 1, 0, 7)
    replica.update(NOW, image(isr=(LEADER, OTHER), partition_epoch=1))
    assert replica.high_watermark == 1


def test_a_proposal_names_the_epoch_of_each_members_last_fetch() -> None:
    """A member that has not fetched from this leader is vouched for by nothing: -1."""
    replica = leading(isr=(LEADER, THIRD))
    queue = AlterPartitionQueue(
        LEADER, ActiveController((100,)), replica.outbox,
        Purgatory(replica.outbox, FetchSessions(0, Random(1))),
    )  # fmt: skip
    queue.broker_epoch = 9
    replica.follower_fetched(NOW, OTHER, 0, 0, 7)
    queue.propose(NOW, replica)
    sent = next(each for each in replica.outbox.effects if isinstance(each, Send))
    states = sent.body.topics[0].partitions[0].new_isr_with_epochs
    members = [(each.broker_id, each.broker_epoch) for each in states]
    assert members == [(LEADER, 9), (OTHER, 7), (THIRD, -1)]


def test_a_laggard_is_to_go_after_replica_lag_time_max() -> None:
    replica = leading()
    replica.append_as_leader(NOW, records("a"), 1)
    replica.follower_fetched(NOW + LAG_US, OTHER, 1, 0, 7)
    replica.shrink_isr(NOW + LAG_US)
    assert replica.proposals.asked == []
    replica.shrink_isr(NOW + LAG_US + 1)
    assert replica.proposals.asked == [(LEADER, OTHER)]


def test_a_confirmed_shrink_commits_what_waited() -> None:
    replica = leading()
    replica.append_as_leader(NOW, records("a"), 1)
    replica.follower_fetched(NOW, OTHER, 1, 0, 7)
    replica.shrink_isr(NOW + 2 * LAG_US)
    assert replica.high_watermark == 0
    assert replica.isr_answered(NOW + 2 * LAG_US, (LEADER, OTHER), 1)
    assert replica.high_watermark == 1


def test_the_high_watermark_never_falls_while_the_leader_stays() -> None:
    replica = leading()
    replica.append_as_leader(NOW, records("a", "b"), 1)
    for broker in (OTHER, THIRD):
        replica.follower_fetched(NOW, broker, 2, 0, 7)
    replica.follower_fetched(NOW, OTHER, 0, 0, 7)
    assert replica.high_watermark == 2


def test_older_metadata_changes_nothing() -> None:
    replica = partition()
    replica.update(NOW, image(leader_epoch=3, partition_epoch=5))
    assert not replica.update(
        NOW, image(leader=OTHER, leader_epoch=2, partition_epoch=4, isr=(OTHER,))
    )
    assert (replica.leader_id, replica.leader_epoch) == (LEADER, 3)
    assert replica.in_sync_replicas == (LEADER, OTHER, THIRD)


def test_a_follower_adopts_the_high_watermark_as_far_as_its_log_goes() -> None:
    replica = partition(OTHER, epochs=(0, 0))
    replica.update(NOW, image())
    assert replica.follow_high_watermark(9)
    assert replica.high_watermark == 2
    replica.truncate(1, "a test")
    assert (replica.high_watermark, replica.log.log_end_offset) == (1, 1)
    cuts = [e for e in replica.outbox.effects if isinstance(e, Trace) and e.kind == "truncate"]
    assert [dict(cut.fields) for cut in cuts] == [{"to": 1, "was": 2}]


def test_the_high_watermark_waits_for_a_member_that_is_only_proposed() -> None:
    """The controller may have agreed already, and may elect it at any moment."""
    replica = leading(isr=(LEADER,))
    replica.follower_fetched(NOW, OTHER, 0, 0, 7)
    assert replica.isr.maximal == (LEADER, OTHER)
    late = NOW + 100 * LAG_US
    replica.append_as_leader(late, records("a"), 1)
    assert replica.high_watermark == 0
    replica.follower_fetched(late, OTHER, 1, 0, 7)
    assert replica.high_watermark == 1


def test_a_request_of_another_epoch_is_fenced_or_too_early() -> None:
    replica = partition()
    replica.update(NOW, image(leader_epoch=3))
    assert replica.check_leader_epoch(2) == Errors.FENCED_LEADER_EPOCH
    assert replica.check_leader_epoch(4) == Errors.UNKNOWN_LEADER_EPOCH
    assert replica.check_leader_epoch(3) == replica.check_leader_epoch(-1) == Errors.NONE
