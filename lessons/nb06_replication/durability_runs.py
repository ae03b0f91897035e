"""Tables for notebook 06: how `acks`, replicas and luck decide whether a record survives.

Each experiment writes, breaks something, and looks for the record under the next leader: was
it lost, could writing go on, and which client had to wait?
"""

from __future__ import annotations

from engine.sim.world.world import World
from kit.probes.one_partition import TOPIC, cluster
from kit.probes.virtual import readable, send
from kit.tables import Table


def acks_and_a_dying_leader(worlds: int = 20) -> Table:
    """One record with acks 0, 1 and all; the leader dies as soon as the producer knows."""
    rows = []
    for acks in ("0", "1", "all"):
        outcomes = [_answer_and_death(acks, seed) for seed in range(worlds)]
        waits = sorted(after_ms for after_ms, _ in outcomes)
        lost = sum(not kept for _, kept in outcomes)
        told = "nothing, ever" if acks == "0" else f"an offset after {waits[worlds // 2]:.1f} ms"
        rows.append((acks, told, f"{lost} of {worlds}"))
    columns = ("acks", "the producer hears (median)", "lost under the next leader")
    heading = f"The leader dies at the moment of the answer, in {worlds} worlds"
    closing = "With acks=0 there is no answer: it dies when the record is handed to the network."
    return Table(heading, columns, rows, closing)


def _answer_and_death(acks: str, seed: int) -> tuple[float, bool]:
    world = cluster(seed=seed)
    send(world, TOPIC, "before", acks=acks)  # so that the followers are busy fetching
    answer = send(world, TOPIC, "A", acks=acks)
    world.kill(101)
    world.run(until=lambda w: w.leader(TOPIC, 0) == 102, for_s=10)
    world.run(for_s=4)  # the new leader's own HW has to rise first
    return answer.after_ms, "A" in readable(world, TOPIC)


def what_survives() -> Table:
    """Four brokers; one is stopped for maintenance, then another dies: do writes go on?"""
    rows = []
    for replicas, minimum in ((1, 1), (2, 1), (2, 2), (3, 1), (3, 2), (4, 2), (4, 3)):
        world = cluster(range(101, 101 + replicas), minimum=minimum, brokers=4, checked=False)
        told = [send(world, TOPIC, "A").error]
        for broker, fault in ((101, world.stop), (102, world.kill)):
            fault(broker)
            world.run(for_s=8)
            led = world.leader(TOPIC, 0) >= 0
            told.append(send(world, TOPIC, "B").error if led else "no leader")
        rows.append((str(replicas), str(minimum), *map(_plainly, told)))
    columns = ("replicas", "min.insync.replicas", "all up", "one stopped", "and one dead")
    return Table("acks=all writes while brokers go", columns, rows)


def _plainly(error: str) -> str:
    return "written" if error == "NONE" else error


def what_still_loses_records() -> Table:
    """A record acknowledged with acks=all; then disks or power go."""
    rows = []
    for replicas in (1, 2, 3):
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


def _lose_disk(world: World) -> None:
    world.replace_disk(101)
    world.run(for_s=5)
    world.start(101)


def _dark(world: World) -> None:
    for broker in world.cluster.spec.brokers:
        world.lose_power(broker)
    for broker in world.cluster.spec.brokers:
        world.start(broker)


def latency_with_a_slow_broker() -> Table:
    """Broker 103 is 40 ms away from all others; which producer waits for it?"""
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
            world.slow(103, other, 40)
        waits = [[send(world, TOPIC, "A", acks=acks).after_ms for _ in range(20)]
                 for acks in ("1", "all")]  # fmt: skip
        rows.append((what, *(f"{sorted(each)[-1]:.0f} ms" for each in waits)))
    return Table("The slowest of 20 writes", ("topic", "acks=1", "acks=all"), rows)
