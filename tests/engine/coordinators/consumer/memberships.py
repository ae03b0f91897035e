"""Random groups for the coordinator's assignors: how they grow, shrink and change.

A group's history is five memberships.  Between two of them members come, leave and change their
topics, and topics get partitions; each member remembers its last target.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from random import Random

from engine.coordinators.consumer.assignors.subscription import Subscription, Target

Assign = Callable[[dict[str, Subscription], dict[bytes, int], bool], Target]
Stage = tuple[dict[str, Subscription], dict[bytes, int], bool]


def histories(assign: Assign, count: int, seed: int = 848) -> Iterator[Stage]:
    """`count` memberships; in two groups of three all members read the same topics."""
    random = Random(seed)
    for group in range(count // 5):
        topics = {
            random.randbytes(16): random.randrange(1, 13) for _ in range(random.randint(1, 6))
        }
        alike = group % 3 != 0
        members: dict[str, Subscription] = {}
        for number in range(random.randint(1, 9)):
            join(random, members, topics, f"m{number}", alike)
        for step in range(5):
            yield dict(members), dict(topics), are_alike(members)
            target = assign(members, topics, are_alike(members))
            for member_id, each in members.items():
                members[member_id] = replace(
                    each, target=dict(sorted(target.get(member_id, {}).items()))
                )
            change(random, members, topics, alike, step)


def change(
    random: Random,
    members: dict[str, Subscription],
    topics: dict[bytes, int],
    alike: bool,
    step: int,
) -> None:
    for _ in range(random.randint(0, 2)):
        if len(members) > 1:
            del members[random.choice(list(members))]
    for number in range(random.randint(0, 3)):
        join(random, members, topics, f"n{step}{number}", alike)
    if random.random() < 0.3:
        topics[random.choice(list(topics))] += random.randint(1, 4)
    if random.random() < 0.3:
        new = random.randbytes(16)
        topics[new] = random.randrange(1, 13)
        for member_id, each in members.items():
            if alike or random.random() < 0.5:
                members[member_id] = replace(each, topics=java_set((*each.topics, new)))


def join(
    random: Random,
    members: dict[str, Subscription],
    topics: dict[bytes, int],
    member_id: str,
    alike: bool,
) -> None:
    if alike and members:
        wanted = next(iter(members.values())).topics
    elif alike:
        wanted = java_set(tuple(topics))
    else:
        wanted = java_set(tuple(each for each in topics if random.random() < 0.6))
    instance = f"i{random.randrange(1000)}-{member_id}" if random.random() < 0.3 else None
    members[member_id] = Subscription(wanted, instance)


def are_alike(members: dict[str, Subscription]) -> bool:
    return len({each.topics for each in members.values()}) == 1


def java_set(topics: tuple[bytes, ...]) -> tuple[bytes, ...]:
    """In the order of a Java HashSet of at most twelve topic ids."""

    def bucket(topic_id: bytes) -> int:
        bits = int.from_bytes(topic_id[:8], "big") ^ int.from_bytes(topic_id[8:], "big")
        code = (bits >> 32 ^ bits) & 0xFFFFFFFF
        return (code ^ code >> 16) & 15

    assert len(topics) <= 12
    return tuple(sorted(topics, key=bucket))
