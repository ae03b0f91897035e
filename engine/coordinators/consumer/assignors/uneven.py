"""The uniform assignor where members read different topics.

    keep     each member keeps of its last target what it still subscribes to
    give     topic by topic, a free partition goes to the reader that has fewest
    balance  topic by topic, a partition moves from the reader that has most to the one
             that has fewest, until they differ by one; the topics are gone through again
             until nothing moves, at most 16 times

Topics with many partitions for few readers come first: they leave the least choice.

Each round of `give` and `balance` looks at a topic's readers in a row, sorted by what they have:

                             most
                ^  fewest    <---[##]
    partitions  |  [--->   ]  ###[##]    The left block grows to the right as its members
                |  [#######]#####[##]    are filled up, the right one to the left as its
                +---------------------   members give.  They are even when the two levels
                      readers            differ by one.

The result is even wherever the readers of a topic read the same topics, and nearly so
elsewhere.

Source: Kafka's UniformHeterogeneousAssignmentBuilder, step by step.
"""

from __future__ import annotations

from engine.coordinators.consumer.assignors.subscription import Members, Target, Topics

_ROUNDS = 16
_NOBODY = -1


def assign(members: Members, topics: Topics) -> Target:
    """Members by number inside, by id outside."""
    plan = Plan(members, topics)
    if not plan.readers:
        return {}
    plan.keep(members)
    plan.give()
    plan.balance()
    ids = list(members)
    target: Target = {member_id: {} for member_id in ids}
    for topic_id, owners in plan.owners.items():
        for partition, owner in enumerate(owners):
            if owner != _NOBODY:
                mine = target[ids[owner]]
                mine[topic_id] = (*mine.get(topic_id, ()), partition)
    return target


class Plan:
    """The readers of each topic, the owner of each partition, and how many each member has."""

    def __init__(self, members: Members, topics: Topics) -> None:
        self.readers: dict[bytes, list[int]] = {}
        for number, member in enumerate(members.values()):
            for topic_id in member.topics:
                self.readers.setdefault(topic_id, []).append(number)
        self.owners = {each: [_NOBODY] * topics[each] for each in self.readers}
        self.sizes = [0] * len(members)
        self.in_order = sorted(self.readers, key=self._least_choice)

    def _least_choice(self, topic_id: bytes) -> tuple[float, int, tuple[int, int]]:
        """Equals go by topic id, which Java compares as two signed numbers."""
        readers = len(self.readers[topic_id])
        halves = (
            int.from_bytes(topic_id[:8], "big", signed=True),
            int.from_bytes(topic_id[8:], "big", signed=True),
        )
        return -len(self.owners[topic_id]) / readers, readers, halves

    def keep(self, members: Members) -> None:
        for number, member in enumerate(members.values()):
            for topic_id, partitions in member.target.items():
                if topic_id in member.topics:
                    self.sizes[number] += len(partitions)
                    for partition in partitions:
                        self.owners[topic_id][partition] = number

    def give(self) -> None:
        for topic_id in self.in_order:
            free = [at for at, owner in enumerate(self.owners[topic_id]) if owner == _NOBODY]
            row = Row(self.readers[topic_id], self.sizes)
            for partition in free:
                self.move(topic_id, partition, row.next_fewest())

    def move(self, topic_id: bytes, partition: int, to: int) -> None:
        owner = self.owners[topic_id][partition]
        if owner != _NOBODY:
            self.sizes[owner] -= 1
        self.owners[topic_id][partition] = to
        self.sizes[to] += 1

    def balance(self) -> None:
        shared = [each for each in self.in_order if len(self.readers[each]) > 1]
        last_changed = None
        for _ in range(_ROUNDS):
            for topic_id in shared:
                if topic_id == last_changed:
                    return  # once around without a move
                if self._balance(topic_id) or last_changed is None:
                    last_changed = topic_id

    def _balance(self, topic_id: bytes) -> int:
        """Evens one topic's readers out; how many partitions moved."""
        row = Row(self.readers[topic_id], self.sizes)
        if row.spread <= 1:
            return 0
        owned: dict[int, list[int]] = {}
        for partition, owner in enumerate(self.owners[topic_id]):
            owned.setdefault(owner, []).append(partition)
        moved = 0
        while not row.is_even():
            giver = row.next_most()
            while giver is not None and not owned.get(giver):
                row.passes()
                giver = row.next_most()
            if giver is None:
                break
            partition = owned[giver].pop()
            taker = row.next_fewest()
            if row.is_even():
                break
            self.move(topic_id, partition, taker)
            moved += 1
        return moved


class Row:
    """A topic's readers in a row, those with fewest partitions first.

    The blocks remember the level that their members had before they were touched.
    """

    def __init__(self, readers: list[int], sizes: list[int]) -> None:
        self.sizes = sizes
        self.row = sorted(readers, key=lambda number: (sizes[number], number))
        self.fewest_end = 0
        self.fewest_level = sizes[self.row[0]] - 1
        self.next_taker = 0
        self.most_start = self.most_end = len(self.row)
        self.most_level = sizes[self.row[-1]] + 1
        self.next_giver = len(self.row) - 1
        self.spread = sizes[self.row[-1]] - sizes[self.row[0]]

    def is_even(self) -> bool:
        return self.most_level - self.fewest_level <= 1

    def next_fewest(self) -> int:
        """A member of the left block; a block that is filled up rises by one and grows."""
        if self.next_taker >= self.fewest_end:
            self.fewest_level += 1
            while (
                self.fewest_end < len(self.row)
                and self.sizes[self.row[self.fewest_end]] == self.fewest_level
            ):
                self.fewest_end += 1
            self.next_taker = 0
        self.next_taker += 1
        return self.row[self.next_taker - 1]

    def next_most(self) -> int | None:
        """A member of the right block, None if no member is left that could give."""
        if self.next_giver < self.most_start:
            if self.most_end <= self.most_start and self.most_start > 0:
                # All of the block have passed: go on from the level of the next one.
                self.most_level = self.sizes[self.row[self.most_start - 1]]
            else:
                self.most_level -= 1
            while (
                self.most_start > 0 and self.sizes[self.row[self.most_start - 1]] == self.most_level
            ):
                self.most_start -= 1
            self.next_giver = self.most_end - 1
        if self.next_giver < 0:
            return None
        self.next_giver -= 1
        return self.row[self.next_giver + 1]

    def passes(self) -> None:
        """The member of the last `next_most` has nothing of this topic: out of the block."""
        at, last = self.next_giver + 1, self.most_end - 1
        self.row[at], self.row[last] = self.row[last], self.row[at]
        self.most_end -= 1
