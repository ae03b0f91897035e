"""How members come together: joining, synchronising, dying, leaving."""

from __future__ import annotations

from typing import Any

import pytest

from engine.coordinators.classic.states import TRANSITIONS, GroupEvent, GroupState
from engine.wire import consumer_protocol
from engine.wire import messages as m
from engine.wire.errors import Errors


def test_two_members_make_one_generation_and_the_leader_sees_all_subscriptions(make_groups: Any):
    groups = make_groups(group_initial_rebalance_delay_ms=3000)
    groups.lead(101)
    first, second = groups.new_id(client="app"), groups.new_id(client="app")
    assert first.startswith("app-")
    joins = groups.join(first, topics=("orders",)), groups.join(second, topics=("payments",))
    assert not {*joins} & {*groups.answers}
    groups.wait(2 * 3000)
    leader, follower = (groups.answers[each] for each in joins)
    assert (leader.generation_id, follower.generation_id) == (1, 1)
    assert leader.leader == follower.leader == first
    assert [each.member_id for each in leader.members] == [first, second]
    assert consumer_protocol.subscribed_topics(leader.members[1].metadata) == ("payments",)
    assert follower.members == []
    assert groups.state() == "CompletingRebalance"


def test_the_leaders_assignment_reaches_everyone_once_it_is_stored(groups: Any):
    first, second = groups.new_id(), groups.new_id()
    joins = [groups.join(first), groups.join(second)]
    groups.wait(0)
    generation = groups.answers[joins[0]].generation_id
    groups.shared.holds = True
    follower = groups.sync(second, generation)
    leader = groups.sync(first, generation, {first: [0, 1], second: [2, 3]})
    assert follower not in groups.answers
    assert leader not in groups.answers
    groups.replicate()
    given = [
        consumer_protocol.assigned_partitions(groups.answers[each].assignment)
        for each in (leader, follower)
    ]
    assert given == [{"orders": [0, 1]}, {"orders": [2, 3]}]
    assert groups.state() == "Stable"
    assert groups.heartbeat(first, generation) == Errors.NONE


def test_a_third_member_starts_a_rebalance_that_heartbeats_announce(groups: Any):
    first, second, generation = groups.stable_pair()
    third = groups.new_id()
    joining = groups.join(third)
    assert groups.heartbeat(first, generation) == Errors.REBALANCE_IN_PROGRESS
    assert groups.heartbeat(second, generation) == Errors.REBALANCE_IN_PROGRESS
    rejoins = groups.join(first), groups.join(second)
    answers = [groups.answers[each] for each in (joining, *rejoins)]
    assert {each.generation_id for each in answers} == {generation + 1}
    assert groups.heartbeat(first, generation) == Errors.ILLEGAL_GENERATION


def test_a_member_that_stops_heartbeating_is_dropped_after_its_session(groups: Any):
    first, second, generation = groups.stable_pair()
    groups.wait(6000)
    assert groups.heartbeat(first, generation) == Errors.NONE
    groups.wait(5000)
    assert groups.heartbeat(first, generation) == Errors.REBALANCE_IN_PROGRESS
    assert groups.heartbeat(second, generation) == Errors.UNKNOWN_MEMBER_ID
    alone = groups.answers[groups.join(first)]
    assert (alone.generation_id, len(alone.members)) == (generation + 1, 1)


def test_heartbeats_keep_a_member_without_touching_its_timer(groups: Any):
    first, second, generation = groups.stable_pair()
    timers = dict(groups.timers)
    for member in (first, second):
        assert groups.heartbeat(member, generation) == Errors.NONE
    assert groups.timers == timers
    for _ in range(12):
        groups.wait(4000)
        assert groups.heartbeat(first, generation) == Errors.NONE
        assert groups.heartbeat(second, generation) == Errors.NONE


