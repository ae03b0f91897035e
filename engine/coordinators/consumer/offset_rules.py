"""What a consumer group says to the offsets that are committed and fetched in its name.

    the member's epoch   The commit is accepted.
    an older one         It is accepted for partitions that the member has owned since then,
                         or has yet to give back (KIP-1251).  A commit and a heartbeat may
                         cross on the wire, and that must not fence an honest member.
    a newer one          It was never given out: STALE_MEMBER_EPOCH.

A zombie is fenced all the same: what it lost, another member got, and it gets the partition back
in a later epoch only.  One bad partition refuses the whole commit.

A member of the classic protocol calls its epoch a generation, and hears ILLEGAL_GENERATION.
"""

from __future__ import annotations

from collections.abc import Iterable

from engine.coordinators.consumer.group import ConsumerGroup, Member
from engine.wire.errors import Errors

_FIRST_VERSION_WITH_EPOCHS = 9


def check_commit(
    group: ConsumerGroup,
    member_id: str,
    epoch: int,
    version: int,
    partitions: Iterable[tuple[bytes, int]],
) -> Errors:
    """Whether this committer may store offsets for these partitions now."""
    if epoch < 0 and not group.members:
        return Errors.NONE
    member = group.members.get(member_id)
    if member is None:
        return Errors.UNKNOWN_MEMBER_ID
    if member.classic is None and version < _FIRST_VERSION_WITH_EPOCHS:
        return Errors.UNSUPPORTED_VERSION
    if epoch == member.epoch:
        return Errors.NONE
    if epoch > member.epoch or any(_came_later(member, *each, epoch) for each in partitions):
        return _stale(member)
    return Errors.NONE


def check_fetch(group: ConsumerGroup, member_id: str | None, epoch: int) -> Errors:
    """Whether this member may read the group's offsets; anybody may who names no member."""
    if member_id is None and epoch < 0:
        return Errors.NONE
    member = group.members.get(member_id or "")
    if member is None:
        return Errors.UNKNOWN_MEMBER_ID
    return Errors.NONE if epoch == member.epoch else _stale(member)


def _came_later(member: Member, topic_id: bytes, partition: int, epoch: int) -> bool:
    since = member.assignment_epoch_of(topic_id, partition)
    return since is None or since > epoch


def _stale(member: Member) -> Errors:
    return Errors.STALE_MEMBER_EPOCH if member.classic is None else Errors.ILLEGAL_GENERATION
