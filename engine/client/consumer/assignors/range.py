"""Range: each topic by itself, its partitions in blocks, the first members one more if need be.

    orders    0 1 2 3 │ 4 5 6          A: 0-3  B: 4-6
    payments  0 1 2 3 │ 4 5 6          A: 0-3  B: 4-6     the same blocks in every topic

The same numbers of two topics go to the same member.  So if both topics are partitioned by the
same key, one member sees both halves of a join.  The price: with many topics the first members
collect all the extra partitions.

If members have a rack (client.rack), each first takes partitions of its share that have a replica
in its rack, so that it can fetch nearby (KIP-392, KIP-881).  Balance comes first, and topics that
go together (same number of partitions, same members) stay together.

Source: KIP-881; RangeAssignor in Kafka's clients.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.client.consumer.assignors.memberships import Assignment, Members, Topics, in_order
from engine.client.consumer.assignors.racks import racks_matter

NAME = "range"


@dataclass
class _Topic:
    """One topic while it is shared out."""

    name: str
    racks: list[tuple[str, ...]]
    members: dict[str, str | None]
    """Its subscribers in order, with their racks."""
    counts: dict[str, int] = field(default_factory=dict)
    left: list[int] = field(default_factory=list)
    quota: int = 0
    extras: int = 0

    def __post_init__(self) -> None:
        self.counts = dict.fromkeys(self.members, 0)
        self.left = list(range(len(self.racks)))
        if self.members:
            self.quota, self.extras = divmod(len(self.racks), len(self.members))

    @property
    def has_racks(self) -> bool:
        return any(rack for rack in self.members.values())

    @property
    def needs_racks(self) -> bool:
        return racks_matter([rack for rack in self.members.values() if rack], self.racks)

    def room(self, member: str) -> int:
        """How many more partitions a member may get."""
        return max(0, self.quota + (self.extras > 0) - self.counts[member])

    def is_near(self, member: str, index: int) -> bool:
        rack = self.members[member]
        return not rack or rack in self.racks[index]

    def give(self, member: str, indexes: list[int], shares: Assignment) -> None:
        shares[member] += [(self.name, index) for index in indexes]
        self.left = [index for index in self.left if index not in indexes]
        self.counts[member] += len(indexes)
        self.extras -= self.counts[member] > self.quota

    def share_out(self, shares: Assignment, near_only: bool = False) -> None:
        for member in self.members:
            wanted = [i for i in self.left if not near_only or self.is_near(member, i)]
            block = wanted[: self.room(member)]
            if block:
                self.give(member, block, shares)


def assign(topics: Topics, members: Members) -> Assignment:
    shares: Assignment = {member: [] for member in members}
    ordered = in_order(members)
    states = []
    for topic in sorted(topics):
        subscribers = {m: members[m].rack for m in ordered if topic in members[m].topics}
        if topics[topic]:
            states.append(_Topic(topic, list(topics[topic]), subscribers))
    if any(state.needs_racks for state in states):
        _match_racks(states, shares)
    for state in states:
        state.share_out(shares)
    return {member: sorted(share) for member, share in shares.items()}


def _match_racks(states: list[_Topic], shares: Assignment) -> None:
    """Gives out what is in its member's rack; topics that go together, together."""
    groups: dict[tuple[object, ...], list[_Topic]] = {}
    for state in states:
        if state.has_racks:
            key = (len(state.racks), *state.members.items())
            groups.setdefault(key, []).append(state)
    for together in groups.values():
        if len(together) > 1:
            _match_together(together, shares)
        elif together[0].needs_racks:
            together[0].share_out(shares, near_only=True)


def _match_together(states: list[_Topic], shares: Assignment) -> None:
    """The same number of every topic to the first member that is near to all of them."""
    waiting = list(states[0].members)
    for index in range(len(states[0].racks)):
        for member in waiting:
            if all(each.is_near(member, index) and each.room(member) for each in states):
                for each in states:
                    each.give(member, [index], shares)
                if not any(each.room(member) for each in states):
                    waiting.remove(member)
                break
