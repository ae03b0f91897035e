"""Experiments in virtual time for notebook 06: each runs a cluster and gives a table.

Every function starts its own world from a seed, breaks it in one way, and reports what a
client was told and what the replicas hold.  Nothing is written down beforehand: change a
setting and the table changes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from engine.sim.world import World
from engine.storage.memory_disk import MemoryDisk
from engine.wire import messages as m
from engine.wire.errors import Errors
from kit.lessons.virtual import ends, isr, readable, send
from kit.tables import Table

Condition = Callable[[World], bool]
TOPIC = "orders"
SETTLED_S = 2.0
"""After this a new topic's followers fetch without pause; the first fetch may come too early."""


def cluster(
    replicas: Sequence[int] = (101, 102, 103),
    *,
    minimum: int = 1,
    brokers: int = 3,
    seed: int = 6,
    settings: dict[str, Any] | None = None,
    checked: bool = True,
    **config: Any,
) -> World:
    """A world with the topic `orders` of one partition, its followers fetching."""
    world = World(seed, brokers, settings, checked=checked)
    configs = {"min.insync.replicas": minimum, **config}
    world.create_topic(TOPIC, assignment={0: list(replicas)}, config=configs)
    world.run(for_s=SETTLED_S)
    return world


def _halted(broker: int) -> Condition:
    return lambda world: broker not in world.cluster.nodes


def _left(broker: int) -> Condition:
    return lambda world: broker not in isr(world, TOPIC)


def _committed(offset: int) -> Condition:
    return lambda world: ends(world, TOPIC)[101][1] > offset


def listed(brokers: Sequence[int]) -> str:
    return " ".join(map(str, brokers)) or "nobody"


# -- acks


def acks_and_a_dying_leader(worlds: int = 20) -> Table:
    """One record with acks 0, 1 and all; the leader dies as soon as the producer knows."""
    rows = []
    for acks in ("0", "1", "all"):
        outcomes = [_answer_and_death(acks, seed) for seed in range(worlds)]
        waits = sorted(after_ms for after_ms, _ in outcomes)
        lost = sum(not kept for _, kept in outcomes)
        told = "nothing" if acks == "0" else f"an offset after {waits[worlds // 2]:.1f} ms"
        rows.append((acks, told, f"{lost} of {worlds}"))
    columns = ("acks", "the producer hears (median)", "lost under the next leader")
    heading = f"The leader dies at the moment of the answer, in {worlds} worlds"
    return Table(heading, columns, rows)


def _answer_and_death(acks: str, seed: int) -> tuple[float, bool]:
    world = cluster(seed=seed)
    send(world, TOPIC, "before", acks=acks)  # so that the followers are busy fetching
    answer = send(world, TOPIC, "A", acks=acks)
    world.kill(101)
    world.run(until=lambda w: w.leader(TOPIC, 0) == 102, for_s=10)
    world.run(for_s=4)  # the new leader's own HW has to rise first
    return answer.after_ms, "A" in readable(world, TOPIC)


# -- the ISR


def ways_out_of_the_isr() -> Table:
    """Six kinds of trouble for replica 103 of leader 101, under a steady load or none."""
    troubles: tuple[tuple[str, bool, Callable[[World], None]], ...] = (
        ("its heartbeats do not reach the controller", False, lambda w: w.cut(100, 103)),
        ("its fetches do not reach the leader", True, lambda w: w.cut(101, 103)),
        ("the same, and nothing is written", False, lambda w: w.cut(101, 103)),
        ("it fetches, each round takes 3 s", True, lambda w: w.slow(101, 103, 1_500)),
        ("it fetches, each round takes 0.4 s", True, lambda w: w.slow(101, 103, 200)),
        ("the leader itself is slow to everybody", True, _slow_leader),
    )
    rows = []
    for what, loaded, trouble in troubles:
        world = cluster()
        if loaded:
            world.load(TOPIC, acks=1, period_us=50_000)
            world.run(for_s=1)
        since_us = world.now_us
        trouble(world)
        left = world.run(until=lambda w: isr(w, TOPIC) != [101, 102, 103], for_s=12)
        after = f"{(world.now_us - since_us) / 1e6:.1f} s" if left else "never"
        world.run(for_s=4)
        rows.append((what, after, listed(isr(world, TOPIC)), _fenced(world)))
    columns = ("trouble", "leaves the ISR after", "ISR then", "fenced by the controller")
    closing = "Here replica.lag.time.max.ms is 2000 and broker.session.timeout.ms 1500."
    return Table("What puts a replica out of sync", columns, rows, closing)


def _slow_leader(world: World) -> None:
    for follower in (102, 103):
        world.slow(101, follower, 1_500)


def _fenced(world: World) -> str:
    return listed([b for b in world.cluster.spec.brokers if world.is_fenced(b)])


# -- min.insync.replicas


