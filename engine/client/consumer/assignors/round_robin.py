"""Round robin: all partitions of all topics in one row, dealt to the members in turn.

    orders-0 → A   orders-1 → B   orders-2 → A   payments-0 → B   payments-1 → A

With equal subscriptions no member has more than one partition more than another.  A member that is
not subscribed to a topic is passed over, so unequal subscriptions can leave it far behind.  After
each change the cards are dealt again: most partitions move, even those whose owner is still there.

Source: RoundRobinAssignor in Kafka's clients.
"""

from __future__ import annotations

from engine.client.consumer.assignors.memberships import (
    Assignment,
    Members,
    Topics,
    in_order,
    places,
    subscribed,
)

NAME = "roundrobin"


def assign(topics: Topics, members: Members) -> Assignment:
    shares: Assignment = {member: [] for member in members}
    circle = in_order(members)
    turn = 0
    for topic, index in places(subscribed(topics, members)):
        while topic not in members[circle[turn % len(circle)]].topics:
            turn += 1
        shares[circle[turn % len(circle)]].append((topic, index))
        turn += 1
    return shares
