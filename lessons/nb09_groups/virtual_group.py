"""A group in virtual time: what its members own, have processed and have committed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from html import escape
from random import Random

from engine.broker.broker import Broker
from engine.client.consumer.application import WORKING
from engine.sim.world.world import World
from kit import lab
from kit.group_panel import members
from kit.group_panel.view import GONE
from kit.tables import Table

Owned = Mapping[str, tuple[tuple[str, int], ...]]


def owned(world: World, group: str) -> dict[str, tuple[tuple[str, int], ...]]:
    """What each member believes it owns; one that has left is not there."""
    return {
        name: tuple(sorted(each.owned))
        for name, each in members.members(world, group).items()
        if members.believes(world, each).state not in GONE
    }


def generation(world: World, group: str) -> int:
    """The group's generation, or its epoch in the consumer protocol."""
    found = world.snapshot()["groups"][group]
    return int(found["generation"] if found["type"] == "classic" else found["epoch"])


def is_member(world: World, group: str, name: str) -> bool:
    """Whether the group's coordinator counts this consumer in."""
    member_id = world.client(name).membership.member_id
    for broker in world.cluster.nodes.values():
        for shard in broker.groups.shards if isinstance(broker, Broker) else ():
            found = shard.group(group)
            if found is not None and member_id in found.members:
                return True
    return False


def works(world: World, name: str) -> bool:
    """Whether its loop is busy with records."""
    application = world.client(name).application
    return application is not None and application.state == WORKING


def processed(world: World, group: str) -> Counter[tuple[str, int, int]]:
    """How often each record was processed, by topic, partition and offset."""
    return Counter(
        (record.topic, record.partition, record.offset)
        for each in members.members(world, group).values()
        if each.application is not None
        for record in each.application.processed
    )


def committed(world: World, group: str) -> int:
    """Records below the committed offsets."""
    offsets = world.snapshot()["groups"][group]["offsets"]
    return sum(at for by_partition in offsets.values() for at in by_partition.values())


def signs(world: World, group: str, topic: str) -> dict[str, int]:
    """What an engineer can look at: work done and kept, the lag, busy workers, the generation."""
    ends = sum(max(log["high_watermark"] for log in each["logs"].values())
               for each in world.snapshot()["topics"][topic]["partitions"].values())  # fmt: skip
    kept = committed(world, group)
    return {
        "processed": sum(processed(world, group).values()),
        "committed": kept,
        "lag": ends - kept,
        "busy workers": sum(
            each.application is not None and each.application.state == WORKING
            for each in members.members(world, group).values()
        ),
        "generation": generation(world, group),
    }


def told(world: World, name: str, kind: str) -> int:
    """How many trace lines of this kind a member has written; the trace keeps the newest lines."""
    return sum(node == name and line.kind == kind for _, node, line in world.cluster.trace)


def expired(world: World, group: str) -> int:
    """How many members the coordinator removed because their session was over."""
    return sum(
        isinstance(node, int) and dict(line.fields).get("group") == group and "session" in line.why
        for _, node, line in world.cluster.trace
    )


def given_back(world: World, group: str, since_us: int) -> int:
    """Partitions that members which are still there have given back since then."""
    there = owned(world, group)
    offset_us = world.now_us - world.cluster.now
    return sum(
        len(str(dict(line.fields)["partitions"]).split())
        for at, node, line in world.cluster.trace
        if line.kind == "revoked" and node in there and at + offset_us >= since_us
    )


OF_SIZE = {
    "fetch.max.wait.ms": 20_000,
    "heartbeat.interval.ms": 3_000,
    "session.timeout.ms": 45_000,
}
"""Kafka's defaults; and few fetches, so that a large group is computed in seconds."""


def of_size(size: int, assignor: str, seed: int = 9) -> World:
    """A world with a calm group `billing` of so many members, and two partitions for each."""
    world = lab.world(seed=seed, checked=False, rewindable=False)
    world.create_topic("orders", partitions=2 * size)
    for number in range(size):
        members.join(world, f"m{number}", "orders", "billing", assignor, OF_SIZE)
    until_calm(world, "billing")
    return world


def with_a_stuck_member(max_poll_interval_ms: int, seed: int = 9) -> World:
    """A world with the group `billing` of A, B and C; B's loop has just begun to be stuck."""
    world = lab.world(seed=seed, checked=False)
    world.create_topic("orders", partitions=6)
    settings = {"max.poll.interval.ms": max_poll_interval_ms}
    for name in "ABC":
        work_us = 60_000_000 if name == "B" else members.WORK_US
        members.join(world, name, "orders", "billing", settings=settings, work_us=work_us)
    until_calm(world, "billing")
    world.load("orders", period_us=50_000)
    world.run(until=lambda w: works(w, "B"), for_s=10)
    return world


