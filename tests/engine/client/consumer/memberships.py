"""Random groups that change: members join, leave, fall behind, subscribe otherwise; topics grow."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from engine.client.consumer.assignors.choices import Assignor
from engine.client.consumer.assignors.memberships import (
    Assignment,
    Members,
    Place,
    Subscription,
    Topics,
)

STEPS = 5
RACKS = ("a", "b", "c")
Stage = tuple[dict[str, list[tuple[str, ...]]], dict[str, Subscription]]


def histories(assignor: Assignor, count: int, seed: int = 1) -> Iterator[Stage]:
    """So many memberships, each STEPS of them one group's history under this assignor."""
    for number in range(count // STEPS):
        yield from _history(assignor, Random(f"{assignor.name}/{seed}/{number}"))


def _history(assignor: Assignor, chance: Random) -> Iterator[Stage]:
    with_racks, is_mixed = chance.random() < 0.4, chance.random() < 0.5
    topics: dict[str, list[tuple[str, ...]]] = {}
    for name in ("orders", "payments", "users", "views")[: chance.randint(1, 4)]:
        topics[name] = [_racks(chance, with_racks) for _ in range(chance.randint(1, 9))]
    members: dict[str, Subscription] = {}
    made = 0
    last: Assignment = {}
    for generation in range(1, STEPS + 1):
        for name in [n for n in members if chance.random() < 0.2]:
            del members[name]
        for _ in range(chance.randint(0, 3) or (not members)):
            made += 1
            instance = f"i-{chance.randrange(100)}-{made}" if chance.random() < 0.3 else None
            rack = chance.choice(RACKS) if with_racks and chance.random() < 0.8 else None
            name = f"m-{chance.randrange(1 << 30):08x}"
            members[name] = Subscription(_wanted(chance, topics, is_mixed), (), -1, instance, rack)
        if is_mixed and chance.random() < 0.5:
            name = chance.choice(list(members))
            members[name] = _as(members[name], topics=_wanted(chance, topics, True))
        if chance.random() < 0.3:
            topics[chance.choice(list(topics))].append(_racks(chance, with_racks))
        for name in members:
            falls_behind = chance.random() < 0.15
            if name in last and not falls_behind:
                members[name] = remember(assignor, members[name], last[name], generation)
        members = dict(sorted(members.items()))
        yield topics, members
        last = assignor.assign(topics, members)


def remember(
    assignor: Assignor, member: Subscription, share: list[Place], generation: int
) -> Subscription:
    """A member's next subscription: what it owns, or for an eager assignor its note."""
    is_eager = "cooperative" not in assignor.protocols
    owned = () if is_eager else tuple(share)
    note = assignor.user_data(tuple(share), generation)
    return _as(member, owned=owned, generation=generation, user_data=note)


def _as(member: Subscription, **changed: object) -> Subscription:
    return Subscription(**{**vars(member), **changed})  # type: ignore[arg-type]


def _racks(chance: Random, with_racks: bool) -> tuple[str, ...]:
    return tuple(sorted(chance.sample(RACKS, chance.randint(1, 2)))) if with_racks else ()


def _wanted(chance: Random, topics: Topics, is_mixed: bool) -> tuple[str, ...]:
    names = list(topics)
    return tuple(chance.sample(names, chance.randint(1, len(names))) if is_mixed else names)


def had(assignor: Assignor, members: Members) -> dict[str, tuple[Place, ...]]:
    """What each member remembers."""
    from engine.client.consumer.assignors import cooperative_sticky, sticky

    reads = sticky.remembered if assignor.name == "sticky" else cooperative_sticky.remembered
    return {name: reads(each).owned for name, each in members.items()}


def java_order(members: Members) -> dict[str, Subscription]:
    """Members in the order in which a Java HashMap with these keys would list them."""
    size = 16
    while len(members) > size * 3 // 4:
        size *= 2

    def bucket(name: str) -> int:
        code = 0
        for letter in name:
            code = (31 * code + ord(letter)) & 0xFFFFFFFF
        return (code ^ (code >> 16)) & (size - 1)

    return {name: members[name] for name in sorted(members, key=bucket)}
