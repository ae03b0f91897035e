"""What the invariants remember of one group, from event to event."""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.client.metadata import Place
from engine.coordinators.group_shard import GroupShard

ANSWERED_US = 10_000_000
"""The longest that an OffsetFetch may be on its way."""


@dataclass(slots=True, eq=False)
class Committed:
    """A commit of one partition, as its member sent it; -1 while it is not acknowledged.

    `refused` says why the coordinator must refuse it, as it was (`shard`) when it was sent.
    """

    offset: int
    asked_us: int
    number: tuple[str, int]
    member: str
    generation: int
    shard: GroupShard | None
    refused: str = ""
    acknowledged_us: int = -1


@dataclass(slots=True)
class GroupBooks:
    """Of the classic protocol: `generation` is the last that got its assignment, `dynamic` its
    members without an instance id.  Of the consumer protocol: `heard` is the highest epoch that a
    member has heard of, `epoch` is the group's, `present` are its members by the broker that
    has them, and `removed` has the epoch that proves, to one that has heard of it, that a member's
    removal was stored.
    """

    generation: int = 0
    dynamic: list[str] = field(default_factory=list)
    heard: int = 0
    present: dict[int, list[str]] = field(default_factory=dict)
    epoch: int = 0
    removed: dict[str, int] = field(default_factory=dict)
    commits: dict[Place, list[Committed]] = field(default_factory=dict)

    def forget_overwritten(self, place: Place, by: Committed) -> None:
        """Commits that were answered long before this one began will not be seen again."""
        made, since_us = self.commits[place], by.asked_us - ANSWERED_US
        self.commits[place] = [
            each for each in made if each.acknowledged_us < 0 or each.acknowledged_us >= since_us
        ]


def places_of(names: str) -> list[Place]:
    """The partitions in a trace line: `orders-0 orders-1`, or `none`."""
    found = (name.rpartition("-") for name in names.split() if name != "none")
    return [(topic, int(index)) for topic, _, index in found]


def named(place: Place) -> str:
    return f"{place[0]}-{place[1]}"
