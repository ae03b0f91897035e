"""Transactional producers in a schedule, and the readers of what they write.

    TillSetup(tills=2, protocol=2)      begins with till-1 and till-2

They write to `payments`, with the protocol that the finalised transaction.version decides:
1 is that of KIP-98, 2 that of KIP-890.  The topic may be compacted.  A reader with read_committed
and one with read_uncommitted read all of it.

What happens to a till is a fault, as with members of groups (members.py).  `till-1b` is a second
process with the transactional.id of till-1: one of the two is a zombie from then on.  `remaker-1`
is an administrator that deletes the topic and makes it again, perhaps with one partition.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from engine.cluster.items import NodeId
from engine.cluster.processes import PAUSED
from engine.sim.campaign.members import MemberPlan
from engine.sim.clients.consumer import Consumer
from engine.sim.clients.remaker import Remaker
from engine.sim.clients.till import Habits, Till
from engine.sim.world.faults import Fault, fault
from engine.sim.world.tape import Action, Add
from engine.sim.world.world import World

PAYMENTS = "payments"
PARTITIONS = 2
READER = "payments-reader"
SCAN_MS = 1_000
TIMEOUT_MS = 3_000
BROKER_SETTINGS = {
    "min.insync.replicas": 2,
    "transaction.state.log.num.partitions": 1,
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": SCAN_MS,
    "log.cleaner.backoff.ms": 500,
    "log.retention.check.interval.ms": 1_000,
}
TILL_SETTINGS = {
    "transaction.timeout.ms": TIMEOUT_MS, "delivery.timeout.ms": 4_000, "linger.ms": 0,
    "request.timeout.ms": 1_500, "max.block.ms": 10_000,
}  # fmt: skip
COMPACTED = {
    "cleanup.policy": "compact",
    "internal.segment.bytes": 3_000,
    "min.cleanable.dirty.ratio": 0.1,
    "delete.retention.ms": 3_000,
    "file.delete.delay.ms": 2_000,
}
EPOCH_FOR_EACH = 2
"""The protocol in which each transaction has an epoch of its own (KIP-890)."""
PLANS = 6
DRAWN = ("kill", "kill", "pause", "pause", "start")
REMADE = (0, 0, 1, 2)
"""How often a schedule deletes the topic."""


@dataclass(frozen=True)
class TillSetup:
    """`tills` processes to begin with, on a cluster of this transaction protocol."""

    tills: int = 2
    protocol: int = 2
    compacted: bool = False

    def __post_init__(self) -> None:
        if self.protocol not in (1, 2):
            raise ValueError(f"protocol is 1 or 2, not {self.protocol}")


# -- drawing


def draw_tills(chance: Random) -> TillSetup:
    protocol = chance.choice((1, 2, 2))
    return TillSetup(chance.choice((2, 3)), protocol, compacted=chance.random() < 0.5)


def draw_lives(chance: Random, setup: TillSetup, end_ms: int) -> tuple[MemberPlan, ...]:
    """What happens to tills, up to `end_ms`: deaths, pauses, zombies."""
    plans = []
    for _ in range(PLANS):
        kind = chance.choice(DRAWN)
        till = f"till-{chance.randint(1, setup.tills)}"
        at_ms, for_ms = chance.randint(1_500, max(2_000, end_ms)), chance.randint(500, 6_000)
        if kind == "start":
            till += "b"
        plans.append(MemberPlan(at_ms, kind, till, for_ms))
        if kind == "pause" and chance.random() < 0.5:
            plans.append(MemberPlan(at_ms + 200, "start", f"{till}b", 0))
    return tuple(plans)


def draw_remakers(chance: Random, end_ms: int) -> tuple[MemberPlan, ...]:
    """When the topic is deleted and made again; not in every schedule."""
    return tuple(
        MemberPlan(chance.randint(2_500, max(3_000, end_ms)), "start", f"remaker-{number}", 0)
        for number in range(1, 1 + chance.choice(REMADE))
    )


# -- as nodes of a world


def is_till(name: NodeId) -> bool:
    return isinstance(name, str) and name.startswith("till-")


def is_remaker(name: NodeId) -> bool:
    return isinstance(name, str) and name.startswith("remaker-")


def remakers_of(world: World) -> list[str]:
    return [str(name) for name in world.cluster.nodes if is_remaker(name)]


def tills_of(world: World) -> list[str]:
    """The names of the processes that run, or are frozen."""
    return [str(name) for name in world.cluster.nodes if is_till(name)]


def readers_of(till: str) -> str:
    """The group whose offsets a till commits."""
    return f"{till.removesuffix('b')}-readers"


def set_up(world: World, setup: TillSetup, min_in_sync: int) -> None:
    world.create_topic(PAYMENTS, partitions=PARTITIONS, config=_config(setup, min_in_sync))
    reader = Consumer(READER, PAYMENTS, PARTITIONS, world.cluster.spec.brokers, committed=True)
    world.add(READER, reader)
    for number in range(1, setup.tills + 1):
        start(world, f"till-{number}")


def _config(setup: TillSetup, min_in_sync: int) -> dict[str, object]:
    return {"min.insync.replicas": min_in_sync, **(COMPACTED if setup.compacted else {})}


def remake(world: World, setup: TillSetup, min_in_sync: int, name: str) -> None:
    """An administrator of that name, if there was none."""
    if name not in world.cluster.nodes:
        config = _config(setup, min_in_sync)
        brokers, seed = world.cluster.spec.brokers, f"{name}/{world.events}"
        world.add(name, Remaker(PAYMENTS, PARTITIONS, brokers, config, seed))


def start(world: World, name: str) -> None:
    """A process of that name; one that is over makes room for it."""
    there = world.cluster.nodes.get(name)
    if isinstance(there, Till) and there.over:
        world.apply(fault("kill", name))
    elif there is not None:
        return
    settings: dict[str, object] = {**TILL_SETTINGS, "transactional.id": name.removesuffix("b")}
    habits = Habits(slow_us=2 * TIMEOUT_MS * 1_000)
    brokers = world.cluster.spec.brokers
    world.add(name, Till(name, PAYMENTS, PARTITIONS, brokers, settings, habits, world.events))


def as_fault(action: Action) -> Fault | None:
    """What is on the world's tape, as it is written on ours; None for what is no fault."""
    match action:
        case Fault():
            return action
        case Add(name=name) if is_till(name) or is_remaker(name):
            return fault("start", name)
    return None


def resume_all(world: World) -> None:
    for name in tills_of(world):
        if world.cluster.states[name] == PAUSED:
            world.resume(name)


def close_waiting(world: World) -> list[str]:
    """Ends the tills whose producers ask to add a partition that is gone; their names.

    With protocol 1 the Java client repeats AddPartitionsToTxn for as long as that takes, and its
    batches do not expire meanwhile.  The call times out, and closing the producer is all that is
    left.
    """
    topic = world.image().topic(PAYMENTS)
    there = [] if topic is None else [(PAYMENTS, index) for index in topic.partitions]
    waiting = [
        name
        for name in tills_of(world)
        if any(place not in there for place in world.client(name).waits_for)
    ]
    for name in waiting:
        world.kill(name)
    return waiting


def finish_all(world: World) -> None:
    """The last till dies: if it is in a transaction, only the timeout ends that."""
    *others, last = sorted(tills_of(world))
    world.kill(last)
    for name in others:
        world.tell(name, "finish")
