"""One consumer group: its epochs, its members, and who shall own what.  Plain data with rules.

    members   id -> Member: what it subscribes to, and what it owns
    target    member id -> what it shall own in the end, computed by an assignor
    regexes   regular expression -> the topics that it matched last

A partition is held from the moment it is assigned until its owner has confirmed the revocation,
or is thrown out.  `owner_epochs` says which ones are held; a held partition is assigned to no
other member.  So it has one owner at a time, and a slow owner delays only those who wait
for its partitions.

Everything here is stored (`stored_group`).  A member is never changed in place, so a copy of a
group is cheap: see `draft`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from engine.coordinators.consumer.states import GroupState, MemberState
from engine.wire.consumer_protocol import PROTOCOL_TYPE

Partitions = dict[bytes, tuple[int, ...]]
"""Topic id -> its partitions, in order."""

Owned = dict[bytes, dict[int, int]]
"""Topic id -> partition -> the assignment epoch in which the owner got it (KIP-1251)."""


@dataclass(frozen=True, slots=True)
class ClassicProtocols:
    """What a member of the classic protocol said of itself: its assignors, best liked first."""

    session_timeout_ms: int
    protocols: tuple[tuple[str, bytes], ...]


@dataclass(frozen=True, slots=True)
class Member:
    """One member; `topics` are in order, `regex` is empty if it has none."""

    id: str
    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    topics: tuple[str, ...] = ()
    regex: str = ""
    rebalance_timeout_ms: int = -1
    assignor: str | None = None
    classic: ClassicProtocols | None = None
    state: MemberState = MemberState.STABLE
    epoch: int = 0
    previous_epoch: int = -1
    assigned: Owned = field(default_factory=dict)
    revoking: Owned = field(default_factory=dict)

    def has_reached(self, assignment_epoch: int) -> bool:
        return self.state is MemberState.STABLE and self.epoch == assignment_epoch

    def assignment_epoch_of(self, topic_id: bytes, partition: int) -> int | None:
        """When it got a partition that it owns, or has yet to give back; None otherwise."""
        owned = self.assigned.get(topic_id, {}).get(partition)
        return self.revoking.get(topic_id, {}).get(partition) if owned is None else owned


@dataclass(frozen=True, slots=True)
class ResolvedRegex:
    """The topics, in order, that a regular expression matched at `version` of the metadata."""

    topics: tuple[str, ...]
    version: int
    at_ms: int


@dataclass(slots=True)
class ConsumerGroup:
    """A group; `assigned_at_ms` is when the target was computed, 0 if there never was one.

    A new group is in epoch 1, so that no member is answered epoch 0, which means joining.
    """

    id: str
    epoch: int = 1
    metadata_hash: int = 0
    assignment_epoch: int = 1
    assigned_at_ms: int = 0
    members: dict[str, Member] = field(default_factory=dict)
    target: dict[str, Partitions] = field(default_factory=dict)
    regexes: dict[str, ResolvedRegex] = field(default_factory=dict)
    # What follows from the members.
    static_members: dict[str, str] = field(default_factory=dict)
    owner_epochs: dict[tuple[bytes, int], int] = field(default_factory=dict)

    protocol_type = PROTOCOL_TYPE

    def copied(self) -> ConsumerGroup:
        """Its own tables with the same members, which are never changed in place."""
        return ConsumerGroup(
            self.id,
            self.epoch,
            self.metadata_hash,
            self.assignment_epoch,
            self.assigned_at_ms,
            dict(self.members),
            dict(self.target),
            dict(self.regexes),
            dict(self.static_members),
            dict(self.owner_epochs),
        )

    # -- states

    @property
    def state(self) -> GroupState:
        if not self.members:
            return GroupState.EMPTY
        if self.epoch > self.assignment_epoch:
            return GroupState.ASSIGNING
        arrived = all(each.has_reached(self.assignment_epoch) for each in self.members.values())
        return GroupState.STABLE if arrived else GroupState.RECONCILING

    # -- who is in

    def put(self, member: Member) -> None:
        """Takes a new or changed member over, with what it owns."""
        self._release(self.members.get(member.id))
        self.members[member.id] = member
        if member.instance_id is not None:
            self.static_members[member.instance_id] = member.id
        for owned in (member.assigned, member.revoking):
            for topic_id, partitions in owned.items():
                for partition in partitions:
                    self.owner_epochs[topic_id, partition] = member.epoch

    def remove(self, member_id: str) -> None:
        member = self.members.pop(member_id, None)
        self._release(member)
        if member is not None and self.static_members.get(member.instance_id or "") == member_id:
            del self.static_members[member.instance_id or ""]

    def _release(self, member: Member | None) -> None:
        for owned in () if member is None else (member.assigned, member.revoking):
            for topic_id, partitions in owned.items():
                for partition in partitions:
                    self.owner_epochs.pop((topic_id, partition), None)

    def static_member(self, instance_id: str | None) -> Member | None:
        return self.members.get(self.static_members.get(instance_id or "", ""))

    @property
    def classic_members(self) -> list[Member]:
        """Those that still speak the classic protocol."""
        return [each for each in self.members.values() if each.classic is not None]

    # -- who reads what

    def topics_of(self, member: Member) -> tuple[str, ...]:
        """The names of the topics it subscribes to, by name or by regular expression."""
        resolved = self.regexes.get(member.regex)
        if resolved is None or not resolved.topics:
            return member.topics
        return tuple(sorted({*member.topics, *resolved.topics}))

    def subscribed_topics(self) -> list[str]:
        """What some member subscribes to, in order."""
        names: dict[str, None] = {}
        for topics in dict.fromkeys(self.topics_of(each) for each in self.members.values()):
            names.update(dict.fromkeys(topics))
        return sorted(names)

    def is_subscribed(self, topic: str) -> bool:
        return any(topic in self.topics_of(each) for each in self.members.values())

    def readers_of(self, regex: str) -> list[Member]:
        """The members that subscribe with this regular expression."""
        return [each for each in self.members.values() if each.regex == regex]

    def preferred_assignor(self, offered: Iterable[str]) -> str:
        """The assignor that most members ask for; between equals, the first that is offered."""
        offered = list(offered)
        votes = dict.fromkeys(offered, 0)
        for member in self.members.values():
            if member.assignor in votes:
                votes[member.assignor] += 1
        return max(offered, key=lambda name: votes[name])


def owned_partitions(owned: Mapping[bytes, Mapping[int, int]]) -> Partitions:
    """Without the epochs."""
    return {topic_id: tuple(sorted(each)) for topic_id, each in sorted(owned.items())}
