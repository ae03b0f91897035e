"""What notebook 05 asks a simulated world or a cluster, in one call each."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from itertools import takewhile
from typing import Any

from confluent_kafka.admin import AclBinding, NewTopic

from engine.sim.campaign.mutants import MUTANTS
from engine.sim.campaign.zookeeper_mutants import ZOOKEEPER_MUTANTS
from engine.sim.clients.clients import create_topics
from engine.sim.world.world import World
from engine.wire import messages as m
from kit import lab
from kit.both.outcomes import measured
from kit.clusters import broker_metrics
from kit.clusters.interface import Cluster, NotOffered
from kit.clusters.tools import Printed
from kit.columns.outcome import DESIGNS, Outcome
from kit.columns.side import LOST
from kit.probes import registration
from kit.probes.clients import admin, outcome, partition
from kit.probes.metadata_words import MetadataWords
from kit.probes.raw_client import RawClient

AUTHORIZER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
}
"""Of a Kafka with ACLs: with none on a topic, all are allowed."""
OF_ZOOKEEPER = {
    "zookeeper.connect": "127.0.0.1:2181",
    "process.roles": None,
    "controller.quorum.voters": None,
    "controller.listener.names": None,
}
"""What a broker's file had and had not before Kafka 4.0."""
POLL_S = 0.1
ANSWER_S = 5
PATIENCE_S = 300
TOPICS = 100


# -- controllers in virtual time


def active(world: World) -> int:
    """The controller that decides, -1 while none does."""
    controller = world.cluster.controller
    return -1 if controller is None else int(controller.node_id)


def epoch(world: World) -> int:
    """The epoch of the active controller."""
    return int(world.snapshot()["controller"]["epoch"])


def log_ends(world: World) -> dict[int, int]:
    """How far each running controller has the metadata log."""
    known = world.snapshot()["controllers"].items()
    return {each: seen["log_end_offset"] for each, seen in known if "log_end_offset" in seen}


def cut_from_voters(world: World, controller: int, links: int = 2) -> None:
    """Cuts a controller off from so many of the other two; brokers still reach it."""
    others = [each for each in (100, 200, 300) if each != controller]
    for other in others[:links]:
        world.cut(controller, other)


def ask_for_topic(world: World, name: str) -> None:
    """Asks a broker for a topic, and does not wait for the answer."""
    world.post(create_topics(name, 1, 3, None, None), 101)


def says(world: World, controller: int, word: str = "") -> list[str]:
    """The records in one controller's log that name `word`: offset, epoch, and what they say."""
    words, log = MetadataWords(), world.cluster.nodes[controller].log
    found = []
    for offset, record in log.records(0, log.end_offset):
        said = words.say(record).full
        if word in said:
            epoch = max(each for each, start in log.log.epochs.entries if start <= offset)
            found.append(f"offset {offset}, epoch {epoch}: {said}")
    return found


def brokers_with(world: World, topic: str) -> list[int]:
    """The brokers that know the topic."""
    brokers = (each for each in world.cluster.nodes.values() if hasattr(each, "metadata"))
    return [each.node_id for each in brokers if each.metadata.topic(topic) is not None]


def broken(*rules: str) -> ExitStack:
    """Breaks rules of the engine: `with broken("obey-any-controller"):`."""
    wrong = ExitStack()
    for rule in rules:
        wrong.enter_context({**MUTANTS, **ZOOKEEPER_MUTANTS}[rule].in_force())
    return wrong


def leader_said_by(world: World, broker: int, topic: str = "orders") -> int:
    """The leader that this broker names to clients."""
    known = world.cluster.nodes[broker].metadata.topic(topic)
    return int(known.partitions[0].leader)


def leads(world: World, broker: int, topic: str = "orders") -> bool:
    """Whether this broker itself takes writes for partition 0."""
    replica = world.replica(broker, topic, 0)
    return replica is not None and bool(replica.is_leader)


# -- the tree, and who is counted in


def tree(world: World) -> list[tuple[str, str]]:
    """Every znode's path, and what is in it."""
    return [(path, node.data) for path, node in world.znodes().items()]


