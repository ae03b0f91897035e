"""Random lives of a group: answers get lost, members freeze, coordinators die with records unsaved.

After each step, at the coordinator and as the members see it:

    a partition has one owner at most, and so do those that are being given back
    a member believes to own nothing that the coordinator does not have for it
    epochs only grow: member <= assignment <= group

In the end all that live heartbeat for a while, and every partition has its owner.
"""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from engine.coordinators.consumer.group import ConsumerGroup
from engine.wire.errors import Errors
from tests.engine.coordinators.consumer.by_hand import Consumer, shown

STEPS = 250


class Run:
    def __init__(self, groups: Any, seed: int) -> None:
        self.groups = groups
        self.random = Random(seed)
        self.clients: list[Consumer] = []
        self.count = 0
        self.epochs = (0, 0)

    def step(self) -> None:
        act = self.random.choices(
            [self.join, self.beat, self.lose, self.leave, self.freeze, self.commit, self.kill,
             self.grow, self.resubscribe],
            [4, 30, 8, 2, 2, 5, 2, 1, 2],
        )[0]  # fmt: skip
        act()
        self.check()

    def some(self) -> Consumer | None:
        return self.random.choice(self.clients) if self.clients else None

    def heard(self, client: Consumer, number: int) -> None:
        """A refused member drops all, and joins again when it is asked to."""
        answer = client.heard(number)
        if answer.error_code in (Errors.FENCED_MEMBER_EPOCH, Errors.UNKNOWN_MEMBER_ID):
            client.epoch, client.assigned = 0, {}
        else:
            assert answer.error_code in (0, Errors.NOT_COORDINATOR), answer

    def join(self) -> None:
        if len(self.clients) < 6:
            self.count += 1
            topics = self.random.choice([("orders",), ("orders", "payments")])
            client = Consumer(self.groups, f"m{self.count}", topics=topics)
            self.clients.append(client)
            self.heard(client, client.ask(full=True))

    def beat(self) -> None:
        client = self.some()
        if client is not None:
            self.groups.now += 200_000
            self.heard(client, client.ask(full=client.epoch == 0))

    def lose(self) -> None:
        """The coordinator acts on a heartbeat, and the member does not hear it."""
        client = self.some()
        if client is not None:
            client.ask(full=client.epoch == 0)

    def leave(self) -> None:
        client = self.some()
        if client is not None:
            self.clients.remove(client)
            client.leave()

    def freeze(self) -> None:
        """All but one are silent until their sessions are over; they are zombies now."""
        client = self.some()
        if client is None:
            return
        for _ in range(5):
            self.groups.wait(10_000)
            self.heard(client, client.ask(full=True))
        for zombie in self.clients:
            if zombie is not client:
                zombie.commit(1)
                zombie.epoch, zombie.assigned = 0, {}

    def commit(self) -> None:
        client = self.some()
        if client is not None and client.partitions:
            partition = self.random.choice(client.partitions)
            error = client.commit(self.random.randrange(1000), partition=partition)
            assert error == Errors.NONE or client.epoch == 0, error

    def kill(self) -> None:
        """The last heartbeats' records are lost with their coordinator, or all but lost."""
        shared = self.groups.shared
        shared.holds = True
        for client in self.random.sample(self.clients, min(2, len(self.clients))):
            client.ask(full=client.epoch == 0)
        shared.holds = False
        shared.lose_tail(self.random.random() < 0.5)
        self.groups.lead(102 if shared.leader == 101 else 101)
        self.epochs = (0, 0)

    def grow(self) -> None:
        image = self.groups.metadata.topic("orders")
        if len(image.partitions) < 9:
            self.groups.add_topic("orders", image.id, len(image.partitions) + 1, 101)
            self.groups.metadata.offset += 1

    def resubscribe(self) -> None:
        client = self.some()
        if client is not None and client.epoch:
            client.topics = self.random.choice([("orders",), ("orders", "payments")])
            self.heard(client, client.ask(full=True))

    def check(self) -> None:
        groups = self.groups.coordinator.snapshot()
        if "g" not in groups:
            return
        group = groups["g"]
        held: dict[tuple[str, int], str] = {}
        for each in group["members"]:
            mine = places(each["owns"]) + places(each["revoking"])
            for place in mine:
                assert place not in held, f"{place} is held by {held[place]} and {each['id']}"
                held[place] = each["id"]
            assert each["epoch"] <= group["assignment_epoch"] <= group["epoch"]
        believed: dict[tuple[str, int], str] = {}
        for client in self.clients:
            for place in places(client.assigned):
                assert place not in believed, f"{client.id} and {believed[place]} read {place}"
                believed[place] = client.id
                assert held.get(place) == client.id
        epochs = (group["epoch"], group["assignment_epoch"])
        assert epochs >= self.epochs
        self.epochs = epochs


def places(owned: dict[str, list[int]]) -> list[tuple[str, int]]:
    return [(topic, partition) for topic, partitions in owned.items() for partition in partitions]


def live(run: Run) -> None:
    for _ in range(STEPS):
        run.step()


@pytest.mark.parametrize("seed", range(30))
def test_no_partition_has_two_owners_in_any_interleaving(make_groups: Any, seed: int):
    interval_ms = 0 if seed % 2 else 1000
    groups = make_groups(group_consumer_assignment_interval_ms=interval_ms)
    groups.lead(101)
    run = Run(groups, seed)
    live(run)
    run.join()
    for client in run.clients:
        run.heard(client, client.ask(full=True))
    for _ in range(20):
        groups.wait(2_000)
        for client in run.clients:
            run.heard(client, client.ask(full=client.epoch == 0))
        run.check()
    assert shown(groups)["state"] == "Stable"
    owned = sorted(place for each in run.clients for place in places(each.assigned))
    topics = sorted({topic for each in run.clients for topic in each.topics or ()})
    assert owned == [
        (topic, index)
        for topic in topics
        for index in sorted(groups.metadata.topic(topic).partitions)
    ]


def test_the_rules_are_checked(make_groups: Any):
    groups = make_groups(group_consumer_assignment_interval_ms=0)
    groups.lead(101)
    remember, ConsumerGroup.put = ConsumerGroup.put, careless
    try:
        with pytest.raises(AssertionError, match="is held by"):
            live(Run(groups, 1))
    finally:
        ConsumerGroup.put = remember


def careless(self: Any, member: Any) -> None:
    """Frees a partition when its revocation begins, not when it is confirmed."""
    self._release(self.members.get(member.id))
    self.members[member.id] = member
    for topic_id, partitions in member.assigned.items():
        for partition in partitions:
            self.owner_epochs[topic_id, partition] = member.epoch
