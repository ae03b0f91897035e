"""The range assignor: topic by topic, each reader gets a block of neighboring numbers.

    orders    0 1 2 | 3 4 5 | 6 7        payments  0 1 2 | 3 4 5 | 6 7
               a       b      c                     a       b      c

So a member that reads two topics with equally many partitions gets the same numbers of both,
and records with equal keys meet in one member: it can join them.  The price is balance.  The
first members get one more *of each topic*, and most partitions move when a member comes.

Members are taken in the order of their ids.  Static members come first, by instance id, and
get the same block after every restart.  Nothing is remembered from one target to the next.

Source: Kafka's RangeAssignor of the group coordinator.
"""

from __future__ import annotations

from engine.coordinators.consumer.assignors.subscription import (
    Members,
    Partitions,
    Subscription,
    Target,
    Topics,
)


def assign(members: Members, topics: Topics, alike: bool) -> Target:
    """`alike` makes no difference here."""
    readers: dict[bytes, int] = {}
    for member in members.values():
        for topic_id in member.topics:
            readers[topic_id] = readers.get(topic_id, 0) + 1
    next_free = dict.fromkeys(readers, 0)
    larger_blocks = {each: topics[each] % count for each, count in readers.items()}
    target: Target = {}
    for member_id, member in sorted(members.items(), key=_order):
        mine: Partitions = {}
        for topic_id in member.topics:
            size = topics[topic_id] // readers[topic_id] + (larger_blocks[topic_id] > 0)
            larger_blocks[topic_id] -= 1
            start = next_free[topic_id]
            next_free[topic_id] = end = start + size
            if size:
                mine[topic_id] = tuple(range(start, end))
        target[member_id] = mine
    return target


def _order(member: tuple[str, Subscription]) -> tuple[bool, str]:
    member_id, subscription = member
    instance_id = subscription.instance_id
    return instance_id is None, member_id if instance_id is None else instance_id
