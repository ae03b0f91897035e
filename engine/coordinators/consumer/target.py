"""The target: who shall own what, computed when the group epoch is ahead of it.

An assignor is asked, and what it answers is written down member by member, where it differs from
before.  The members learn of it with their next heartbeats.

One target is not computed within `group.consumer.assignment.interval.ms` of the last (KIP-1263).
Members that come one after the other then share one target; until the interval is over the
last one stays, and a newcomer waits with nothing in it.  A group's first target is computed
at once.

The assignor is the one that most members ask for, else the broker's first.

Simplified: the assignor runs inside the heartbeat; Kafka can hand it to a thread of its own.
"""

from __future__ import annotations

from engine.coordinators.consumer.assignors import range_assignor, uniform
from engine.coordinators.consumer.assignors.subscription import Subscription, Target
from engine.coordinators.consumer.draft import Draft
from engine.coordinators.consumer.group import ConsumerGroup
from engine.coordinators.consumer.groups import ConsumerGroups
from engine.coordinators.consumer.stored_group import assignment_epoch_record, target_record
from engine.metadata.image import MetadataImage

ASSIGNORS = {"uniform": uniform.assign, "range": range_assignor.assign}


def is_due(groups: ConsumerGroups, now: int, group: ConsumerGroup) -> bool:
    """Whether the target is behind the group, and may be computed now."""
    if group.assignment_epoch >= group.epoch:
        return False
    interval_ms: int = groups.config(group.id)["consumer.assignment.interval.ms"]
    if not group.assigned_at_ms or not interval_ms:
        return True
    return now // 1000 >= group.assigned_at_ms + interval_ms


def compute(groups: ConsumerGroups, now: int, draft: Draft) -> None:
    """Writes the new target down, as far as it differs from the last."""
    group = draft.group
    assignor = group.preferred_assignor(groups.settings["group.consumer.assignors"])
    target = _ask(assignor, group, groups.metadata)
    for member_id in list(group.members):
        mine = target.get(member_id, {})
        if group.target.get(member_id) != mine:
            draft.put(target_record(group.id, member_id, mine))
    draft.put(assignment_epoch_record(group.id, group.epoch, now // 1000))
    draft.why.append(f"target of epoch {group.epoch} by {assignor}")


def _ask(assignor: str, group: ConsumerGroup, metadata: MetadataImage) -> Target:
    names = {member.id: group.topics_of(member) for member in group.members.values()}
    ids = {each: topic_ids(metadata, each) for each in dict.fromkeys(names.values())}
    members = {
        member.id: Subscription(
            ids[names[member.id]], member.instance_id, _existing(group, member.id, metadata)
        )
        for member in group.members.values()
    }
    topics = {
        each: len(metadata.topics[each].partitions)
        for each in dict.fromkeys(topic_id for read in ids.values() for topic_id in read)
    }
    return ASSIGNORS[assignor](members, topics, len(ids) == 1)


def topic_ids(metadata: MetadataImage, names: tuple[str, ...]) -> tuple[bytes, ...]:
    """Of those that exist, in the order of their names."""
    return tuple(metadata.topic_ids[each] for each in names if each in metadata.topic_ids)


def _existing(
    group: ConsumerGroup, member_id: str, metadata: MetadataImage
) -> dict[bytes, tuple[int, ...]]:
    """A member's last target, without topics that are gone."""
    last = group.target.get(member_id, {})
    return {each: last[each] for each in sorted(last) if each in metadata.topics}
