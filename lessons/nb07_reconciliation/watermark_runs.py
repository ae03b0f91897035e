"""Worlds and probes in virtual time for notebook 07: what consumers may read, what brokers hold.

The scenarios are in the notebook's cells.  These functions prepare a world, ask one broker,
or read a broker's state; no result is written down beforehand.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from engine.replication.truncation import DEFAULT_RULE
from engine.sim.campaign.mutants import MUTANTS
from engine.sim.world.world import World
from kit.drawings.walkthrough import high_watermarks, in_sync, led_by, log_ends, log_of
from kit.probes import requests
from kit.probes.virtual import produce_request, send, topic_id
from kit.tables import Table

TOPIC = "orders"
SETTLED_S = 2.0
PATIENCE_S = 30.0


def settled(*replicas: int, seed: int = 7, checked: bool = True) -> World:
    """A world with the topic `orders` on these brokers, preferred leader first, at rest."""
    world = World(seed, checked=checked)
    world.create_topic(TOPIC, assignment={0: list(replicas)})
    world.run(for_s=SETTLED_S)
    return world


# -- what a consumer may see


def three_behind(checked: bool = True) -> World:
    """101 leads with eight records; 102 has five of them and 103 six."""
    world = settled(101, 102, 103, checked=checked)
    send(world, TOPIC, *"ABCDE")
    world.run(until=high_watermarks(5, 101, 102, 103), for_s=PATIENCE_S)
    world.cut(101, 102)
    world.post(produce_request(world, TOPIC, ("F",), "1", 1_000), 101)
    world.run(until=log_ends(6, 103), for_s=PATIENCE_S)
    world.cut(101, 103)
    world.post(produce_request(world, TOPIC, ("G", "H"), "1", 1_000), 101)
    world.run(until=log_ends(8, 101), for_s=PATIENCE_S)
    return world


def a_reader_and_a_dying_leader() -> Table:
    """The same failover with the rule of the high watermark, and without it."""
    rows = []
    for rule, broken in (("reads end at the high watermark", nullcontext()),
                         ("switched off: reads end where the log ends",
                          MUTANTS["read-uncommitted"].in_force())):  # fmt: skip
        with broken:
            world = three_behind(checked=False)
            first = read(world, 101).split()
            world.kill(101)
            world.run(until=led_by(102), for_s=PATIENCE_S)
            world.run(for_s=SETTLED_S)
            then = read(world, 102).split()
        gone = [value for value in first if value not in then]
        rows.append((rule, " ".join(first), " ".join(then), " ".join(gone) or "nothing"))
    columns = ("rule", "read from 101", "101 dies; read from 102", "read, and no longer there")
    return Table("A consumer and a leader that dies", columns, rows)


# -- two leaders die


def two_deaths(rule: str = DEFAULT_RULE) -> World:
    """The accident of the cell `film`, with E on 101 alone, acks=1, and W from 102.

    From the first death on, followers truncate by `rule`; under an old one, invariants are not
    checked.
    """
    world = settled(101, 103, 102, checked=rule == DEFAULT_RULE)
    send(world, TOPIC, *"ABC")
    world.run(until=high_watermarks(3, 101, 102, 103), for_s=PATIENCE_S)
    send(world, TOPIC, "D")
    for a, b in ((101, 102), (101, 103), (102, 103)):
        world.cut(a, b)
    send(world, TOPIC, "E", acks="1")
    world.kill(101)
    world.use_rule(rule)
    world.run(until=led_by(103, 102, 103), for_s=PATIENCE_S)
    world.kill(103)
    world.run(until=led_by(102), for_s=PATIENCE_S)
    send(world, TOPIC, "W", acks="1")
    world.heal()
    world.start(101)
    world.start(103)
    world.run(until=in_sync(101, 102, 103), for_s=PATIENCE_S)
    world.run(for_s=SETTLED_S)
    return world


# -- what a run has shown, broker by broker


def watermarks(world: World) -> dict[int, int]:
    """The high watermark that each running broker knows."""
    return {each: world.replica(each, TOPIC, 0).high_watermark for each in sorted(_running(world))}


def holders(world: World, value: str) -> list[int]:
    """The running brokers whose log holds this record."""
    logs = {each: log_of(world.replica(each, TOPIC, 0)) for each in _running(world)}
    return sorted(each for each, log in logs.items() if value in dict(log))


def cuts(world: World, *brokers: int) -> list[int]:
    """For each broker, the offset at which it cut its log last; its log end if it did not."""
    found = {each: world.replica(each, TOPIC, 0).log.log_end_offset for each in brokers}
    for _, node, line in world.cluster.trace:
        if line.kind == "truncate" and node in found:
            found[node] = dict(line.fields)["to"]
    return [found[each] for each in brokers]


def has_cut(broker: int) -> Callable[[World], bool]:
    """A condition: the broker has cut its log."""
    return lambda world: any(
        node == broker and line.kind == "truncate" for _, node, line in world.cluster.trace
    )


def _running(world: World) -> list[int]:
    return [each for each in world.partition(TOPIC, 0).replicas if each in world.cluster.nodes]


def log_text(world: World, broker: int) -> str:
    """A broker's records with their epochs."""
    found = log_of(world.replica(broker, TOPIC, 0))
    return " ".join(f"{value}·{epoch}" for value, epoch in found)


# -- requests to one broker, whether it leads or not


def read(world: World, broker: int, epoch: int = -1) -> str:
    """A consumer's Fetch from offset 0: the values, or the error's name.

    `epoch` is the leader epoch that the consumer names; -1: none, as before Kafka 2.1.
    """
    body = requests.fetching(topic_id(world, TOPIC), epoch=epoch)
    answer = requests.first_partition(world.ask(body, broker))
    return requests.refusal(answer) or " ".join(requests.values(answer.records)) or "no records"


def write(world: World, broker: int, value: str, acks: str) -> str:
    """A Produce request with one record and a timeout of one second: the answer."""
    body: Any = produce_request(world, TOPIC, (value,), acks, 1_000)
    answer = requests.first_partition(world.ask(body, broker))
    return requests.refusal(answer) or f"acknowledged, offset {answer.base_offset}"
