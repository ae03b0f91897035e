"""Experiments in virtual time for notebook 07: what consumers may read, and zombie leaders.

Each starts its own world, breaks it in one way and reports clients' answers or the files on
a disk.  No result is written down beforehand.
"""

from __future__ import annotations

from contextlib import nullcontext
from textwrap import indent
from typing import Any

from engine.replication.truncation import DEFAULT_RULE
from engine.sim.campaign.mutants import MUTANTS
from engine.sim.world.world import World
from kit.drawings.walkthrough import Walkthrough, high_watermarks, in_sync, led_by, log_ends, log_of
from kit.probes import requests
from kit.probes.virtual import produce_request, send, topic_id
from kit.tables import Table

TOPIC = "orders"
SETTLED_S = 2.0
PATIENCE_S = 30.0
CONTROLLER = 100


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
            first = read(world, 101)
            world.kill(101)
            world.run(until=led_by(102), for_s=PATIENCE_S)
            world.run(for_s=SETTLED_S)
            then = read(world, 102)
        gone = [value for value in first if value not in then]
        rows.append((rule, " ".join(first), " ".join(then), " ".join(gone) or "nothing"))
    columns = ("rule", "read from 101", "101 dies; read from 102", "read, and no longer there")
    return Table("A consumer and a leader that dies", columns, rows)


def read(world: World, broker: int, epoch: int = -1) -> list[str]:
    """A consumer's Fetch from offset 0: the values, or the error's name."""
    body = requests.fetching(topic_id(world, TOPIC), epoch=epoch)
    told = requests.first_partition(world.ask(body, broker))
    refused = requests.refusal(told)
    return [refused] if refused else requests.values(told.records)


# -- two leaders die


def two_deaths(rule: str = DEFAULT_RULE) -> World:
    """D is acknowledged by all; 101 dies, then 103, before 102 could fetch anything; 102 leads.

    E is on 101 alone, with acks=1; W is written by 102.  At the end all are back.  From the
    first death on, followers truncate by `rule`; under an old one, invariants are not checked.
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


def two_endings() -> Walkthrough:
    """How `two_deaths` ends under the rule of today, and under the oldest one."""
    today = Walkthrough(two_deaths()).shot(f"Everybody is back, with {DEFAULT_RULE}")
    oldest = Walkthrough(two_deaths("to-high-watermark"))
    oldest.shot("Everybody is back, with to-high-watermark")
    today.frames += oldest.frames
    return today


# -- what a broker has on its disk


def checkpoints(world: World, broker: int) -> str:
    """The files in which a broker keeps its leader epochs and its high watermarks, as they are."""
    disk = world.cluster.disks[broker]
    found = []
    for path in (f"{TOPIC}-0/leader-epoch-checkpoint", "replication-offset-checkpoint"):
        content = disk.read(path, 0, disk.size(path)).decode() if disk.exists(path) else "not there"
        found.append(f"{broker}, {path}:\n{indent(content, '    ')}")
    return "\n".join(found)


# -- a leader of the past


def a_zombie() -> Table:
    """101 leads, is cut off, and does not know that 103 leads now: the answers of both."""
    world = settled(101, 103, 102)
    send(world, TOPIC, *"ABC")
    world.run(until=high_watermarks(3, 101, 102, 103), for_s=PATIENCE_S)
    world.isolate(101)
    world.run(until=led_by(103), for_s=PATIENCE_S)
    send(world, TOPIC, "D")
    rows = [
        ("reads from 101, names no epoch (before 2.1)", told(read(world, 101))),
        ("reads from 101, believes in epoch 0, too", told(read(world, 101, epoch=0))),
        ("reads from 101, knows of epoch 1", told(read(world, 101, epoch=1))),
        ("reads from 103, believes in epoch 0", told(read(world, 103, epoch=0))),
        ("reads from 103, knows of epoch 1", told(read(world, 103, epoch=1))),
        ("writes E to 101, acks=all", _write(world, "E", "all")),
        ("writes F to 101, acks=1", _write(world, "F", "1")),
    ]
    logs = [f"{broker} has {_log(world, broker)}" for broker in (101, 103)]
    world.heal()
    world.run(for_s=3 * SETTLED_S)
    rows.append(("101 is back; a read from 103", told(read(world, 103))))
    return Table("101 believes that it leads epoch 0; 103 leads epoch 1", ("a client", "is told"),
                 rows, f"Before 101 was back: {'; '.join(logs)}.")  # fmt: skip


def _log(world: World, broker: int) -> str:
    """A broker's records with their epochs."""
    found = log_of(world.replica(broker, TOPIC, 0))
    return " ".join(f"{value}·{epoch}" for value, epoch in found)


def told(values: list[str]) -> str:
    return " ".join(values) or "no records"


def _write(world: World, value: str, acks: str) -> str:
    body: Any = produce_request(world, TOPIC, (value,), acks, 1_000)
    answer = requests.first_partition(world.ask(body, 101))
    return requests.refusal(answer) or f"acknowledged, offset {answer.base_offset}"
