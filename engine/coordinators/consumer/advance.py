"""What follows when a member came or changed: epoch, target, and its own next step.

    subscribe    The member is written down if it changed.  Other topics than before bump the
                 group epoch, as does a topic that got more partitions, came or went.
    target       computed if the group epoch is ahead of it, and the interval is over
    reconcile    this member takes its next step towards it

Both protocols' members go this way: those that send heartbeats, and those that join a
consumer group with JoinGroup.

Whether a topic changed is seen by a hash over all the group subscribes to, which is stored beside
the group epoch.  It is computed again when the metadata has changed since.
"""

from __future__ import annotations

from hashlib import blake2b

from engine.coordinators.consumer import regular_expressions, target
from engine.coordinators.consumer.draft import Draft
from engine.coordinators.consumer.group import ConsumerGroup, Member, ResolvedRegex
from engine.coordinators.consumer.groups import ConsumerGroups, Deadline
from engine.coordinators.consumer.reconciliation import Reported, reconcile
from engine.coordinators.consumer.states import JOIN_EPOCH, MemberState
from engine.coordinators.consumer.stored_group import (
    current_record,
    epoch_record,
    member_record,
    regex_record,
)
from engine.metadata.image import MetadataImage

_REGEX_MIN_INTERVAL_MS = 10_000
"""The least time between two resolutions of a group's expressions."""


def advance(
    groups: ConsumerGroups, now: int, draft: Draft, member: Member, reported: Reported
) -> Member:
    """Takes the changed member into the draft, and the group and the member forward."""
    changed = enter(groups, now, draft, member)
    if target.is_due(groups, now, draft.group):
        target.compute(groups, now, draft)
    return approach(groups, draft, member, reported, changed)


def enter(groups: ConsumerGroups, now: int, draft: Draft, member: Member) -> bool:
    """The member and the group epoch that follows; whether it reads other topics than before."""
    before = draft.group.members.get(member.id, Member(member.id))
    changed = subscribe(groups, now, draft, before, member)
    what = "joined" if before.epoch == JOIN_EPOCH else "reads other topics"
    bump_if_changed(groups, draft, changed, f"{member.id} {what}")
    return changed


def approach(
    groups: ConsumerGroups, draft: Draft, member: Member, reported: Reported, changed: bool
) -> Member:
    """The member's own next step."""
    group = draft.group
    topics = target.topic_ids(groups.metadata, group.topics_of(member))
    moved = reconcile(group, member, topics, reported, changed)
    if moved != member:
        draft.put(current_record(group.id, moved))
        draft.why.append(f"{member.id} {moved.state.name}, epoch {member.epoch} to {moved.epoch}")
    return moved


def keep_deadline(groups: ConsumerGroups, now: int, group_id: str, member: Member) -> None:
    """A member that has to give back has its rebalance timeout for that."""
    if member.classic is not None:
        return
    if member.state is MemberState.UNREVOKED_PARTITIONS:
        wait_ms = member.rebalance_timeout_ms
        groups.set_timer(now, Deadline.REVOCATION, group_id, member.id, wait_ms)
    else:
        groups.cancel_timer(Deadline.REVOCATION, group_id, member.id)


def subscribe(
    groups: ConsumerGroups, now: int, draft: Draft, before: Member, member: Member
) -> bool:
    """Writes the member down if it changed; whether it reads other topics than before."""
    if member.regex and member.regex != before.regex:
        regular_expressions.check(member.regex)
    is_new = member.id not in draft.group.members
    if is_new or member != before:
        draft.put(member_record(draft.group.id, member))
    changed = member.topics != before.topics
    if member.regex != before.regex:
        changed = True
        forget_unread(draft, before.regex)
    return resolve(groups, now, draft) or changed


def forget_unread(draft: Draft, regex: str) -> None:
    """An expression that no member has any more is not kept."""
    if regex in draft.group.regexes and not draft.group.readers_of(regex):
        draft.put(regex_record(draft.group.id, regex, None))


def resolve(groups: ConsumerGroups, now: int, draft: Draft) -> bool:
    """Matches the group's expressions if it is time; whether one found other topics."""
    group = draft.group
    wanted = dict.fromkeys(each.regex for each in group.members.values() if each.regex)
    if not wanted:
        return False
    now_ms, version = now // 1000, groups.metadata.offset
    last_ms = max((each.at_ms for each in group.regexes.values()), default=0)
    seen = max((each.version for each in group.regexes.values()), default=-1)
    new = any(regex not in group.regexes for regex in wanted)
    if not new:
        stale = seen < version and now_ms > last_ms + _REGEX_MIN_INTERVAL_MS
        old = now_ms > last_ms + groups.settings["group.consumer.regex.refresh.interval.ms"]
        if not stale and not old:
            return False
    changed = False
    for regex in wanted:
        topics = regular_expressions.matching(regex, groups.metadata.topic_ids)
        last = group.regexes.get(regex)
        changed = changed or topics != (last.topics if last else ())
        draft.put(regex_record(group.id, regex, ResolvedRegex(topics, version, now_ms)))
    return changed


def bump_if_changed(groups: ConsumerGroups, draft: Draft, changed: bool, why: str) -> None:
    """A new group epoch if the group changed, or a topic that it reads did."""
    group = draft.group
    seen = groups.metadata_seen.get(group.id)
    if not changed and seen == groups.metadata.offset:
        return
    new_hash = metadata_hash(group, groups.metadata)
    if changed or new_hash != group.metadata_hash:
        draft.put(epoch_record(group.id, group.epoch + 1, new_hash))
        draft.why.append(f"epoch {draft.group.epoch}: {why if changed else 'a topic changed'}")
    draft.metadata_offset = groups.metadata.offset


def metadata_hash(group: ConsumerGroup, metadata: MetadataImage) -> int:
    """Over id and partition count of each topic that is subscribed to and exists; 0 for none."""
    found = blake2b(digest_size=8)
    exists = False
    for name in group.subscribed_topics():
        topic = metadata.topic(name)
        if topic is not None:
            exists = True
            found.update(topic.id + name.encode() + len(topic.partitions).to_bytes(4, "big"))
    return int.from_bytes(found.digest(), "big", signed=True) if exists else 0
