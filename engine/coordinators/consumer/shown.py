"""A consumer group for people: the snapshot, and the answer to ConsumerGroupDescribe.

Simplified: both show what is accepted; Kafka describes what is replicated.
"""

from __future__ import annotations

from engine.coordinators.consumer.group import ConsumerGroup, Member, Partitions, owned_partitions
from engine.coordinators.consumer.groups import ConsumerGroups
from engine.metadata.image import MetadataImage
from engine.wire import messages as m

Described = m.ConsumerGroupDescribeResponse
CLASSIC_MEMBER, CONSUMER_MEMBER = 0, 1
"""Member types of ConsumerGroupDescribe (KIP-1099)."""


def shown(groups: ConsumerGroups, group: ConsumerGroup) -> dict[str, object]:
    """The group as plain data, with topics by name."""
    return {
        "epoch": group.epoch,
        "assignment_epoch": group.assignment_epoch,
        "assignor": group.preferred_assignor(groups.settings["group.consumer.assignors"]),
        "protocol_type": group.protocol_type,
        "members": [_member(groups, group, each) for each in group.members.values()],
    }


def _member(groups: ConsumerGroups, group: ConsumerGroup, member: Member) -> dict[str, object]:
    metadata, session = groups.metadata, groups.sessions.get((group.id, member.id))
    return {
        "id": member.id,
        "instance_id": member.instance_id,
        "client_id": member.client_id,
        "host": member.client_host,
        "session_ends_at": None if session is None else session.ends_at,
        "epoch": member.epoch,
        "state": member.state.name,
        "speaks": "consumer" if member.classic is None else "classic",
        "subscribed": {"topics": list(member.topics), "regex": member.regex or None},
        "owns": by_name(metadata, owned_partitions(member.assigned)),
        "target": by_name(metadata, group.target.get(member.id, {})),
        "revoking": by_name(metadata, owned_partitions(member.revoking)),
    }


def by_name(metadata: MetadataImage, partitions: Partitions) -> dict[str, list[int]]:
    """Topic name to partitions, without topics that are gone."""
    return {
        metadata.topics[topic_id].name: list(each)
        for topic_id, each in partitions.items()
        if topic_id in metadata.topics
    }


def described(groups: ConsumerGroups, group: ConsumerGroup) -> Described.DescribedGroup:
    """The group as ConsumerGroupDescribe has it: what is being given back is still assigned."""
    return Described.DescribedGroup(
        group_id=group.id,
        group_state=str(group.state),
        group_epoch=group.epoch,
        assignment_epoch=group.assignment_epoch,
        assignor_name=group.preferred_assignor(groups.settings["group.consumer.assignors"]),
        members=[
            Described.Member(
                member_id=member.id,
                instance_id=member.instance_id,
                rack_id=member.rack_id,
                member_epoch=member.epoch,
                client_id=member.client_id,
                client_host=member.client_host,
                subscribed_topic_names=list(member.topics),
                subscribed_topic_regex=member.regex,
                assignment=_rows(groups.metadata, _held(member)),
                target_assignment=_rows(groups.metadata, group.target.get(member.id, {})),
                member_type=CONSUMER_MEMBER if member.classic is None else CLASSIC_MEMBER,
            )
            for member in group.members.values()
        ],
    )


def _held(member: Member) -> Partitions:
    held = {topic_id: dict(each) for topic_id, each in member.assigned.items()}
    for topic_id, each in member.revoking.items():
        held.setdefault(topic_id, {}).update(each)
    return owned_partitions(held)


def _rows(metadata: MetadataImage, partitions: Partitions) -> Described.Assignment:
    return Described.Assignment(
        topic_partitions=[
            Described.TopicPartitions(topic_id, metadata.topics[topic_id].name, list(each))
            for topic_id, each in partitions.items()
            if topic_id in metadata.topics
        ]
    )