def below_the_minimum() -> Table:
    """RF 3, min.insync.replicas 2: both followers lose the leader, and come back."""
    world = cluster(minimum=2)
    rows = [_attempt(world, "all in sync", "A", "all")]
    world.cut(101, 102)
    world.cut(101, 103)
    rows.append(_attempt(world, "followers just cut off, still in the ISR", "B", "all"))
    world.run(until=lambda w: isr(w, TOPIC) == [101], for_s=10)
    world.run(for_s=0.1)  # the leader hears of it, too
    rows.append(_attempt(world, "the ISR has shrunk to 101", "C", "all"))
    rows.append(_attempt(world, "the same", "D", "1"))
    world.heal()
    world.run(until=lambda w: len(isr(w, TOPIC)) == 3, for_s=10)
    world.run(for_s=1)
    rows.append(("followers back in the ISR", "", "", *_seen(world)))
    columns = ("situation", "write", "the producer is told", "log end", "HW", "a consumer reads")
    return Table("Below min.insync.replicas", columns, rows)


def _attempt(world: World, situation: str, value: str, acks: str) -> tuple[str, ...]:
    answer = send(world, TOPIC, value, acks=acks, timeout_ms=1_000)
    return (situation, f"{value}, acks={acks}", str(answer), *_seen(world))


def _seen(world: World) -> tuple[str, str, str]:
    end, high_watermark = ends(world, TOPIC)[101]
    return str(end), str(high_watermark), " ".join(readable(world, TOPIC)) or "nothing"


# -- who holds what


def roles(world: World) -> Table:
    """Brokers by partitions: ★ leads, • follows, blank: a stranger; and who leads how much."""
    image = world.image()
    partitions = {
        f"{topic.name}-{index}": partition
        for topic in sorted(image.topics.values(), key=lambda t: t.name)
        for index, partition in sorted(topic.partitions.items())
    }
    rows = []
    for broker in world.cluster.spec.brokers:
        marks = [_role(partition, broker) for partition in partitions.values()]
        state = "down" if broker not in world.cluster.nodes else "running"
        rows.append((str(broker), state, *marks, str(marks.count("★"))))
    columns = ("broker", "state", *partitions, "leads")
    return Table("★ leader   • in-sync follower   ○ out of sync", columns, rows)


def _role(partition: Any, broker: int) -> str:
    if broker not in partition.replicas:
        return ""
    if partition.leader == broker:
        return "★"
    return "•" if broker in partition.isr else "○"


# -- leaders


def leaders_after_a_rolling_restart(**settings: Any) -> Table:
    """Six partitions; each broker is stopped and started in turn; then leaders go home."""
    world = World(6, settings=settings)
    world.create_topic(TOPIC, partitions=6)
    world.run(for_s=SETTLED_S)
    rows = [("created", *_leads(world))]
    for broker in (101, 102, 103):
        world.stop(broker)
        world.run(until=_halted(broker), for_s=30)
        world.start(broker)
        world.run(until=_whole, for_s=30)
        rows.append((f"{broker} restarted", *_leads(world)))
    if settings.get("auto.leader.rebalance.enable"):
        every_s = settings["leader.imbalance.check.interval.seconds"]
        world.run(until=lambda w: len(set(_leads(w))) == 1, for_s=4 * every_s)
        rows.append(("the controller's check", *_leads(world)))
    else:
        world.run(for_s=60)
        rows.append(("a minute later", *_leads(world)))
        elected = elect_preferred(world)
        rows.append((f"preferred election: {elected}", *_leads(world)))
    columns = ("leaderships after", "101", "102", "103")
    return Table("A rolling restart", columns, rows)


def elect_preferred(world: World) -> str:
    """ElectLeaders for all partitions; how many were moved."""
    answer = world.ask(m.ElectLeadersRequest(0, None, 10_000), None)
    results = [r for t in answer.replica_election_results for r in t.partition_result]
    world.run(for_s=1)
    return f"{sum(r.error_code == Errors.NONE for r in results)} moved"


def _leads(world: World) -> tuple[str, ...]:
    image = world.image()
    leaders = [p.leader for t in image.topics.values() for p in t.partitions.values()]
    return tuple(str(leaders.count(broker)) for broker in world.cluster.spec.brokers)


def _whole(world: World) -> bool:
    partitions = [p for t in world.image().topics.values() for p in t.partitions.values()]
    return all(len(p.isr) == len(p.replicas) for p in partitions)


# -- how many replicas


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


# -- elections


def unclean_election() -> Table:
    """103 falls behind, the ISR dies, 103 lives: first with the default, then allowed."""
    world = cluster(minimum=1)
    send(world, TOPIC, "A")
    world.cut(101, 103)
    world.cut(102, 103)
    world.run(for_s=0.1)
    send(world, TOPIC, "B", timeout_ms=2_900)
    rows = [_reading(world, "103 is cut off; A and B are acknowledged")]
    for broker in (102, 101):
        world.kill(broker)
        world.run(until=_left(broker), for_s=10)
        rows.append(_reading(world, f"{broker} dies"))
    world.run(for_s=20)
    rows.append(_reading(world, "20 s later, 103 is alive"))
    since_us = world.now_us
    set_config(world, "unclean.leader.election.enable", "true")
    world.run(until=lambda w: w.leader(TOPIC, 0) == 103, for_s=400)
    after_s = (world.now_us - since_us) / 1e6
    world.run(for_s=1)
    rows.append(_reading(world, f"unclean election allowed, after {after_s:.0f} s"))
    columns = ("what happens", "leader", "epoch", "ISR", "ELR", "a consumer reads")
    return Table("An unclean election", columns, rows)