def test_who_does_not_rejoin_in_time_is_dropped(groups: Any):
    first, second, generation = groups.stable_pair()
    groups.wait(3000)
    changed = groups.join(second, topics=("orders", "payments"), rebalance_ms=8000)
    for _ in range(10):
        groups.wait(3000)
        groups.heartbeat(first, generation)  # alive, but busy
    answer = groups.answers[changed]
    assert (answer.generation_id, answer.leader, len(answer.members)) == (2, second, 1)
    assert groups.heartbeat(first, generation) == Errors.UNKNOWN_MEMBER_ID


def test_a_leader_that_never_syncs_is_dropped_and_the_others_are_sent_to_join(groups: Any):
    first, second = groups.new_id(), groups.new_id()
    joins = [groups.join(each, session_ms=60_000) for each in (first, second)]
    groups.wait(0)
    waiting = groups.sync(second, groups.answers[joins[1]].generation_id)
    groups.wait(30_000)
    assert groups.answers[waiting].error_code == Errors.REBALANCE_IN_PROGRESS
    alone = groups.answers[groups.join(second)]
    assert (alone.leader, len(alone.members)) == (second, 1)


def test_leaving_starts_the_rebalance_at_once_and_several_may_leave_together(groups: Any):
    first, second, generation = groups.stable_pair()
    answer = groups.leave((second, None), ("nobody", None))
    assert [each.error_code for each in answer.members] == [0, Errors.UNKNOWN_MEMBER_ID]
    assert groups.heartbeat(first, generation) == Errors.REBALANCE_IN_PROGRESS
    groups.leave((first, None))
    assert groups.state() == "Empty"
    assert groups.leave((first, None), group="no-such").members[0].error_code == (
        Errors.UNKNOWN_MEMBER_ID
    )


def test_an_old_client_leaves_alone_and_gets_one_error(groups: Any):
    first, _, _ = groups.stable_pair()
    assert groups.call(m.LeaveGroupRequest(group_id="g", member_id=first), 2).error_code == 0
    again = groups.call(m.LeaveGroupRequest(group_id="g", member_id=first), 0)
    assert again.error_code == Errors.UNKNOWN_MEMBER_ID


def test_the_first_rebalance_waits_again_for_each_batch_of_newcomers(make_groups: Any):
    groups = make_groups(group_initial_rebalance_delay_ms=3000)
    groups.lead(101)
    ids = [groups.new_id() for _ in range(3)]
    joins = [groups.join(ids[0], rebalance_ms=20_000)]
    for each in ids[1:]:
        groups.wait(2000)
        joins.append(groups.join(each, rebalance_ms=20_000))
    groups.wait(2000)
    assert not {*joins} & {*groups.answers}
    groups.wait(6000)
    assert {groups.answers[each].generation_id for each in joins} == {1}


def test_a_client_that_gives_up_before_it_has_joined_leaves_no_ghost(groups: Any):
    first, second, generation = groups.stable_pair()
    groups.new_id()  # asks for an id and is never seen again
    assert groups.heartbeat(first, generation) == Errors.NONE
    rejoins = groups.join(first), groups.join(second)
    assert not {*rejoins} & {*groups.answers}, "the pending member is still expected"
    groups.wait(10_000)
    assert {groups.answers[each].generation_id for each in rejoins} == {generation + 1}


def test_the_protocol_that_most_members_like_best_among_the_common_ones_wins(groups: Any):
    ids = [groups.new_id(protocols=("range",)) for _ in range(3)]
    likes = [("sticky", "range"), ("range", "sticky"), ("own", "range", "sticky")]
    joins = [groups.join(each, protocols=liked) for each, liked in zip(ids, likes, strict=True)]
    groups.wait(0)
    assert {groups.answers[each].protocol_name for each in joins} == {"range"}
    stranger = groups.answers[groups.join(protocols=("other",))]
    assert stranger.error_code == Errors.INCONSISTENT_GROUP_PROTOCOL


def test_a_full_group_refuses_one_more(make_groups: Any):
    groups = make_groups(group_max_size=2)
    groups.lead(101)
    groups.stable_pair()
    refused = groups.answers[groups.join()]
    assert (refused.error_code, refused.member_id) == (Errors.GROUP_MAX_SIZE_REACHED, "")


