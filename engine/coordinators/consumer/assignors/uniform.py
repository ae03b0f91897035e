"""The uniform assignor, Kafka's default: equally many partitions each, and few moves.

When all members read the same topics, each one's share is known beforehand: partitions
divided by members, and one more for some.

    keep     Each member keeps of its last target what fits into its share.  A larger share
             goes to the first that can fill it, so that nothing moves just to change
             which members have one more.
    give     what no member has goes to the members whose share is not full

A member that joins takes from those above the new share; the others do not notice.  Where
members read different topics there is no such share; see `uneven`.

Simplified: members and topics are taken in the order that they come in, by id and by name;
Kafka takes them from hash maps.  So both give equal shares, perhaps of other partitions.

Source: Kafka's UniformAssignor and UniformHomogeneousAssignmentBuilder.
"""

from __future__ import annotations

from engine.coordinators.consumer.assignors import uneven
from engine.coordinators.consumer.assignors.subscription import Members, Target, Topics


def assign(members: Members, topics: Topics, alike: bool) -> Target:
    """`alike` says that all members subscribe to the same topics."""
    if not alike:
        return uneven.assign(members, topics)
    read = next(iter(members.values())).topics if members else ()
    return _alike(members, {topic_id: topics[topic_id] for topic_id in read}) if read else {}


def _alike(members: Members, topics: Topics) -> Target:
    taken = {
        (topic_id, partition)
        for member in members.values()
        for topic_id, partitions in member.target.items()
        for partition in partitions
    }
    free = [
        (topic_id, partition)
        for topic_id, count in topics.items()
        for partition in range(count)
        if (topic_id, partition) not in taken
    ]
    share, larger_shares = divmod(sum(topics.values()), len(members))
    kept: dict[str, dict[bytes, list[int]]] = {}
    room: dict[str, int] = {}
    for number, (member_id, member) in enumerate(members.items()):
        is_larger = larger_shares > 0
        left = share + is_larger
        mine = kept[member_id] = {}
        for topic_id, partitions in member.target.items():
            if topic_id not in topics:
                continue
            if partitions[:left]:
                mine[topic_id] = list(partitions[:left])
            free += [(topic_id, partition) for partition in partitions[left:]]
            left -= len(partitions[:left])
        if is_larger and left and len(members) - number > larger_shares:
            is_larger = False  # those that follow are enough to take the larger shares
            left -= 1
        larger_shares -= is_larger
        room[member_id] = left
    given = iter(free)
    for member_id, left in room.items():
        for _, (topic_id, partition) in zip(range(left), given, strict=False):
            kept[member_id].setdefault(topic_id, []).append(partition)
    return {
        member_id: {topic_id: tuple(sorted(each)) for topic_id, each in mine.items()}
        for member_id, mine in kept.items()
    }