def _reading(world: World, what: str) -> tuple[str, ...]:
    read = " ".join(readable(world, TOPIC)) if world.leader(TOPIC, 0) >= 0 else "nothing"
    return (*_standing(world, what), read)


def set_config(world: World, name: str, value: str) -> None:
    """Changes a config of `orders`, as AdminClient does."""
    request = m.IncrementalAlterConfigsRequest
    entry = request.AlterableConfig(name=name, config_operation=0, value=value)
    resource = request.AlterConfigsResource(resource_type=2, resource_name=TOPIC, configs=[entry])
    alive = next(b for b in world.cluster.spec.brokers if b in world.cluster.nodes)
    world.ask(request(resources=[resource], validate_only=False), alive)


def eligible_leaders() -> Table:
    """min.insync.replicas 2; three brokers die in turn, and come back in three ways."""
    world = cluster(minimum=2)
    send(world, TOPIC, "A")
    rows = [_standing(world, "all up")]
    for broker in (103, 102, 101):
        world.kill(broker)
        world.run(until=_left(broker), for_s=10)
        rows.append(_standing(world, f"{broker} dies"))
    world.start(103)
    world.run(for_s=4)
    rows.append(_standing(world, "103 comes back"))
    world.start(102)
    world.run(for_s=4)
    rows.append(_standing(world, "102 comes back, killed uncleanly"))
    world.start(101)
    world.run(for_s=6)
    rows.append(_standing(world, "101 comes back"))
    columns = ("what happens", "leader", "epoch", "ISR", "ELR")
    return Table("Who may lead next", columns, rows)


def _standing(world: World, what: str) -> tuple[str, ...]:
    now = world.partition(TOPIC, 0)
    leader = str(now.leader) if now.leader >= 0 else "nobody"
    return what, leader, str(now.leader_epoch), listed(sorted(now.isr)), _elr(world)


def _elr(world: World) -> str:
    return listed(sorted(world.partition(TOPIC, 0).elr))


# -- what replication cannot do


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
    world.kill(101)
    world.run(for_s=5)
    world.cluster.disks[101] = MemoryDisk()
    world.start(101)


def _dark(world: World) -> None:
    for broker in world.cluster.spec.brokers:
        world.lose_power(broker)
    for broker in world.cluster.spec.brokers:
        world.start(broker)


def latency_with_a_slow_broker() -> Table:
    """Broker 103 is 40 ms away from all others; who waits for it?"""
    cases = (
        ("RF 1, on 101", (101,)),
        ("RF 2, without 103", (101, 102)),
        ("RF 3, with 103 as follower", (101, 102, 103)),
        ("RF 5, with 103 as follower", (101, 102, 103, 104, 105)),
        ("RF 1, led by 103", (103,)),
        ("RF 3, led by 103", (103, 101, 102)),
    )
    rows = []
    for what, replicas in cases:
        world = cluster(replicas, brokers=5)
        for other in (101, 102, 104, 105, "admin"):
            world.slow(103, other, 40)  # type: ignore[arg-type]
        waits = [[send(world, TOPIC, "A", acks=acks).after_ms for _ in range(20)]
                 for acks in ("1", "all")]  # fmt: skip
        rows.append((what, *(f"{sorted(each)[-1]:.0f} ms" for each in waits)))
    return Table("The slowest of 20 writes", ("topic", "acks=1", "acks=all"), rows)


def isr_flapping() -> Table:
    """A replica stalls for 18 s every 40 s; what two limits make of it."""
    rows = [_flaps(10_000), _flaps(30_000)]
    columns = ("replica.lag.time.max.ms", "ISR changes", "longest wait for acks=all")
    return Table("103 stalls for 18 s, five times", columns, rows)


def _flaps(lag_max_ms: int) -> tuple[str, ...]:
    settings = {"replica.lag.time.max.ms": lag_max_ms, "broker.session.timeout.ms": 40_000}
    world = cluster(settings=settings)
    waits_us, changes = [], 0
    for _ in range(5):
        since_us = world.now_us
        members = [isr(world, TOPIC)]
        world.pause(103)
        offset = send(world, TOPIC, "A", acks="1").offset
        world.run(until=_committed(offset), for_s=18)
        waits_us.append(world.now_us - since_us)
        world.run(for_s=18 - waits_us[-1] / 1e6)
        members.append(isr(world, TOPIC))
        world.resume(103)
        world.run(until=_committed(offset), for_s=22)
        waits_us[-1] = world.now_us - since_us if waits_us[-1] >= 17_900_000 else waits_us[-1]
        world.run(for_s=22)
        members.append(isr(world, TOPIC))
        changes += sum(before != after for before, after in pairwise(members))
    return str(lag_max_ms), str(changes), f"{max(waits_us) / 1e6:.1f} s"
