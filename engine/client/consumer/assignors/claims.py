"""What the members say they had, and which of them is right.

A sticky assignor needs to know the last assignment.  The leader may be new and know nothing, so
every member brings along what it had, and the generation in which it got it.  A member that was
away comes back with an old claim to a partition that another has by now.  Without the generation
the leader could not tell which claim is the old one, and might give the partition to two members
(KIP-341).

    m-1 owned orders-0 in generation 7      the newer claim wins
    m-2 owned orders-0 in generation 5      loses it; it is not lost from sight: see `older`

Two claims of one generation contradict each other.  Neither counts, and the partition is
treated as free, but also as owned by another: the cooperative assignor must not give it away before
both have revoked it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from engine.client.consumer.assignors.memberships import (
    NO_GENERATION,
    Members,
    Place,
    Subscription,
    Topics,
)


@dataclass(frozen=True)
class Memory:
    """What a member remembers; `generation` None if it does not know when that was."""

    owned: tuple[Place, ...] = ()
    generation: int | None = None


Remembers = Callable[[Subscription], Memory]


@dataclass
class Claims:
    """`owned` is what each member had, disputes settled; `disputed` has two owners."""

    owned: dict[str, list[Place]] = field(default_factory=dict)
    disputed: dict[Place, None] = field(default_factory=dict)
    newest: int = NO_GENERATION
    older: dict[Place, tuple[str, int]] = field(default_factory=dict)
    """Owners in an earlier generation, with that generation."""


def settle(topics: Topics, members: Members, remembers: Remembers) -> Claims:
    claims = Claims()
    owners: dict[Place, str] = {}
    memories = {name: remembers(each) for name, each in members.items()}
    generations = {name: _known(each.generation) for name, each in memories.items()}
    claims.newest = max([NO_GENERATION, *generations.values()])
    for name, memory in memories.items():
        mine = claims.owned[name] = []
        for place in memory.owned:
            if place[0] not in topics:
                continue
            other = owners.get(place)
            if other is None or generations[name] > generations[other]:
                if other is not None:
                    claims.owned[other].remove(place)
                mine.append(place)
                owners[place] = name
            elif generations[name] == generations[other]:
                claims.disputed[place] = None
                if place in claims.owned[other]:
                    claims.owned[other].remove(place)
                owners[place] = name
    _find_older(claims, memories)
    return claims


def _find_older(claims: Claims, memories: dict[str, Memory]) -> None:
    for name, memory in memories.items():
        generation = _known(memory.generation)
        if generation < claims.newest:
            for place in memory.owned:
                if place not in claims.older or generation > claims.older[place][1]:
                    claims.older[place] = (name, generation)


def _known(generation: int | None) -> int:
    return NO_GENERATION if generation is None else generation
