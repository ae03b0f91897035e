"""Tables for notebook 06: the leader, its successor, and the return to preferred leaders.

The next leader comes from the ISR; if that is empty, from the eligible leader replicas
(ELR, KIP-966); if both are empty, it is the last known leader, or the partition has none.
To elect any other replica is an unclean election, which costs records and must be allowed.
Each table here walks through one of these, or shows how leaders pile up on the brokers that
were not restarted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from engine.sim.history import History, Poll, Reached, Read, Seek, Send, check
from engine.sim.world.world import World
from engine.wire import messages as m
from engine.wire.errors import Errors
from kit.probes.one_partition import SETTLED_S, TOPIC, cluster, halted, left, listed
from kit.probes.virtual import Answer, readable, send
from kit.tables import Table

BROKER, EVERY_BROKER = 4, ""
"""A resource of IncrementalAlterConfigs: with an empty name, the default of all brokers."""


def roles(world: World) -> Table:
    """Brokers by partitions: ★ leads, • follows, blank has no replica; and leaders per broker."""
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


def leaders_after_a_rolling_restart(
    restarted: Sequence[int] = (101, 102, 103), **settings: Any
) -> Table:
    """Six partitions; brokers are stopped and started in turn; then leaders go home."""
    world = World(6, settings=settings)
    world.create_topic(TOPIC, partitions=6)
    world.run(for_s=SETTLED_S)
    rows = [("created", *_leads(world))]
    for broker in restarted:
        world.stop(broker)
        world.run(until=halted(broker), for_s=30)
        world.start(broker)
        world.run(until=_whole, for_s=30)
        rows.append((f"{broker} restarted", *_leads(world)))
    if settings.get("auto.leader.rebalance.enable"):
        every_s, since_us = settings["leader.imbalance.check.interval.seconds"], world.now_us
        world.run(until=lambda w: len(set(_leads(w))) == 1, for_s=4 * every_s)
        after_s = (world.now_us - since_us) / 1e6
        rows.append((f"the controller's check, after {after_s:.1f} s", *_leads(world)))
    else:
        world.run(for_s=60)
        rows.append(("a minute later", *_leads(world)))
        elected = elect_preferred(world)
        rows.append((f"preferred election: {elected}", *_leads(world)))
    columns = ("leaderships after", "101", "102", "103")
    return Table("A rolling restart", columns, rows)


def elect_preferred(world: World) -> str:
    """Sends ElectLeaders for all partitions; says how many moved."""
    answer = world.ask(m.ElectLeadersRequest(0, None, 10_000), None)
    assert answer is not None
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


# -- who may lead next


def unclean_election(interval_ms: int = 300_000) -> Table:
    """103 falls behind, the ISR dies, 103 lives: first with the brokers' default, then with true.

    The line below the table is the history checker's.
    """
    settings = {"unclean.leader.election.interval.ms": interval_ms}
    world = cluster(minimum=1, settings=settings)
    answers = {"A": send(world, TOPIC, "A")}
    world.cut(101, 103)
    world.cut(102, 103)
    world.run(for_s=0.1)
    answers["B"] = send(world, TOPIC, "B", timeout_ms=2_900)
    rows = [_reading(world, "103 is cut off; A and B are acknowledged")]
    for broker in (102, 101):
        world.kill(broker)
        world.run(until=left(broker), for_s=10)
        rows.append(_reading(world, f"{broker} is killed"))
    world.run(for_s=20)
    rows.append(_reading(world, "20 s later, 103 is alive"))
    since_us = world.now_us
    set_default(world, "unclean.leader.election.enable", "true")
    world.run(until=lambda w: w.leader(TOPIC, 0) == 103, for_s=400)
    after_s = (world.now_us - since_us) / 1e6
    world.run(for_s=1)
    rows.append(_reading(world, f"the brokers' default allows it, after {after_s:.0f} s"))
    columns = ("what happens", "leader", "epoch", "ISR", "ELR", "a consumer reads")
    return Table("An unclean election", columns, rows, _judged(world, answers))


def _judged(world: World, answers: Mapping[str, Answer]) -> str:
    """The history checker's findings about the writes, each in a sentence."""
    place, reader = (TOPIC, 0), "a consumer"
    sends = [
        Send(0, "the producer", *place, value, _verdict(answer), answer.offset, 0)
        for value, answer in answers.items()
    ]
    reads = tuple(Read(*place, n, value) for n, value in enumerate(readable(world, TOPIC)))
    history = History((
        *sends, Seek(1, reader, *place, 0), Poll(2, reader, reads),
        Reached(3, reader, *place, len(reads)),
    ))  # fmt: skip
    return " ".join(map(str, check(history))) or "no anomaly"


def _verdict(answer: Answer) -> str:
    return "acknowledged" if answer.error == "NONE" else "unknown"


def _reading(world: World, what: str) -> tuple[str, ...]:
    read = " ".join(readable(world, TOPIC)) if world.leader(TOPIC, 0) >= 0 else "nothing"
    return (*standing(world, what), read)


def set_default(world: World, name: str, value: str) -> None:
    """Changes the default of all brokers while they run, as kafka-configs does."""
    request = m.IncrementalAlterConfigsRequest
    entry = request.AlterableConfig(name=name, config_operation=0, value=value)
    resource = request.AlterConfigsResource(
        resource_type=BROKER, resource_name=EVERY_BROKER, configs=[entry]
    )
    alive = next(b for b in world.cluster.spec.brokers if b in world.cluster.nodes)
    world.ask(request(resources=[resource], validate_only=False), alive)


def table(story: list[tuple[str, ...]]) -> Table:
    """Rows of `standing` as a table."""
    columns = ("what happens", "leader", "epoch", "ISR", "ELR")
    return Table("Who may lead next", columns, story)


def standing(world: World, what: str) -> tuple[str, ...]:
    """What happened, then leader, epoch, ISR and ELR of `orders`."""
    now = world.partition(TOPIC, 0)
    leader = str(now.leader) if now.leader >= 0 else "none"
    return what, leader, str(now.leader_epoch), listed(sorted(now.isr)), _elr(world)


def _elr(world: World) -> str:
    return listed(sorted(world.partition(TOPIC, 0).elr))
