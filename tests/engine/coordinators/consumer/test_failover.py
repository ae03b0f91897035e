"""What is written down, and what a coordinator makes of it that loads it."""

from __future__ import annotations

from typing import Any

from engine.coordinators.consumer.states import (
    GROUP_TRANSITIONS,
    MEMBER_TRANSITIONS,
    GroupState,
    MemberState,
    MemberStep,
)
from engine.coordinators.group_records import decode_record
from engine.records import batch
from engine.wire.errors import Errors
from tests.engine.coordinators.consumer.by_hand import Consumer, member, settle, shown


def kinds(cluster: Any, since: int = 0) -> list[tuple[int, bool]]:
    """The kinds of records in the log, and whether each is a removal."""
    found = []
    for data in cluster.shared.log.batches:
        header = batch.read_header(data)
        for each in batch.decode(data, 0):
            if header.base_offset >= since:
                found.append((int.from_bytes(each.key[:2], "big"), each.value is None))
    return found


def test_a_joining_member_is_five_records_in_one_batch(cluster: Any):
    Consumer(cluster, "a").join()
    assert [kind for kind, _ in kinds(cluster)] == [5, 3, 7, 6, 8]
    assert len(cluster.shared.log.batches) == 1


def test_a_member_that_goes_is_removed_key_by_key(cluster: Any):
    first = Consumer(cluster, "a")
    first.join()
    end = cluster.shared.log.log_end_offset
    first.leave()
    assert kinds(cluster, end) == [(8, True), (7, True), (5, True), (3, False)]


def test_a_new_coordinator_has_the_same_group_in_mid_rebalance(cluster: Any):
    first, second = Consumer(cluster, "a"), Consumer(cluster, "b")
    first.join()
    second.join()
    first.beat()
    before = shown(cluster)
    assert before["state"] == "Reconciling"
    cluster.lead(102)
    assert shown(cluster) == {**before, "coordinator": 102}
    settle(first, second)
    assert (first.partitions, second.partitions) == ([0, 1], [2, 3])


def test_a_heartbeat_whose_records_are_lost_is_sent_again(cluster: Any):
    first, second = Consumer(cluster, "a"), Consumer(cluster, "b")
    first.join()
    second.join()
    first.beat()
    cluster.shared.holds = True
    number = first.ask()  # confirms the revocation
    cluster.shared.lose_tail(True)
    cluster.lead(102)
    assert cluster.answers[number].error_code == Errors.NOT_COORDINATOR
    assert member(cluster, "a")["revoking"] == {"orders": [2, 3]}, "still held"
    cluster.shared.holds = False
    settle(first, second)
    assert (first.partitions, second.partitions) == ([0, 1], [2, 3])


def without_clocks(cluster: Any) -> dict[str, Any]:
    """The group as shown, except when its sessions end."""
    found = shown(cluster)
    members = [{**each, "session_ends_at": None} for each in found["members"]]
    return {**found, "members": members}


def test_nothing_changes_when_the_log_refuses_the_records(cluster: Any):
    first, second = Consumer(cluster, "a"), Consumer(cluster, "b")
    first.join()
    before = without_clocks(cluster)
    cluster.shared.refuses = Errors.NOT_ENOUGH_REPLICAS
    answer = second.join()
    assert answer.error_code == Errors.COORDINATOR_NOT_AVAILABLE
    assert without_clocks(cluster) == before
    assert first.leave().error_code == Errors.COORDINATOR_NOT_AVAILABLE
    assert without_clocks(cluster) == before
    cluster.wait(46_000)
    assert without_clocks(cluster) == before, "a session that is over is looked at again later"
    cluster.shared.refuses = Errors.NONE
    cluster.wait(46_000)
    assert shown(cluster)["members"] == []


def test_an_answer_waits_until_its_records_are_replicated(cluster: Any):
    cluster.shared.holds = True
    number = Consumer(cluster, "a").ask(full=True)
    assert number not in cluster.answers
    cluster.replicate()
    assert cluster.answers[number].member_epoch == 2


def test_a_member_that_gives_back_has_its_timeout_again_at_a_new_coordinator(cluster: Any):
    slow, second = Consumer(cluster, "a", rebalance_ms=20_000), Consumer(cluster, "b")
    slow.join()
    second.join()
    slow.beat()
    cluster.lead(102)
    for _ in range(4):
        cluster.wait(5_001)
        slow.heard(slow.ask(topic_partitions=None))
        second.beat()
    assert slow.error() == Errors.UNKNOWN_MEMBER_ID
    assert [each["id"] for each in shown(cluster)["members"]] == ["b"]


def test_a_session_goes_on_at_a_new_coordinator(cluster: Any):
    first = Consumer(cluster, "a")
    first.join()
    cluster.lead(102)
    cluster.wait(44_000)
    assert first.error() == Errors.NONE
    cluster.wait(46_000)
    assert first.error() == Errors.UNKNOWN_MEMBER_ID


def test_a_world_with_consumer_groups_pickles(cluster: Any):
    first, second = Consumer(cluster, "a"), Consumer(cluster, "b")
    first.join()
    second.join()
    copy = cluster.restored()
    assert copy.coordinator.snapshot() == cluster.coordinator.snapshot()
    for world in (cluster, copy):
        first.groups = world
        world.answers.clear()
        world.wait(50_000)
    assert copy.coordinator.snapshot() == cluster.coordinator.snapshot()


def test_records_of_unknown_kinds_are_read_over():
    assert decode_record(b"\x00\x0a\x00\x01g", b"\x00\x00") is None
    assert decode_record(b"\x00\x04\x00\x01g", None) is None


def test_each_member_state_knows_each_step():
    assert set(MEMBER_TRANSITIONS) == {(a, b) for a in MemberState for b in MemberStep}
    assert {state for state, _ in GROUP_TRANSITIONS} == set(GroupState) - {GroupState.DEAD}
