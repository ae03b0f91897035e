"""The sticky assignment when members want different topics: balance by moving one at a time.

Sizes are not known beforehand: a member that wants a single topic cannot take of the others.  So:

    1  every member keeps what it had and still wants
    2  what is free goes to the smallest member that wants it (first to one near by)
    3  while some partition's owner has at least two more than another member that wants
       it, the partition moves to the smallest such member

A partition that a returning member had in an earlier generation goes back to it if that helps the
balance.  A move that only reverses an earlier one is replaced: instead of sending p1 from A to B
and p2 from B to A, p1 comes back.  If all the moves together do not improve the balance, none is
made.

Simplified: if several earlier moves could be reversed, the first is; in Java hash order decides.
The Java client may give a partition back to a former owner that no longer wants its topic; this
one does not.
"""

from __future__ import annotations

from bisect import insort

from engine.client.consumer.assignors.claims import Claims
from engine.client.consumer.assignors.memberships import Assignment, Members, Place, Topics
from engine.client.consumer.assignors.racks import Racks

Pair = tuple[str, str]
"""From which member to which."""


class MixedSubscriptions:
    """One assignment in the making; call `balance` once."""

    def __init__(self, topics: Topics, members: Members, claims: Claims, racks: Racks) -> None:
        self.topics = topics
        self.racks = racks
        self.older = claims.older
        self.wants = {n: [t for t in each.topics if t in topics] for n, each in members.items()}
        self.takers = {t: [n for n in members if t in self.wants[n]] for t in topics}
        by_choice = sorted(topics, key=lambda topic: (len(self.takers[topic]), topic))
        self.everything = [(t, i) for t in by_choice for i in range(len(topics[t]))]
        self.something_revoked = False
        self.shares: Assignment = {
            name: [p for p in owned if self._may_keep(name, p)]
            for name, owned in claims.owned.items()
        }
        self.owner = {p: name for name, share in self.shares.items() for p in share}
        self.by_size = sorted((len(share), name) for name, share in self.shares.items())
        self.moved: dict[Place, Pair] = {}

    def _may_keep(self, member: str, place: Place) -> bool:
        keeps = place[0] in self.wants[member] and not self.racks.mismatch(member, place)
        self.something_revoked = self.something_revoked or not keeps
        return keeps

    def balance(self) -> Assignment:
        free = [p for p in self.everything if p not in self.owner]
        is_first = self.by_size[-1][0] == 0
        if self.racks.of_member:
            self._give_out(free, near_only=True)
        self._give_out(free, near_only=False)
        movable = [p for p in self.everything if len(self.takers[p[0]]) > 1]
        fixed = {name: self.shares.pop(name) for name in self.wants if not self._can_change(name)}
        self.by_size = [each for each in self.by_size if each[1] not in fixed]
        before = {name: list(share) for name, share in self.shares.items()}
        if not self.something_revoked:
            self._move([place for place in free if len(self.takers[place[0]]) > 1])
        has_moved = self._move(movable)
        if not is_first and has_moved and _unevenness(self.shares) >= _unevenness(before):
            self.shares = before
        shares = {**self.shares, **fixed}
        return {name: shares[name] for name in self.wants}

    def _give_out(self, free: list[Place], near_only: bool) -> None:
        for place in free:
            if place in self.owner:
                continue
            for _, member in self.by_size:
                is_far = near_only and self.racks.mismatch(member, place)
                if place[0] in self.wants[member] and not is_far:
                    self._hand(place, member)
                    break

    def _hand(self, place: Place, member: str) -> None:
        """A partition to a member, away from its owner if it has one."""
        last = self.owner.get(place)
        for name in (last, member):
            if name is not None:
                self.by_size.remove((len(self.shares[name]), name))
        if last is not None:
            self.shares[last].remove(place)
        self.shares[member].append(place)
        self.owner[place] = member
        for name in (last, member):
            if name is not None:
                insort(self.by_size, (len(self.shares[name]), name))

    # -- moving

    def _can_change(self, member: str) -> bool:
        """Whether a member could take more, or give away something that another wants."""
        most = sum(len(self.topics[topic]) for topic in self.wants[member])
        share = self.shares[member]
        return len(share) < most or any(len(self.takers[topic]) > 1 for topic, _ in share)

    def _is_balanced(self) -> bool:
        """No partition could move to a member that has at least two fewer than its owner."""
        if not self.by_size or self.by_size[0][0] >= self.by_size[-1][0] - 1:
            return True
        for size, member in self.by_size:
            for topic in self.wants[member]:
                for index in range(len(self.topics[topic])):
                    owner = self.owner[topic, index]
                    if owner in self.shares and size + 1 < len(self.shares[owner]):
                        return False
        return True

    def _move(self, places: list[Place]) -> bool:
        """Moves until nothing helps any more; whether anything has moved."""
        has_moved = moves = False
        while True:
            moves = False
            for place in places:
                if self._is_balanced():
                    break
                target = self._better_owner(place)
                if target is not None:
                    self._move_one(place, target)
                    moves = has_moved = True
            if not moves:
                return has_moved

    def _better_owner(self, place: Place) -> str | None:
        size = len(self.shares[self.owner[place]])
        last, _ = self.older.get(place, ("", 0))
        takes_back = last in self.shares and place[0] in self.wants[last]
        if takes_back and size > len(self.shares[last]) + 1:
            return last
        if any(size > len(self.shares[name]) + 1 for name in self.takers[place[0]]):
            return next(name for _, name in self.by_size if place[0] in self.wants[name])
        return None

    def _move_one(self, place: Place, target: str) -> None:
        """Moves this partition, or brings one back that went the other way."""
        source = self.owner[place]
        origin = self.moved[place][0] if place in self.moved else source
        way_back = (target, origin)
        for other, pair in self.moved.items():
            if other[0] == place[0] and pair == way_back:
                place = other
                break
        source = self.owner[place]
        self._hand(place, target)
        origin = self.moved.pop(place)[0] if place in self.moved else source
        if origin != target:
            self.moved[place] = (origin, target)


def _unevenness(shares: Assignment) -> int:
    """The sum of the differences in size between all pairs of members."""
    sizes = [len(share) for share in shares.values()]
    return sum(abs(a - b) for i, a in enumerate(sizes) for b in sizes[:i])
