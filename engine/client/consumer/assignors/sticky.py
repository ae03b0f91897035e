"""Sticky: balanced first, and then as many partitions as possible stay where they were (KIP-54).

    round robin   C leaves:   A 0 3 6 → 0 2 4 6 8    B 1 4 7 → 1 3 5 7     moved: nearly all
    sticky        C leaves:   A 0 3 6 → 0 3 6 2 8    B 1 4 7 → 1 4 7 5     moved: C's only

A member that keeps a partition keeps its caches and its state for it.

It is an *eager* assignor: members revoke everything before they join, so nothing that they own is
in their subscription.  Each writes into `user_data` what it had, and in which generation.  So even
a partition that stays is revoked and assigned again, and the whole group pauses.  Only the
cooperative assignor changes that.

Sources: KIP-54, KIP-341 (generation); AbstractStickyAssignor in Kafka's clients.
"""

from __future__ import annotations

import struct

from engine.client.consumer.assignors.claims import Memory, Remembers, settle
from engine.client.consumer.assignors.equal_subscriptions import EqualSubscriptions
from engine.client.consumer.assignors.memberships import (
    Assignment,
    Members,
    Place,
    Subscription,
    Topics,
    subscribed,
)
from engine.client.consumer.assignors.mixed_subscriptions import MixedSubscriptions
from engine.client.consumer.assignors.racks import Racks

NAME = "sticky"


def assign(topics: Topics, members: Members) -> Assignment:
    return balanced(topics, members, remembered)[0]


def balanced(
    topics: Topics, members: Members, remembers: Remembers
) -> tuple[Assignment, dict[Place, str] | None]:
    """An assignment, and what moves between living members; None if that was not kept."""
    topics = subscribed(topics, members)
    claims = settle(topics, members, remembers)
    racks = Racks(topics, members)
    if len({frozenset(each.topics) for each in members.values()}) == 1:
        exact = EqualSubscriptions(topics, claims, racks)
        return exact.balance(), exact.moving
    return MixedSubscriptions(topics, members, claims, racks).balance(), None


# -- the note that a member writes to the next leader


def user_data(owned: tuple[Place, ...] | None, generation: int) -> bytes | None:
    """What a member had, and since which generation; None before its first assignment."""
    if owned is None:
        return None
    topics: dict[str, list[int]] = {}
    for topic, index in owned:
        topics.setdefault(topic, []).append(index)
    out = struct.pack(">i", len(topics))
    for topic, indexes in topics.items():
        name = topic.encode()
        out += struct.pack(">h", len(name)) + name
        out += struct.pack(f">i{len(indexes)}i", len(indexes), *indexes)
    return out + struct.pack(">i", generation)


def remembered(subscription: Subscription) -> Memory:
    """Reads that note; the first version had no generation, and rubbish counts as nothing."""
    data = subscription.user_data
    if not data:
        return Memory()
    owned: list[Place] = []
    try:
        (count,) = struct.unpack_from(">i", data)
        at = 4
        for _ in range(count):
            (length,) = struct.unpack_from(">h", data, at)
            topic = data[at + 2 : at + 2 + length].decode()
            at += 2 + length
            (size,) = struct.unpack_from(">i", data, at)
            owned += [(topic, i) for i in struct.unpack_from(f">{size}i", data, at + 4)]
            at += 4 + 4 * size
        generation = struct.unpack_from(">i", data, at)[0] if len(data) >= at + 4 else None
    except (struct.error, UnicodeDecodeError):
        return Memory((), -1)
    return Memory(tuple(owned), generation)
