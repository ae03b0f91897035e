"""What a classic group says to the offsets that are committed in its name.

Two kinds of committers may store an offset:

    generation -1, no member id   A *simple* consumer that assigns partitions to itself,
                                  or an administrator; only while the group is empty.
    a member of this generation   The coordinator does not ask which partitions it owns.
                                  A member of an older generation is fenced
                                  (ILLEGAL_GENERATION): a consumer that slept through a
                                  rebalance cannot move the group back.

An offset that the group may still read does not age.  Others age from the moment the group
became empty, or from their commit: for simple consumers, and for topics that a stable
group no longer subscribes to (KIP-211).
"""

from __future__ import annotations

from engine.coordinators.classic.group import Group
from engine.coordinators.classic.groups import ClassicGroups
from engine.coordinators.classic.states import COMMIT_ANSWERS, GroupState
from engine.wire.consumer_protocol import PROTOCOL_TYPE
from engine.wire.errors import Errors


def check_commit(
    group: Group | None,
    member_id: str,
    instance_id: str | None,
    generation: int,
    version: int,
) -> Errors:
    """Whether this committer may store offsets now; `group` is None if there is none."""
    if group is None:
        if generation < 0:
            return Errors.NONE
        return Errors.GROUP_ID_NOT_FOUND if version >= 9 else Errors.ILLEGAL_GENERATION
    if generation < 0 and group.is_in(GroupState.EMPTY):
        return Errors.NONE
    if _is_nameless(member_id, instance_id, generation):
        return Errors.UNKNOWN_MEMBER_ID
    error = _check_member(group, member_id, instance_id, generation)
    return COMMIT_ANSWERS[group.state] if error is Errors.NONE else error


def check_transactional_commit(
    group: Group | None, member_id: str, instance_id: str | None, generation: int
) -> Errors:
    """The same for a commit in a transaction (KIP-447).

    The member and the generation are checked, the state is not: a commit may come while the group
    rebalances.  A producer that names no member is not fenced by the group at all; it is from
    before KIP-447, and only its own epoch fences it.
    """
    if group is None:
        return Errors.NONE if generation < 0 else Errors.ILLEGAL_GENERATION
    if generation < 0 and group.is_in(GroupState.EMPTY):
        return Errors.NONE
    if _is_nameless(member_id, instance_id, generation):
        return Errors.NONE
    return _check_member(group, member_id, instance_id, generation)


def _is_nameless(member_id: str, instance_id: str | None, generation: int) -> bool:
    return generation < 0 and not member_id and instance_id is None


def _check_member(group: Group, member_id: str, instance_id: str | None, generation: int) -> Errors:
    error = group.check_member(member_id, instance_id)
    if error is not Errors.NONE:
        return error
    return Errors.NONE if generation == group.generation else Errors.ILLEGAL_GENERATION


def committing(groups: ClassicGroups, now: int, group_id: str, member_id: str) -> None:
    """Side effects of an accepted commit: a simple group appears, a member is alive."""
    group = groups.by_id.get(group_id)
    if group is None:
        groups.by_id[group_id] = Group(group_id, state_timestamp_ms=now // 1000)
    elif member_id in group.members and group.is_in(
        GroupState.STABLE, GroupState.PREPARING_REBALANCE
    ):
        groups.heard_from(now, group, group.members[member_id])


def check_delete_offsets(group: Group) -> Errors:
    """A consumer group may lose offsets of topics it does not read; others must be empty."""
    if group.is_in(GroupState.EMPTY) or group.protocol_type == PROTOCOL_TYPE:
        return Errors.NONE
    return Errors.NON_EMPTY_GROUP


def ages_from(group: Group, topic: str, commit_timestamp_ms: int) -> int | None:
    """The moment, in milliseconds, from which a topic's offset ages; None if it does not."""
    if group.is_subscribed(topic):
        return None
    if group.protocol_type and group.is_in(GroupState.EMPTY):
        since_ms = group.state_timestamp_ms
        return commit_timestamp_ms if since_ms == -1 else since_ms
    if group.protocol_type and not (
        group.is_in(GroupState.STABLE) and group.subscribed_topics is not None
    ):
        return None
    return commit_timestamp_ms
