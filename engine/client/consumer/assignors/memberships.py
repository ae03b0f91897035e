"""What an assignor is given, and what it gives back.

    topics    {"orders": [("a", "b"), ("b",), …]}     the racks of each partition's replicas
    members   {"m-1": Subscription(("orders",)), …}   by member id, in the leader's order
    result    {"m-1": [("orders", 0), …], …}          one list per member, perhaps empty

The order of `members` counts where two members have the same claim and one must lose it.  Java
keeps members in a hash map, so there the order follows from the hash codes of the member ids.  Here
it is the order in which the coordinator lists the members.

Racks matter only if members say where they are (client.rack, KIP-881).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Place = tuple[str, int]
"""Topic and partition."""
Topics = Mapping[str, Sequence[tuple[str, ...]]]
Assignment = dict[str, list[Place]]
NO_GENERATION = -1


@dataclass(frozen=True)
class Subscription:
    """What one member said when it joined."""

    topics: tuple[str, ...]
    owned: tuple[Place, ...] = ()
    """What it holds on to while the group rebalances; an eager member holds nothing."""
    generation: int = NO_GENERATION
    """The generation in which it was given what it owns."""
    instance_id: str | None = None
    rack: str | None = None
    user_data: bytes | None = None
    """The assignor's own note to itself, such as what an eager member had before."""


Members = Mapping[str, Subscription]


def places(topics: Topics) -> list[Place]:
    """Every partition, by topic and number."""
    return [(topic, index) for topic in sorted(topics) for index in range(len(topics[topic]))]


def subscribed(topics: Topics, members: Members) -> Topics:
    """The topics that at least one member wants."""
    wanted = {topic for each in members.values() for topic in each.topics}
    return {topic: racks for topic, racks in topics.items() if topic in wanted}


def in_order(members: Members) -> list[str]:
    """Static members first, by instance id, so that a restart does not change their place; the
    others by member id."""

    def key(member: str) -> tuple[bool, str]:
        instance = members[member].instance_id
        return instance is None, member if instance is None else instance

    return sorted(members, key=key)
