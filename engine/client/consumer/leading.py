"""The leader's work: who gets what in a generation.

JoinGroup's answer to the leader has the subscription of every member.  The leader needs the sizes
of all their topics, also of those that it does not read itself, runs the assignor that the members
agreed on, and sends each member's share with its SyncGroup.  From then on it watches these topics:
if one gets more partitions, the leader joins again, which makes the whole group rebalance.

`skip_assignment` is for a static leader that came back: the assignment is still valid (KIP-814).
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.client.consumer.assignors.choices import ASSIGNORS
from engine.client.consumer.assignors.memberships import Subscription as Wanted
from engine.client.consumer.settings import ConsumerSettings
from engine.client.metadata import Metadata, Place
from engine.wire import consumer_protocol
from engine.wire import messages as m

Sizes = dict[str, int]
"""Partitions by topic."""


@dataclass
class Leadership:
    """A generation that is ours to assign; `asked` counts the metadata that was there then."""

    assignor: str
    members: dict[str, Wanted]
    skip: bool
    asked: int

    @classmethod
    def of(cls, body: m.JoinGroupResponse, metadata: Metadata) -> Leadership:
        members = {each.member_id: _read(each) for each in body.members}
        asked = -1
        for topic in [topic for each in members.values() for topic in each.topics]:
            if topic not in metadata.topics:
                metadata.add_topic(topic)
                asked = metadata.updates
        return cls(body.protocol_name or "", members, body.skip_assignment, asked)

    def is_informed(self, metadata: Metadata) -> bool:
        """Whether metadata has been asked for since."""
        return metadata.updates > self.asked

    def sizes(self, metadata: Metadata) -> Sizes:
        topics = sorted({topic for each in self.members.values() for topic in each.topics})
        return {topic: metadata.partitions(topic) for topic in topics}

    def assignments(self, metadata: Metadata) -> dict[str, bytes]:
        """Each member's share, as it is sent."""
        if self.skip:
            return {}
        topics = {
            topic: [_racks(metadata, (topic, index)) for index in range(count)]
            for topic, count in self.sizes(metadata).items()
            if count
        }
        shares = ASSIGNORS[self.assignor].assign(topics, self.members)
        return {member: _written(share) for member, share in shares.items()}


def has_changed(known: Sizes, metadata: Metadata) -> bool:
    """Whether a topic of the group has grown, appeared, or is gone."""
    return any(metadata.partitions(topic) != count for topic, count in known.items())


# -- what members tell each other


def subscriptions(
    settings: ConsumerSettings, topics: tuple[str, ...], owned: tuple[Place, ...],
    generation: int, last: tuple[Place, ...] | None, last_generation: int,
) -> list[tuple[str, bytes]]:  # fmt: skip
    """A member's subscription once for each assignor, with that assignor's user data."""
    kind = m.ConsumerProtocolSubscription
    rows = [kind.TopicPartition(topic, indexes) for topic, indexes in _by_topic(owned)]
    written = []
    for name in settings.assignors:
        body = kind(
            topics=list(topics), user_data=ASSIGNORS[name].user_data(last, last_generation),
            owned_partitions=rows, generation_id=generation, rack_id=settings.client_rack or None,
        )  # fmt: skip
        written.append((name, consumer_protocol.encode(body)))
    return written


def _read(member: m.JoinGroupResponse.JoinGroupResponseMember) -> Wanted:
    body = consumer_protocol.read_subscription(member.metadata)
    owned = tuple((row.topic, index) for row in body.owned_partitions for index in row.partitions)
    return Wanted(
        tuple(body.topics), owned, body.generation_id, member.group_instance_id,
        body.rack_id, body.user_data,
    )  # fmt: skip


def _racks(metadata: Metadata, place: Place) -> tuple[str, ...]:
    racks = (metadata.racks.get(broker) for broker in metadata.replicas.get(place, ()))
    return tuple(rack for rack in racks if rack)


def _by_topic(places: tuple[Place, ...] | list[Place]) -> list[tuple[str, list[int]]]:
    topics: dict[str, list[int]] = {}
    for topic, index in sorted(places):
        topics.setdefault(topic, []).append(index)
    return list(topics.items())


def _written(share: list[Place]) -> bytes:
    kind = m.ConsumerProtocolAssignment
    rows = [kind.TopicPartition(topic, indexes) for topic, indexes in _by_topic(share)]
    return consumer_protocol.encode(kind(assigned_partitions=rows))


def read_assignment(data: bytes) -> tuple[Place, ...]:
    """A share as SyncGroup brings it; nothing if it is empty."""
    if not data:
        return ()
    body = consumer_protocol.read_assignment(data)
    rows = body.assigned_partitions
    return tuple(sorted((row.topic, index) for row in rows for index in row.partitions))