def at_random(protocol: str, steps: int, seed: int = 9) -> tuple[World, int]:
    """Members come, leave, die, freeze and thaw; and to how many at most one partition was given.

    Given by the coordinator: a zombie may still work on a partition that another has by now.
    """
    chance, world, most = Random(seed), lab.world(seed=seed, rewindable=False), 0
    world.create_topic("orders", partitions=6)
    for number in range(steps):
        action, name = chance.choice(_possible(world, f"m{number}"))
        if action == "add":
            members.join(world, name, "orders", "billing", protocol)
        else:
            members.act(world, action, name)
        for _ in range(chance.randint(1, 16)):
            world.run(for_s=0.25)
            most = max([most, *_given(world, "billing").values()])
    return world, most


def _possible(world: World, newcomer: str) -> list[tuple[str, str]]:
    """What can happen next: an action and a member's name."""
    states = {
        name: members.believes(world, each).state
        for name, each in members.members(world, "billing").items()
    }
    alive = {name: state for name, state in states.items() if state not in GONE}
    found = [
        (action, name)
        for name, state in alive.items()
        for action in (("thaw", "kill") if state == "frozen" else ("remove", "kill", "freeze"))
    ]
    return found + [("add", newcomer)] * max(1, 8 - 2 * len(alive))


def _given(world: World, group: str) -> Counter[tuple[str, int]]:
    """How many members the coordinator has given each partition to."""
    found = world.snapshot()["groups"].get(group, {"members": []})["members"]
    return Counter(
        (topic, index)
        for each in found
        for topic, indexes in each["owns"].items()
        for index in indexes
    )


def until_calm(world: World, group: str, calm_s: float = 5.0, step_s: float = 0.25) -> float:
    """Runs until nothing has changed for `calm_s`; returns the seconds to the last change."""
    began_us = changed_us = world.now_us
    last = None
    while world.now_us - changed_us < calm_s * 1e6:
        world.run(for_s=step_s)
        found = world.snapshot().get("groups", {}).get(group)
        now = found and (found["state"], found["generation"])
        if now != last or (found and found["state"] != "Stable"):
            last, changed_us = now, world.now_us
    return (changed_us - began_us) / 1e6


def delay_heartbeat(world: World, group: str, member: str, ms: int) -> None:
    """The member's next Heartbeat arrives so much later."""
    coordinator = world.snapshot()["groups"][group]["coordinator"]
    world.delay(member, coordinator, ms, api="Heartbeat")


class Moves:
    """The owner of each partition before and after, and what moved.

    `given_back` is the number of partitions that members which stay have given back for that.
    """

    def __init__(self, before: Owned, after: Owned, given_back: int = 0) -> None:
        self.before = {place: name for name, each in before.items() for place in each}
        self.after = {place: name for name, each in after.items() for place in each}
        self.members = set(after)
        self.given_back = given_back

    @property
    def needed(self) -> list[tuple[str, int]]:
        """Their owner is gone, so they must move."""
        return [each for each, name in self.before.items() if name not in self.members]

    @property
    def needless(self) -> list[tuple[str, int]]:
        """They moved although their owner is still there."""
        return [
            each
            for each, name in self.before.items()
            if name in self.members and self.after.get(each) != name
        ]

    @property
    def text(self) -> str:
        return "\n".join(
            f"{topic}-{index}  {self.before[topic, index]} → {self.after.get((topic, index), '-')}"
            for topic, index in sorted(self.before)
        )

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        places = sorted(self.before)
        head = "".join(f"<th scope='col'>{index}</th>" for _, index in places)

        def cell(place: tuple[str, int], owners: Mapping[tuple[str, int], str]) -> str:
            name = escape(owners.get(place, "–"))
            return f"<td><b>{name}</b></td>" if place in self.needless else f"<td>{name}</td>"

        rows = "".join(
            f"<tr><th scope='row'>{when}</th>{''.join(cell(p, owners) for p in places)}</tr>"
            for when, owners in (("before", self.before), ("after", self.after))
        )
        return (
            f"<table><thead><tr><th>partition</th>{head}</tr></thead><tbody>{rows}</tbody></table>"
            "<p>Bold: moved although its owner stayed.</p>"
        )


def compared(moves: Mapping[str, Moves]) -> Table:
    """What each assignor made of it, a row each."""
    rows = []
    for assignor, each in moves.items():
        readers = [each.after.get(place, "-") for place in sorted(each.before)]
        shares = sorted((readers.count(name) for name in each.members), reverse=True)
        counts = (len(each.needed) + len(each.needless), len(each.needless), each.given_back)
        rows.append([assignor, " ".join(readers), " ".join(map(str, shares)), *map(str, counts)])
    columns = ["assignor", "readers afterwards", "shares", "moved", "needlessly",
               "given back by those that stay"]  # fmt: skip
    return Table("With each assignor", columns, rows)
