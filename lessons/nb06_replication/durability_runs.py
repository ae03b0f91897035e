"""Tables for notebook 06: how the number of replicas decides whether a record survives.

Each experiment writes, breaks something, and looks for the record under the next leader: was
it lost, could writing go on, and which client had to wait?
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from engine.sim.world.world import World
from kit.drawings.chart import Chart
from kit.probes.one_partition import TOPIC, cluster
from kit.probes.requests import fetching
from kit.probes.virtual import post, readable, send, topic_id
from kit.tables import Table

SETTINGS = ((1, 1), (2, 1), (2, 2), (3, 1), (3, 2), (4, 2), (4, 3))
"""Replication factor and min.insync.replicas."""
CONSUMER_WAITS_MS = 5_000
"""A Fetch's max.wait: longer than any write here takes to be committed."""


def what_survives(settings: Sequence[tuple[int, int]] = SETTINGS) -> Table:
    """Four brokers; one is stopped for maintenance, then another dies: do writes go on?"""
    rows = []
    for replicas, minimum in settings:
        world = cluster(range(101, 101 + replicas), minimum=minimum, brokers=4, checked=False)
        answers = [send(world, TOPIC, "A").error]
        for broker, fault in ((101, world.stop), (102, world.kill)):
            fault(broker)
            world.run(for_s=8)
            led = world.leader(TOPIC, 0) >= 0
            answers.append(send(world, TOPIC, "B").error if led else "no leader")
        rows.append((str(replicas), str(minimum), *map(_plainly, answers)))
    columns = ("replicas", "min.insync.replicas", "all up", "one stopped", "and one dead")
    return Table("acks=all writes while brokers go", columns, rows)


def _plainly(error: str) -> str:
    return "written" if error == "NONE" else error


def what_still_loses_records(factors: Sequence[int] = (1, 2, 3)) -> Table:
    """A record acknowledged with acks=all; then disks or power go."""
    rows = []
    for replicas in factors:
        for what, fault in (
            ("the leader's disk dies", _lose_disk),
            ("power fails everywhere", _dark),
        ):
            world = cluster(range(101, 101 + replicas), minimum=replicas, checked=False)
            answer = send(world, TOPIC, "A")
            assert answer.error == "NONE"
            flushed = sum(_is_flushed(world, broker) for broker in range(101, 101 + replicas))
            fault(world)
            world.run(for_s=10)
            led = world.leader(TOPIC, 0) >= 0
            found = ("still there" if readable(world, TOPIC) else "lost") if led else "offline"
            rows.append((str(replicas), what, found, f"on {flushed} of {replicas} brokers"))
    columns = ("replicas, all in sync", "then", "the acknowledged record", "fsync before that")
    return Table("Committed is not the same as safe from everything", columns, rows)


def _is_flushed(world: World, broker: int) -> bool:
    """Whether an fsync has covered the record at offset 0; the recovery point counts them."""
    return bool(world.replica(broker, TOPIC, 0).log.recovery_point > 0)


def chance_of_loss(
    factors: Sequence[int] = (1, 2, 3), chances: Sequence[float] = (0.001, 0.003, 0.01, 0.03, 0.1)
) -> Chart:
    """How likely all copies are gone, if each disk dies with the same chance by itself."""
    series = {
        f"{copies} {'copy' if copies == 1 else 'copies'}": [(p, p**copies) for p in chances]
        for copies in factors
    }
    axes = ("chance that one disk dies in the time", "chance that all do")
    return Chart("Copies that die independently", series, *axes, log_y=True)


def _lose_disk(world: World) -> None:
    world.replace_disk(101)
    world.run(for_s=5)
    world.start(101)


def _dark(world: World) -> None:
    for broker in world.cluster.spec.brokers:
        world.lose_power(broker)
    for broker in world.cluster.spec.brokers:
        world.start(broker)


def latency_with_a_slow_broker(delay_ms: int = 40, writes: int = 100) -> Table:
    """Broker 103 is far away from all others; which producer or consumer waits for it?"""
    cases = (
        ("RF 1, on 101", (101,)),
        ("RF 3, without 103", (101, 102, 104)),
        ("RF 2, with 103 as follower", (101, 103)),
        ("RF 3, with 103 as follower", (101, 102, 103)),
        ("RF 5, with 103 as follower", (101, 102, 103, 104, 105)),
        ("RF 1, led by 103", (103,)),
        ("RF 3, led by 103", (103, 101, 102)),
    )
    rows = []
    for what, replicas in cases:
        world = cluster(replicas, brokers=5)
        for other in (101, 102, 104, 105, "admin"):
            world.slow(103, other, delay_ms)
        waits = [[send(world, TOPIC, "A", acks=acks).after_ms for _ in range(writes)]
                 for acks in ("1", "all")]  # fmt: skip
        waits.append([_produce_to_consume_ms(world) for _ in range(writes)])
        rows.append((what, *(f"{_p99(each):.0f} ms" for each in waits)))
    columns = ("topic", "answer, acks=1", "answer, acks=all", "acks=1, until a consumer reads it")
    return Table(f"The 99th percentile of {writes} writes", columns, rows)


def _produce_to_consume_ms(world: World) -> float:
    """Milliseconds from a write with acks=1 until a consumer that waits for it has the record."""
    leader = world.leader(TOPIC, 0)
    end = world.replica(leader, TOPIC, 0).log.log_end_offset
    asked_us = world.now_us
    post(world, TOPIC, "A", acks="1")
    world.ask(fetching(topic_id(world, TOPIC), end, max_wait_ms=CONSUMER_WAITS_MS), leader)
    return (world.now_us - asked_us) / 1000


def _p99(waits: Sequence[float]) -> float:
    """The value that 99 % do not exceed (nearest rank)."""
    return sorted(waits)[ceil(0.99 * len(waits)) - 1]
