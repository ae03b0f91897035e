"""Racks in an assignment: which members are near to a partition (KIP-881).

A partition is near to a member if one of its replicas is in the member's rack (client.rack).
All replicas count, those outside the ISR too: they will be back sooner than the next rebalance.

If every partition has a replica in every rack, or no member shares a rack with a replica, racks
cannot make a difference and the assignors ignore them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from engine.client.consumer.assignors.memberships import Members, Place, Topics


def racks_matter(of_members: Sequence[str], of_partitions: Sequence[Iterable[str]]) -> bool:
    """Whether racks can make a difference: some are shared, and not all are everywhere."""
    everywhere = {rack for racks in of_partitions for rack in racks}
    if everywhere.isdisjoint(of_members):
        return False
    return not all(everywhere == set(racks) for racks in of_partitions)


class Racks:
    """Members' and partitions' racks; both are empty if racks do not matter."""

    def __init__(self, topics: Topics, members: Members) -> None:
        of_member = {name: each.rack for name, each in members.items() if each.rack}
        of_place = {(t, i): racks for t in topics for i, racks in enumerate(topics[t])}
        matter = racks_matter(list(of_member.values()), list(of_place.values()))
        self.of_member: dict[str, str] = of_member if matter else {}
        self.of_place: dict[Place, tuple[str, ...]] = of_place if matter else {}
        per_rack: dict[str, int] = {}
        for rack in self.of_member.values():
            per_rack[rack] = per_rack.get(rack, 0) + 1
        self.near = {
            place: sum(per_rack.get(rack, 0) for rack in dict.fromkeys(racks))
            for place, racks in self.of_place.items()
        }
        """How many members are near to a partition."""

    def mismatch(self, member: str, place: Place) -> bool:
        """Whether a member would have to fetch this partition from another rack."""
        rack = self.of_member.get(member)
        return rack is not None and rack not in self.of_place.get(place, ())

    def hardest_first(self, unassigned: list[Place]) -> list[Place]:
        """Those with the fewest members near by come first."""
        return sorted(unassigned, key=lambda place: self.near.get(place, 0))

    def next_near(self, place: Place, members: Sequence[str], start: int) -> int:
        """The index of the first member from `start` on, in a circle, that is near; -1 if none."""
        racks = self.of_place.get(place, ())
        for step in range(len(members) if racks else 0):
            index = (start + step) % len(members)
            if self.of_member.get(members[index]) in racks:
                return index
        return -1
