"""The assignors by name, and the rebalance protocols that each of them supports.

`partition.assignment.strategy` is a list.  The group uses the first assignor on which all members
agree, so a group can change from one to another: first all members list both, then the old one is
taken out.

The *protocol* is a property of the whole list: the highest one that all its assignors support.
With the default, range and cooperative sticky, it is eager, because range is; the second restart
that removes range makes the group cooperative.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from engine.client.consumer.assignors import cooperative_sticky, range, round_robin, sticky
from engine.client.consumer.assignors.memberships import Assignment, Members, Place, Topics

EAGER, COOPERATIVE = "eager", "cooperative"
UserData = Callable[[tuple[Place, ...] | None, int], bytes | None]


def _nothing(owned: tuple[Place, ...] | None, generation: int) -> None:
    return None


@dataclass(frozen=True)
class Assignor:
    """`user_data` is what a member adds to its subscription, from what it was last assigned."""

    name: str
    protocols: tuple[str, ...]
    assign: Callable[[Topics, Members], Assignment]
    user_data: UserData = _nothing


ASSIGNORS = {
    each.name: each
    for each in (
        Assignor(range.NAME, (EAGER,), range.assign),
        Assignor(round_robin.NAME, (EAGER,), round_robin.assign),
        Assignor(sticky.NAME, (EAGER,), sticky.assign, sticky.user_data),
        Assignor(
            cooperative_sticky.NAME, (COOPERATIVE, EAGER), cooperative_sticky.assign,
            cooperative_sticky.user_data,
        ),
    )
}  # fmt: skip


def protocol(names: tuple[str, ...]) -> str:
    """The rebalance protocol of a list of assignors."""
    shared = [p for p in (COOPERATIVE, EAGER) if all(p in ASSIGNORS[n].protocols for n in names)]
    return shared[0]
