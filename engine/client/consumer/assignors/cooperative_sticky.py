"""Cooperative sticky: the sticky assignment in two steps, so that what stays never stops (KIP-429).

    generation 7    A owns 0 1 2 3        B joins
    generation 8    A keeps 0 1           B gets nothing: 2 and 3 still belong to A
                    A revokes 2 3 and joins again
    generation 9    A keeps 0 1           B gets 2 3

A partition may have only one owner.  A member of a *cooperative* group does not revoke anything
before it joins; it says what it owns.  So the leader may not give a partition away that another
member still owns.  It takes it away first: the owner sees it missing from its new assignment,
revokes it, and joins again, and the next generation hands it over.  That costs a second
rebalance, but partitions that do not move are read all the time.

`owned` and `generation` are fields of the subscription (version 2, KIP-792); older members write
the generation into user_data.

Sources: KIP-429, KIP-792; CooperativeStickyAssignor in Kafka's clients.
"""

from __future__ import annotations

import struct

from engine.client.consumer.assignors.claims import Memory
from engine.client.consumer.assignors.memberships import (
    Assignment,
    Members,
    Place,
    Subscription,
    Topics,
)
from engine.client.consumer.assignors.sticky import balanced

NAME = "cooperative-sticky"


def assign(topics: Topics, members: Members) -> Assignment:
    shares, moving = balanced(topics, members, remembered)
    if moving is None:
        moving = _moving(shares, members)
    return {name: [p for p in share if moving.get(p) != name] for name, share in shares.items()}


def _moving(shares: Assignment, members: Members) -> dict[Place, str]:
    """What a member gets that another one owns and does not keep."""
    taken: set[Place] = set()
    for name, share in shares.items():
        taken |= set(members[name].owned) - set(share)
    return {
        place: name
        for name, share in shares.items()
        for place in share
        if place in taken and place not in members[name].owned
    }


def user_data(owned: tuple[Place, ...] | None, generation: int) -> bytes:
    return struct.pack(">i", generation)


def remembered(subscription: Subscription) -> Memory:
    if subscription.generation >= 0:
        return Memory(subscription.owned, subscription.generation)
    if subscription.user_data is None:
        return Memory(subscription.owned, None)
    try:
        return Memory(subscription.owned, struct.unpack_from(">i", subscription.user_data)[0])
    except struct.error:
        return Memory(subscription.owned, -1)
