"""The sticky assignment when all members want the same topics: fast and exact.

Then any partition can go to any member, so the sizes are known before anything is assigned:
with 10 partitions and 3 members, one has 4 and two have 3.

    1  every member keeps what it had, up to its size; as many as may have one more do
    2  what is free goes to members that are near (KIP-881), then to the others in turn,
       first to those below the quota, then one more to each until nothing is left

Nothing moves unless its owner had too much or is gone: no assignment with these sizes keeps more.
A partition whose owner is in another rack than all its replicas is given up, too.

`moving` has what changes hands while the last owner is still a member.  It must be revoked there
first; see cooperative_sticky.py.
"""

from __future__ import annotations

from engine.client.consumer.assignors.claims import Claims
from engine.client.consumer.assignors.memberships import Assignment, Place, Topics, places
from engine.client.consumer.assignors.racks import Racks


class EqualSubscriptions:
    """One assignment in the making; call `balance` once."""

    def __init__(self, topics: Topics, claims: Claims, racks: Racks) -> None:
        self.claims = claims
        self.racks = racks
        self.everything = places(topics)
        members = list(claims.owned)
        self.quota, self.over_allowed = divmod(len(self.everything), len(members))
        self.most = self.quota + (self.over_allowed > 0)
        self.over = 0
        """How many members have more than the quota."""
        self.shares: Assignment = {member: [] for member in members}
        self.given_up: dict[Place, str] = {}
        self.below: list[str] = []
        self.at_quota: list[str] = []
        self.moving: dict[Place, str] = {}

    def balance(self) -> Assignment:
        for member in self.shares:
            self._keep(member)
        kept = {place for share in self.shares.values() for place in share}
        free = [place for place in self.everything if place not in kept]
        self.below.sort()
        self.at_quota.sort()
        free = self.racks.hardest_first(free)
        if self.racks.of_member:
            free = self._to_near_members(free)
        self._in_turn(free)
        return self.shares

    # -- what stays

    def _keep(self, member: str) -> None:
        mine = self.claims.owned[member]
        for place in mine:
            if self.racks.mismatch(member, place):
                self.given_up[place] = member
        mine = [p for p in mine if p not in self.given_up and p not in self.claims.disputed]
        mine.sort(key=lambda place: (place[1], place[0]))
        if len(mine) < self.quota:
            self.shares[member] += mine
            self.below.append(member)
            return
        may_have_more = self.over < self.over_allowed
        size = self.most if len(mine) >= self.most and may_have_more else self.quota
        self.shares[member] += mine[:size]
        self.given_up.update(dict.fromkeys(mine[size:], member))
        if size > self.quota:
            self._count_one_more()
        elif may_have_more:
            self.at_quota.append(member)

    def _count_one_more(self) -> None:
        self.over += 1
        if self.over == self.over_allowed:
            self.at_quota.clear()

    # -- what is free

    def _to_near_members(self, free: list[Place]) -> list[Place]:
        """Gives what it can to members near by; returns what is left."""
        left = []
        turn = 0
        for place in free:
            index = self.racks.next_near(place, self.below, turn)
            if index >= 0:
                member = self.below[index]
                if self._give(place, member) >= self.quota:
                    self.below.remove(member)
                    if self.quota < self.most and self.over < self.over_allowed:
                        self.at_quota.append(member)
                else:
                    index += 1
                turn = index % len(self.below) if self.below else 0
                continue
            index = self.racks.next_near(place, self.at_quota, 0)
            if index < 0:
                left.append(place)
                continue
            member = self.at_quota[index]
            if self._give(place, member) == self.most:
                del self.at_quota[index]
                self._count_one_more()
        return left

    def _in_turn(self, free: list[Place]) -> None:
        turn = 0
        for place in free:
            if not self.below:
                self._give(place, self.at_quota.pop(0))
                continue
            turn %= len(self.below)
            member = self.below[turn]
            if self._give(place, member) == self.quota:
                del self.below[turn]
                self.at_quota.append(member)
                turn = turn if turn < len(self.below) else 0
            else:
                turn += 1

    def _give(self, place: Place, member: str) -> int:
        self.shares[member].append(place)
        had = self.given_up.get(place, member)
        if had != member or place in self.claims.disputed:
            self.moving[place] = member
        return len(self.shares[member])
