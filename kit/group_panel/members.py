"""Members of a group in a simulated world: the engine's own consumer with a loop to drive it.

    join(world, "A", "orders", "billing", "cooperative-sticky")

Its timeouts are short, so that a story fits into some seconds of virtual time.
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from engine.client.consumer.application import Application
from engine.client.consumer.consumer import CLOSED, Consumer
from engine.client.consumer.settings import ConsumerSettings
from engine.sim.world.faults import fault
from engine.sim.world.tape import Add, Done
from engine.sim.world.world import World
from kit.group_panel.view import Belief
from kit.probes.background_load import letters as letters

PROTOCOLS = ("range", "cooperative-sticky", "consumer")
ACTIONS = ("remove", "kill", "freeze", "thaw")
FAULTS = {"kill": "kill", "freeze": "pause", "thaw": "resume"}
PROCESS = {"running": "running", "paused": "frozen", "killed": "killed", "stopped": "left"}
SETTINGS: Mapping[str, Any] = {
    "auto.offset.reset": "earliest",
    "session.timeout.ms": 6_000,
    "heartbeat.interval.ms": 500,
    "max.poll.interval.ms": 10_000,
    "auto.commit.interval.ms": 1_000,
    "fetch.max.wait.ms": 100,
}
WORK_US = 5_000
"""How long a member's loop takes for a record."""


def join(
    world: World,
    name: str,
    topic: str,
    group: str,
    protocol: str = "range",
    settings: Mapping[str, Any] | None = None,
    work_us: int = WORK_US,
    commit: str = "auto",
) -> Consumer:
    """Adds a member: `range` (eager), `cooperative-sticky`, or `consumer` (KIP-848).

    `commit` is when its loop commits: see `engine.client.consumer.application`.
    """
    chosen = {**SETTINGS, "group.id": group, **_protocol(protocol), **(settings or {})}
    application = Application((topic,), commit, per_record_us=work_us)
    member = Consumer(name, world.cluster.spec.brokers, chosen, application=application)
    return world.add(name, member)


def _protocol(protocol: str) -> dict[str, Any]:
    if protocol == "consumer":
        return {"group.protocol": "consumer"}
    return {"partition.assignment.strategy": protocol}


def act(world: World, action: str, name: str) -> None:
    """What a member's button does: it leaves, dies, freezes or goes on."""
    if action == "remove":
        world.tell(name, "finish")
    else:
        world.apply(fault(FAULTS[action], name))


def members(world: World, group: str) -> dict[str, Consumer]:
    """The group's consumers that have a process, by name."""
    return {
        str(name): node for name, node in world.cluster.nodes.items() if _is_member(node, group)
    }


def believes(world: World, member: Consumer) -> Belief:
    """What a member says of itself now."""
    owned: dict[str, list[int]] = {}
    positions: dict[str, dict[int, int]] = {}
    for place in member.owned:
        owned.setdefault(place[0], []).append(place[1])
        positions.setdefault(place[0], {})[place[1]] = member.position(place)
    state = PROCESS[world.cluster.states[member.name]]
    return Belief(
        member.membership.member_id,
        "left" if member.call == CLOSED else state,
        protocol_of(member),
        owned,
        positions,
        member.membership.generation,
        ours=True,
    )


def protocol_of(member: Consumer) -> str:
    settings = member.settings
    return "consumer" if settings.group_protocol == "consumer" else settings.assignors[0]


def first_joins(world: World, group: str) -> int:
    """The event at which the group's first member was added; the present one if none was."""
    for done in world.tape[: world.on_tape]:
        if isinstance(done.action, Add) and _is_member(pickle.loads(done.action.node), group):
            return done.event
    return world.events


def _is_member(node: object, group: str) -> bool:
    return isinstance(node, Consumer) and node.settings.group_id == group


def with_protocol(tape: Sequence[Done], group: str, protocol: str) -> list[Done]:
    """A tape on which members join by another protocol."""
    return [
        replace(done, action=_rejoined(done.action, group, protocol))
        if isinstance(done.action, Add)
        else done
        for done in tape
    ]


def _rejoined(add: Add, group: str, protocol: str) -> Add:
    node = pickle.loads(add.node)
    if not _is_member(node, group):
        return add
    chosen = _protocol(protocol)
    settings: ConsumerSettings = replace(
        node.settings,
        group_protocol=chosen.get("group.protocol", "classic"),
        partition_assignment_strategy=chosen.get(
            "partition.assignment.strategy", node.settings.partition_assignment_strategy
        ),
    )
    again = Consumer(node.name, node.bootstrap, settings, application=node.application)
    return Add.of(add.name, again)