def counted_out(design: str, settings: Mapping[str, Any], pause_s: float) -> list[str]:
    """How many seconds after it is stopped, cut off, or paused broker 103 is counted out."""
    found = []
    for fault in ("stop", "isolate", "pause"):
        world = _settled(design, settings)
        began = world.now_us
        getattr(world, fault)(103)
        for_s = pause_s if fault == "pause" else PATIENCE_S
        gone = world.run(until=lambda w: not _is_in(w, design), for_s=for_s)
        found.append(f"{(world.now_us - began) / 1e6:.1f}" if gone else "never")
    return found


def _settled(design: str, settings: Mapping[str, Any]) -> World:
    options: dict[str, Any] = (
        {"control_plane": "zookeeper"} if design == "zookeeper" else {"controllers": 3}
    )
    world = World(seed=2, checked=False, settings=settings, **options)
    world.run(until=lambda w: active(w) > 0 and _is_in(w, design), for_s=30)
    world.run(for_s=3)
    return world


def _is_in(world: World, design: str) -> bool:
    """Whether the cluster counts broker 103 in."""
    if design == "zookeeper":
        return "/brokers/ids/103" in world.znodes()
    return not world.snapshot()["brokers"][103]["fenced"]


# -- how long until another controller decides


def takeover_s(design: str, partitions: int) -> float:
    """Virtual seconds from the kill of the active controller until another one can decide.

    It then knows every partition.  What a dead broker's partitions need comes after that.
    """
    world = {"KRaft": _kraft, "ZooKeeper": _zookeeper}[design](partitions)
    former, began = active(world), world.now_us
    world.kill(former)
    loaded = len(world.trace_lines(("loaded",)))
    next_one: Callable[[World], bool] = {
        "KRaft": lambda w: active(w) not in (former, -1),
        "ZooKeeper": lambda w: len(w.trace_lines(("loaded",))) > loaded,
    }[design]
    if not world.run(until=next_one, for_s=PATIENCE_S):
        raise AssertionError(f"No controller took over within {PATIENCE_S} s of virtual time.")
    return (world.now_us - began) / 1e6


def _kraft(partitions: int) -> World:
    world = World(seed=1, controllers=3, checked=False, rewindable=False)
    for first in range(0, partitions, 1_000):
        here = min(1_000, partitions - first)
        world.create_topic(f"many-{first}", partitions=here, replicas=1)
    return world


def _zookeeper(partitions: int) -> World:
    settings = {"preloaded.partitions": partitions}
    world = World(seed=1, control_plane="zookeeper", checked=False, rewindable=False,
                  settings=settings)  # fmt: skip
    world.run(until=lambda w: bool(w.trace_lines(("controller-ready",))), for_s=PATIENCE_S)
    return world


def pauses(outcome: Outcome) -> dict[str, Any]:
    """By design: the writer's longest pause in seconds, -1 without a column; was a record lost?"""
    columns = outcome.seen.items()
    found: dict[str, Any] = {
        design: max((seen["longest pause of the writer"]
                     for name, seen in columns if name.endswith(design)), default=-1.0)
        for design in DESIGNS
    }  # fmt: skip
    return {**found, "lost": not all(seen[LOST] for _, seen in columns)}


# -- a cluster, and one without a controller


def counted(kinds: Iterable[str]) -> str:
    """How many of each: "1 TopicRecord, 6 PartitionRecord"."""
    return ", ".join(f"{many} {kind}" for kind, many in Counter(kinds).items())


def created(cluster: Cluster, topic: str) -> str:
    """NONE, or the error that a client gets which wants a topic within five seconds.

    A Kafka's broker goes on trying, and the client gives up; the engine's broker says so itself.
    Both are "timed out".
    """
    wanted = NewTopic(topic, num_partitions=1, replication_factor=3)
    client = admin(cluster)
    error = outcome(client.create_topics([wanted], operation_timeout=ANSWER_S,
                                         request_timeout=ANSWER_S)[topic])  # fmt: skip
    return "timed out" if error.endswith("TIMED_OUT") else error


