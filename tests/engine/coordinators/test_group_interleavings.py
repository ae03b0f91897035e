"""Random interleavings of consumers, time, slow replication and moving coordinators.

Seeded consumers follow the protocol as clients do: find out they must rejoin, join,
sync, commit, leave, die, come back under a static name, or act on what they knew long
ago.  After every step:

* within one generation no partition has two owners
* a member of an older generation, or whose name was taken over, commits nothing
* a committed offset goes back only by a commit that asked for it
* every request is answered in the end

A coordinator that moves may lose the end of the log that was not replicated.  A client
that restarts leaves a ghost behind, which goes on committing what it knew.
"""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from engine.wire import consumer_protocol
from engine.wire.errors import Errors

PARTITIONS = 4
REJOIN = (Errors.REBALANCE_IN_PROGRESS, Errors.ILLEGAL_GENERATION)
LOST = (Errors.UNKNOWN_MEMBER_ID, Errors.FENCED_INSTANCE_ID)


class Consumer:
    """A client with at most one request under way."""

    def __init__(self, groups: Any, name: str, instance: str | None) -> None:
        self.groups, self.name, self.instance = groups, name, instance
        self.member, self.generation, self.owned = "", -1, []
        self.request, self.kind, self.left = 0, "", False
        self.share_of: dict[str, list[int]] = {}

    def act(self, random: Random) -> None:
        if self.request:
            self.hear()
        elif self.generation < 0:
            join = self.groups.join(
                self.member, self.instance, client=self.name, session_ms=6000, rebalance_ms=3000
            )
            self.start("join", join)
        elif self.kind == "joined":
            sync = self.groups.sync(self.member, self.generation, self.share_of, self.instance)
            self.start("sync", sync)
        else:
            error = self.groups.heartbeat(self.member, self.generation, self.instance)
            self.react(error)

    def start(self, kind: str, request: int) -> None:
        self.kind, self.request = kind, request
        self.hear()

    def hear(self) -> None:
        answer = self.groups.answers.get(self.request)
        if answer is None:
            return
        self.request = 0
        error = Errors(answer.error_code)
        if error is Errors.MEMBER_ID_REQUIRED:
            self.member = answer.member_id
        elif error is not Errors.NONE:
            self.react(error)
        elif self.kind == "join":
            self.member, self.generation, self.kind = (
                answer.member_id, answer.generation_id, "joined",
            )  # fmt: skip
            ids = [each.member_id for each in answer.members]
            wanted = {each: list(range(i, PARTITIONS, len(ids))) for i, each in enumerate(ids)}
            self.share_of = {} if answer.skip_assignment else wanted
        else:
            self.kind = "owns"
            share = consumer_protocol.assigned_partitions(answer.assignment) or {}
            self.owned = share.get("orders", [])

    def react(self, error: Errors) -> None:
        if error is Errors.NONE:
            return
        if error in LOST:
            self.member = ""
        if error in (*LOST, *REJOIN):
            self.generation, self.kind, self.owned = -1, "", []
        elif self.kind == "sync":
            self.kind = "joined"  # the coordinator is busy or elsewhere: ask again


class Run:
    """The consumers of one seed, and what must hold."""

    def __init__(self, make_groups: Any, seed: int) -> None:
        self.random = Random(seed)
        self.groups = make_groups(group_initial_rebalance_delay_ms=1000)
        self.groups.lead(101)
        self.clients: list[Consumer] = []
        self.ghosts: list[Consumer] = []
        self.owners: dict[tuple[int, int], str] = {}
        self.wanted: dict[int, int] = dict.fromkeys(range(PARTITIONS), -1)
        self.asked: dict[int, list[int]] = {index: [] for index in range(PARTITIONS)}
        self.generations = self.fenced = 0
        for number in range(4):
            instance = f"s{number}" if number % 2 else None
            self.clients.append(Consumer(self.groups, f"c{number}", instance))

    def step(self) -> None:
        random, groups = self.random, self.groups
        client = random.choice(self.clients)
        roll = random.random()
        if roll < 0.74:
            client.act(random)
        elif roll < 0.84:
            self.commit(random.choice([client, client, *self.ghosts[-3:]]))
        elif roll < 0.88:
            groups.wait(random.choice([10, 500, 1500, 4000]))
        elif roll < 0.90:
            groups.shared.holds = random.random() < 0.3
            groups.replicate()
        elif roll < 0.94:
            groups.replicate(random.choice([Errors.NONE, Errors.REQUEST_TIMED_OUT]))
        elif roll < 0.945:
            groups.shared.lose_tail(random.random() < 0.5)
            groups.lead(203 - groups.shared.leader)
        elif roll < 0.97 and client.member:
            if client.generation >= 0 and random.random() < 0.3:
                groups.leave((client.member, client.instance))
            self.ghosts.append(client)
            position = self.clients.index(client)
            self.clients[position] = Consumer(groups, client.name, client.instance)
        else:
            groups.wait(400)
        self.check_owners()
        self.check_offsets()

    def commit(self, client: Consumer) -> None:
        """With what it believes: its member id, its generation, perhaps long outdated."""
        index, groups = self.random.randrange(PARTITIONS), self.groups
        offset = max(self.asked[index], default=0) + 1
        group = groups.coordinator.shards[0].classic.by_id.get("g")
        current = group is not None and (
            client.member in group.members
            and client.generation == group.generation
            and group.static_members.get(client.instance, client.member) == client.member
        )
        empty = group is None or group.state == "Empty"
        number = groups.commit(offset, client.member, client.generation, client.instance, index)
        answer = groups.answers.get(number)
        refused = answer is not None and answer.topics[0].partitions[0].error_code
        if not current and not (empty and client.generation < 0):
            assert refused, "a member of the past has committed"
            self.fenced += 1
        if not refused:
            self.asked[index].append(offset)

    def check_owners(self) -> None:
        for client in self.clients:
            if client.kind == "owns":
                for index in client.owned:
                    key = (client.generation, index)
                    seat = client.instance or client.member
                    assert self.owners.setdefault(key, seat) == seat, f"{key} has two owners"
                self.generations = max(self.generations, client.generation)

    def check_offsets(self) -> None:
        group = self.groups.coordinator.snapshot().get("g", {"offsets": {}})
        for index, offset in group["offsets"].get("orders", {}).items():
            assert offset in self.asked[index], "an offset that nobody committed"
            assert offset >= self.wanted[index], "an offset went back"
            self.wanted[index] = offset

    def finish(self) -> None:
        """Everybody falls silent; replication goes on."""
        self.groups.shared.holds = False
        for _ in range(20):
            self.groups.replicate()
            self.groups.wait(60_000)
        assert not self.groups.waiting, f"unanswered: {self.groups.waiting}"


@pytest.mark.parametrize("block", range(4))
def test_the_rules_hold_in_every_interleaving(make_groups: Any, block: int):
    runs = [Run(make_groups, seed) for seed in range(10 * block, 10 * block + 10)]
    for run in runs:
        for _ in range(800):
            run.step()
        run.finish()
    assert sum(run.generations for run in runs) >= 15
    assert sum(run.fenced for run in runs) >= 100
    assert sum(len(run.owners) for run in runs) >= 40


def test_a_seed_gives_the_same_story_twice(make_groups: Any):
    stories = []
    for _ in range(2):
        run = Run(make_groups, 5)
        for _ in range(300):
            run.step()
        stories.append([str(each) for each in run.groups.traced])
    assert stories[0] == stories[1]
    assert len(stories[0]) > 20
