"""Tables for notebook 06: how the number of replicas decides whether a record survives.

Each experiment writes, breaks something, and looks for the record under the next leader: was
it lost, could writing go on, and which client had to wait?
"""

from __future__ import annotations

from collections.abc import Sequence

from engine.sim.world.world import World
from kit.drawings.chart import Chart
from kit.probes.one_partition import TOPIC, cluster
from kit.probes.virtual import readable, send
from kit.tables import Table

SETTINGS = ((1, 1), (2, 1), (2, 2), (3, 1), (3, 2), (4, 2), (4, 3))
"""Replication factor and min.insync.replicas."""


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
            fault(world)
            world.run(for_s=10)
            led = world.leader(TOPIC, 0) >= 0
            found = ("still there" if readable(world, TOPIC) else "lost") if led else "offline"
            rows.append((str(replicas), what, found))
    columns = ("replicas, all in sync", "then", "the acknowledged record")
    return Table("Committed is not the same as safe from everything", columns, rows)


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


def latency_with_a_slow_broker(delay_ms: int = 40) -> Table:
    """Broker 103 is far away from all others; which producer waits for it?"""
    cases = (
        ("RF 1, on 101", (101,)),
        ("RF 2, without 103", (101, 102)),
        ("RF 3, without 103", (101, 102, 104)),
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
        waits = [[send(world, TOPIC, "A", acks=acks).after_ms for _ in range(20)]
                 for acks in ("1", "all")]  # fmt: skip
        rows.append((what, *(f"{sorted(each)[-1]:.0f} ms" for each in waits)))
    return Table("The slowest of 20 writes", ("topic", "acks=1", "acks=all"), rows)