@pytest.mark.parametrize(("session_ms", "group", "error"), [
    (1, "g", Errors.INVALID_SESSION_TIMEOUT),
    (3_600_000, "g", Errors.INVALID_SESSION_TIMEOUT),
    (10_000, "", Errors.INVALID_GROUP_ID),
])  # fmt: skip
def test_a_join_is_checked_before_anything_is_created(
    groups: Any, session_ms: int, group: str, error: Errors
):
    answer = groups.answers[groups.join(session_ms=session_ms, group=group)]
    assert answer.error_code == error
    assert groups.coordinator.snapshot() == {}


def test_old_clients_sit_down_without_an_id_of_their_own(groups: Any):
    joining = groups.join(version=3)
    groups.wait(0)
    answer = groups.answers[joining]
    assert (answer.error_code, answer.generation_id, answer.leader) == (0, 1, answer.member_id)


def test_rejoining_unchanged_followers_get_the_same_answer_but_a_leader_forces_a_rebalance(
    groups: Any,
):
    first, second, generation = groups.stable_pair()
    assert groups.answers[groups.join(second)].generation_id == generation
    assert groups.state() == "Stable"
    groups.join(first)
    assert groups.state() == "PreparingRebalance"


def test_a_repeated_join_answers_the_one_it_replaces(groups: Any):
    first, _, _ = groups.stable_pair()
    once, twice = groups.join(first), groups.join(first)
    assert groups.answers[once].error_code == Errors.REBALANCE_IN_PROGRESS
    assert twice in groups.waiting


def test_members_start_over_when_the_assignment_cannot_be_stored(groups: Any):
    first, second = groups.new_id(), groups.new_id()
    joins = [groups.join(each) for each in (first, second)]
    groups.wait(0)
    generation = groups.answers[joins[0]].generation_id
    waiting = groups.sync(second, generation)
    groups.shared.refuses = Errors.NOT_ENOUGH_REPLICAS
    refused = groups.sync(first, generation, {first: [0]})
    for each in (waiting, refused):
        assert groups.answers[each].error_code == Errors.COORDINATOR_NOT_AVAILABLE
        assert groups.answers[each].assignment == b""
    assert groups.state() == "PreparingRebalance"


def test_an_assignment_that_is_stored_too_late_is_not_given_to_the_next_generation(groups: Any):
    first, second, generation = groups.stable_pair()
    groups.join(first)
    groups.join(second)
    groups.shared.holds = True
    outdated = groups.sync(first, generation + 1, {first: [0, 1, 2, 3]})
    groups.leave((second, None))
    assert groups.answers[outdated].error_code == Errors.REBALANCE_IN_PROGRESS
    assert groups.answers[groups.join(first)].generation_id == generation + 2
    groups.replicate()
    assert groups.state() == "CompletingRebalance"


def test_sync_names_its_errors(groups: Any):
    first, second, generation = groups.stable_pair()
    cases = {
        (first, generation - 1): Errors.ILLEGAL_GENERATION,
        ("nobody", generation): Errors.UNKNOWN_MEMBER_ID,
        (second, generation): Errors.NONE,
    }
    for (member, asked), error in cases.items():
        assert groups.answers[groups.sync(member, asked)].error_code == error
    assert groups.answers[groups.sync(first, 1, group="none")].error_code == (
        Errors.UNKNOWN_MEMBER_ID
    )
    groups.join(first)
    assert groups.answers[groups.sync(second, generation)].error_code == (
        Errors.REBALANCE_IN_PROGRESS
    )


def test_every_state_is_reachable_and_dead_is_final():
    reached = {GroupState.EMPTY}
    for _ in GroupState:
        reached |= {to for (start, _), to in TRANSITIONS.items() if start in reached}
    assert reached == {*GroupState}
    assert not [start for start, _ in TRANSITIONS if start is GroupState.DEAD]
    assert {event for _, event in TRANSITIONS} == {*GroupEvent}
