"""A small cluster with a topic, records in it, and a group of consumers that run loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engine.client.consumer.application import Application
from engine.client.consumer.consumer import Consumer
from engine.client.producer import Load, Producer
from engine.events import Trace
from engine.sim.world.world import World

BROKERS = (101, 102, 103)
FAST = {
    "session.timeout.ms": 6_000, "heartbeat.interval.ms": 1_000, "max.poll.interval.ms": 10_000,
    "auto.offset.reset": "earliest", "request.timeout.ms": 5_000, "auto.commit.interval.ms": 1_000,
}  # fmt: skip
QUICK = {"group.initial.rebalance.delay.ms": 200}
COOPERATIVE = {"partition.assignment.strategy": "cooperative-sticky"}


def world(partitions: int = 4, seed: int = 5, **options: Any) -> World:
    settings = {**QUICK, **options.pop("settings", {})}
    made = World(seed=seed, settings=settings, **options)
    made.create_topic("orders", partitions=partitions)
    return made


def produce(w: World, count: int, period_us: int = 20_000) -> None:
    """A producer that fills the partitions in turn."""
    settings = {"partitioner.class": "round-robin", "linger.ms": 0}
    w.add("shop", Producer("shop", BROKERS, settings, load=Load("orders", count, period_us, None)))


def fill(w: World, count: int) -> None:
    produce(w, count, 2_000)
    assert w.run(until=lambda w: w.client("shop").idle, for_s=60)


def member(w: World, name: str, given: dict[str, Any] | None = None, **loop: Any) -> Consumer:
    """Adds a consumer with a loop."""
    settings = {"group.id": "billing", **FAST, **(given or {})}
    application = Application(("orders",), **loop)
    return w.add(name, Consumer(name, BROKERS, settings, application=application))


def bare(w: World, name: str = "c-1", **given: Any) -> Consumer:
    """Adds a consumer that is called from outside; settings with underscores for dots."""
    settings = {**FAST, **{key.replace("_", "."): value for key, value in given.items()}}
    return w.add(name, Consumer(name, BROKERS, settings))


def call(w: World, name: str, method: str, *arguments: object, for_s: float = 70) -> Consumer:
    """One call, until it returns."""
    w.tell(name, method, *arguments)
    assert w.run(until=lambda w: not w.client(name).busy, for_s=for_s)
    return consumer(w, name)


def consumer(w: World, name: str) -> Consumer:
    found: Consumer = w.client(name)
    return found


def stable(*names: str, each: int | None = None) -> Callable[[World], bool]:
    """All of them are members of one generation, with so many partitions each."""

    def holds(w: World) -> bool:
        found = [consumer(w, name) for name in names]
        settled = all(c.membership.state == "stable" and not c.membership.rejoin for c in found)
        one = len({c.membership.generation for c in found}) == 1
        return settled and one and all(each is None or len(c.owned) == each for c in found)

    return holds


def values(w: World, *names: str) -> list[str]:
    """What their applications have processed."""
    found = []
    for name in names:
        loop = consumer(w, name).application
        assert loop is not None
        found += [record.text for record in loop.processed]
    return found


def lines(w: World, name: str, kind: str) -> list[tuple[int, dict[str, Any], str]]:
    """One consumer's trace lines of one kind: microseconds, fields, why."""
    return [
        (at, dict(line.fields), line.why)
        for at, node, line in w.cluster.trace
        if node == name and isinstance(line, Trace) and line.kind == kind
    ]


def assigned_by_generation(w: World) -> dict[int, dict[str, list[str]]]:
    """Which partitions each consumer was assigned, generation by generation."""
    found: dict[int, dict[str, list[str]]] = {}
    for _, node, line in w.cluster.trace:
        if isinstance(line, Trace) and line.kind == "assigned" and isinstance(node, str):
            fields = dict(line.fields)
            share = [each for each in fields["partitions"].split() if each != "none"]
            found.setdefault(fields["generation"], {})[node] = share
    return found


def one_owner_each(w: World) -> bool:
    """No partition has two owners in one generation."""
    for shares in assigned_by_generation(w).values():
        given = [each for share in shares.values() for each in share]
        if len(given) != len(set(given)):
            return False
    return True
