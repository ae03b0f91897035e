"""Members of consumer groups in a schedule: they come late, leave, freeze, die and come back.

    GroupSetup("billing", "cooperative", 3)      begins with billing-1, billing-2 and billing-3

What happens to a member is a fault like any other, so it can be on a tape and be taken out again:

    start billing-4     a new process joins, or one that was killed comes back
    stop billing-2      it leaves the group properly
    kill billing-1      it is gone; the group finds out after the session timeout
    pause billing-3     it stands still, perhaps for longer than its session

In a group with static members the name is the `group.instance.id`; `billing-1b` is a twin with the
instance id of billing-1, started while that one is frozen.

The members commit in different ways: by auto-commit, after each poll with and without waiting, and
in their rebalance listener.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from engine.client.consumer.application import STOPPED, Application
from engine.client.consumer.consumer import Consumer
from engine.cluster.processes import PAUSED
from engine.sim.world.faults import Fault, fault
from engine.sim.world.tape import Action, Add, Tell
from engine.sim.world.world import World

EAGER, COOPERATIVE, CONSUMER = "eager", "cooperative", "consumer"
PROTOCOLS = (EAGER, COOPERATIVE, CONSUMER)
NAMES = ("billing", "audit")
BROKER_SETTINGS = {
    "min.insync.replicas": 2,
    "group.initial.rebalance.delay.ms": 300,
    "group.min.session.timeout.ms": 1_000,
    "group.consumer.min.session.timeout.ms": 1_000,
    "group.consumer.session.timeout.ms": 3_000,
    "group.consumer.min.heartbeat.interval.ms": 100,
    "group.consumer.heartbeat.interval.ms": 500,
    "group.consumer.assignment.interval.ms": 0,
}
MEMBER_SETTINGS = {
    "session.timeout.ms": 3_000, "heartbeat.interval.ms": 500, "max.poll.interval.ms": 4_000,
    "request.timeout.ms": 2_000, "default.api.timeout.ms": 6_000, "auto.commit.interval.ms": 400,
    "auto.offset.reset": "earliest",
}  # fmt: skip
COMMITS = ("auto", "after", "async")
ENDS = ("FENCED_INSTANCE_ID", "UNRELEASED_INSTANCE_ID", "UNKNOWN_MEMBER_ID")
"""What `poll` may raise, and end a loop with, as the Java client's does: another process has the
instance id, or the member was fenced and asked for its offsets (KIP-848)."""
ENDS_WITHOUT_GROUP = (*ENDS, "GROUP_ID_NOT_FOUND")
"""And if its group is lost, which a member of the consumer protocol does not survive."""
PLANS = 9
DRAWN = ("kill", "kill", "pause", "pause", "start", "start", "stop")
KINDS = ("kill", "pause", "resume", "start", "stop")


@dataclass(frozen=True)
class GroupSetup:
    """A group and the number of members that it begins with."""

    name: str
    protocol: str
    members: int
    static: bool = False

    def __post_init__(self) -> None:
        if self.protocol not in PROTOCOLS:
            known = ", ".join(PROTOCOLS)
            raise ValueError(f"{self.protocol} is no protocol of a group; take {known}")


@dataclass(frozen=True)
class MemberPlan:
    """At `at_ms`, do `kind` to a member; undo a kill or a pause `for_ms` later."""

    at_ms: int
    kind: str
    member: str
    for_ms: int


# -- drawing


def draw_groups(chance: Random) -> tuple[GroupSetup, ...]:
    return tuple(
        GroupSetup(name, chance.choice(PROTOCOLS), chance.choice((2, 3)), chance.random() < 0.3)
        for name in NAMES[: chance.choice((1, 1, 2))]
    )


def draw_lives(
    chance: Random, groups: tuple[GroupSetup, ...], end_ms: int
) -> tuple[MemberPlan, ...]:
    """What happens to members, up to `end_ms`."""
    plans = []
    for _ in range(PLANS):
        group = chance.choice(groups)
        kind = chance.choice(DRAWN)
        number = (
            group.members + chance.randint(1, 2)
            if kind == "start"
            else chance.randint(1, group.members)
        )
        member = f"{group.name}-{number}"
        at_ms, for_ms = chance.randint(1_500, max(2_000, end_ms)), chance.randint(1_000, 8_000)
        plans.append(MemberPlan(at_ms, kind, member, for_ms))
        if kind == "pause" and group.static and chance.random() < 0.6:
            plans.append(MemberPlan(at_ms + 300, "start", f"{member}b", 0))
    return tuple(plans)


# -- as nodes of a world


def members_of(world: World, groups: tuple[GroupSetup, ...]) -> list[str]:
    """The names of the processes that run, or are frozen."""
    names = [each.name for each in groups]
    return [
        node
        for node in world.cluster.nodes
        if isinstance(node, str) and node.rpartition("-")[0] in names
    ]


def settings_of(group: GroupSetup, name: str) -> dict[str, object]:
    assignor = "cooperative-sticky" if group.protocol == COOPERATIVE else "range"
    settings: dict[str, object] = {
        **MEMBER_SETTINGS,
        "group.id": group.name,
        "enable.auto.commit": _commits(name) == "auto",
        "partition.assignment.strategy": assignor,
        "group.protocol": "consumer" if group.protocol == CONSUMER else "classic",
    }
    if group.static:
        settings["group.instance.id"] = name.removesuffix("b")
    return settings


def _commits(name: str) -> str:
    return COMMITS[int(name.rpartition("-")[2].removesuffix("b")) % len(COMMITS)]


def start(world: World, groups: tuple[GroupSetup, ...], topic: str, name: str) -> None:
    """A process of that name, if there is none."""
    if name in world.cluster.nodes:
        return
    group = next(each for each in groups if each.name == name.rpartition("-")[0])
    strategy = _commits(name)
    loop = Application((topic,), strategy, 1_000, 300, commit_on_revoke=strategy != "auto")
    brokers, settings = world.cluster.spec.brokers, settings_of(group, name)
    world.add(name, Consumer(name, brokers, settings, application=loop, seed=world.events))


def stop(world: World, name: str) -> None:
    """It leaves; one that leaves already, is frozen or gone cannot."""
    node, is_frozen = world.cluster.nodes.get(name), world.cluster.states.get(name) == PAUSED
    if isinstance(node, Consumer) and node.application is not None and not is_frozen:
        world.tell(name, "finish")


def as_fault(action: Action, groups: tuple[GroupSetup, ...]) -> Fault | None:
    """What is on the world's tape, as it is written on ours; None for what is no fault."""
    names = [each.name for each in groups]
    match action:
        case Fault():
            return action
        case Add(name=name) if name.rpartition("-")[0] in names:
            return fault("start", name)
        case Tell(name=name, method="finish") if name.rpartition("-")[0] in names:
            return fault("stop", name)
    return None