def becomes(condition: Callable[[], Any], within_s: float) -> bool:
    """Whether it holds at some moment within so many seconds."""
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(POLL_S)
    return False


@contextmanager
def own_pair(controllers: int, voters: int = 0) -> Iterator[tuple[Cluster, Cluster | None]]:
    """An engine with so many controllers and, where there is a local Kafka, another such one."""
    real = lab.real()
    with ExitStack() as leaving:
        own: dict[str, Any] = {"private": True, "controllers": controllers, "voters": voters}
        ours = leaving.enter_context(closing(lab.engine(**own)))
        theirs = None
        if real is not None and real.name == "local":
            theirs = leaving.enter_context(closing(lab.local(**own)))
        yield ours, theirs


# -- what Kafka's tool prints of the metadata log


def lines_of_topic(printed: Printed, topic: str) -> list[str]:
    """The lines of the batch that created it last; all, if it is not there."""
    lines = printed.text.splitlines()
    named = f'"TOPIC_RECORD","version":0,"data":{{"name":"{topic}"'
    first = max((at for at, line in enumerate(lines) if named in line), default=-1)
    if first < 0:
        return lines
    return [lines[first], *takewhile(lambda line: "payload" in line, lines[first + 1 :])]


def kinds_of(lines: Iterable[str]) -> str:
    """How many records of each type."""
    return counted(re.findall(r'"type":"(\w+)"', "\n".join(lines)))


# -- what nodes count

Counts = dict[int, dict[str, int]]


def counts(cluster: Cluster, nodes: list[int], hold: Callable[[Counts], bool]) -> Counts:
    """What nodes count, once a condition holds of it: each learns of a record by its own fetch."""
    seen: Counts = {}

    def holds(asked: Cluster) -> bool:
        seen.update(broker_metrics.controllers(asked, *nodes))
        return hold(seen)

    cluster.wait_until(holds, ANSWER_S, "all controllers to know it")
    return seen


def queue_waits(cluster: Cluster, controller: int, burst: int) -> dict[str, Any]:
    """How long an event waits at a controller: in a burst of requests for topics, and after it.

    Of the engine, which has no queue, nothing.
    """
    queue = broker_metrics.EVENT_QUEUE
    try:
        readings = [broker_metrics.event_queue(cluster, controller)]
    except NotOffered:
        return {}
    for requests in (burst, 0):
        _ask_at_once(cluster, controller, requests)
        readings.append(broker_metrics.event_queue(cluster, controller))
    first, second, third = readings
    return {
        f"{queue} in the burst, mean": measured((second - first).mean_ms(queue), "ms"),
        f"{queue} afterwards, mean": measured((third - second).mean_ms(queue), "ms"),
    }


def _ask_at_once(cluster: Cluster, controller: int, requests: int) -> None:
    """Requests for a hundred topics each, of clients at the controller; none is created.

    A broker would pass them on one after the other.
    """
    places = dict(zip((100, 200, 300), cluster.bootstrap_controllers.split(","), strict=True))
    host, port = places[controller].rsplit(":", 1)
    request = m.CreateTopicsRequest
    topics = [request.CreatableTopic(f"burst-{n}", 1, 3) for n in range(TOPICS)]
    with ExitStack() as closing:
        asking = [
            closing.enter_context(RawClient.at((host, int(port)), "burst")) for _ in range(requests)
        ]
        for each in asking:
            each.send(request(topics, timeout_ms=60_000, validate_only=True), 7)
        for each in asking:
            each.receive(PATIENCE_S)


# -- a broker in another place


def place(cluster: Cluster, broker: int, topic: str) -> tuple[str, str]:
    """Where clients find a broker, and the ISR of a topic's partition 0."""
    isr = partition(cluster, topic)["isr"]
    return registration.addresses(cluster)[broker], " ".join(map(str, isr))


# -- permissions


def add_acl(cluster: Cluster, binding: AclBinding) -> None:
    """Adds an ACL, and waits until all brokers have it: they have what is after it in the log."""
    client = admin(cluster)  # kept: the request ends with its client
    client.create_acls([binding])[binding].result(ANSWER_S)
    cluster.create_topic("after-the-acl")