# -- the end


def undo_everything(world: World, groups: tuple[GroupSetup, ...], topic: str) -> None:
    """No member is frozen, and each group has at least one that runs."""
    for name in members_of(world, groups):
        if world.cluster.states[name] == PAUSED:
            world.resume(name)
    for group in groups:
        if not _live(world, group):
            spare = (f"{group.name}-{number}" for number in range(1, 100))
            start(world, groups, topic, next(n for n in spare if n not in world.cluster.nodes))


def _live(world: World, group: GroupSetup) -> dict[str, Consumer]:
    """The members whose loops go on."""
    nodes = ((name, world.client(name)) for name in members_of(world, (group,)))
    return {
        name: node
        for name, node in nodes
        if node.application is not None and node.application.state != STOPPED
    }


def unsettled(world: World, groups: tuple[GroupSetup, ...], topic: str) -> str:
    """What is still missing to a group at rest; empty if nothing is."""
    for group in groups:
        missing = _unsettled(world, group, topic)
        if missing:
            return f"{group.name}: {missing}"
    return ""


def _unsettled(world: World, group: GroupSetup, topic: str) -> str:
    assert world.invariants is not None
    assert world.invariants.groups is not None
    ends = ENDS_WITHOUT_GROUP if world.invariants.groups.may_have_lost else ENDS
    for name in members_of(world, (group,)):
        loop = world.client(name).application
        if loop is not None and loop.state == STOPPED and loop.error not in ends:
            return f"the loop of {name} has ended: {loop.error}"
    shard = world.invariants.groups.shard(group.name)
    shown = None if shard is None else shard.snapshot().get(group.name)
    if shown is None or shown["state"] != "Stable":
        return f"it is {shown and shown['state']}"
    owns = {each["id"]: each["owns"].get(topic, []) for each in shown["members"]}  # type: ignore[attr-defined]
    live = _live(world, group)
    for name, member in live.items():
        known = owns.pop(member.membership.member_id, None)
        believed = [index for _, index in member.owned]
        if known != believed:
            return f"{name} owns {believed} and the group says {known}"
    if owns:
        return f"it still has the member {', '.join(owns)}"
    taken = sorted(index for member in live.values() for _, index in member.owned)
    orphans = world.invariants.groups.orphans(group.name)
    wanted = sorted(each for each in world.partitions(topic) if (topic, each) not in orphans)
    return "" if taken == wanted else f"owned are {taken} of {wanted}"
