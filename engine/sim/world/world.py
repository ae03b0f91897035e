"""A cluster in virtual time: seeded, steppable, with faults at will.

    world = World(seed=7)
    world.create_topic("orders")
    world.load("orders")
    world.run(for_s=5)
    world.kill(world.leader("orders", 0))
    world.run(until=lambda w: w.leader("orders", 0) > 0)

The same seed and the same calls give the same trace, byte by byte, in any process: the
only source of random numbers is the world's own generator.  What is done from outside is on the
`tape`, each action an event of its own, so a world can also go back:

    world.back()                       one event; back(20) twenty
    world.goto(3.2)                    3.2 s of virtual time after the beginning
    world.goto(event=1210)             world.events is the number of the current event
    other = world.fork(rule="kip-320") an independent copy, perhaps with another rule
    world.diff(other)                  where the two part, and what differs now

After going back, stepping forward replays what happened, actions included; doing something
else there cuts the old future off.  The world, its cluster and its clients stay the same
objects while they go back and forth.  A client whose addition is undone does not exist until it
is added again under the same name (`world.client(name)`).  A `run(until=...)` is only a way to
step; it leaves nothing behind.  Change a world through its methods only: what is not on the
tape is not replayed.  How it all works is in run.py.

Invariants are checked after every event unless `checked=False`.  With `encoded`, messages travel
as bytes (engine/sim/world/carriage.py).  With `rewindable=False`, a world keeps no checkpoints and
runs faster.  `control_plane="zookeeper"` is the one that Kafka had before KRaft, with an ensemble
of so many members, 3 if nothing is said (engine/zookeeper).  Several Kafka clusters share it with
`chroots={101: "/a", 102: "/b"}`; then the world's views and its topics are those of the first one.

`controllers=4, voters=3` is a quorum of 100, 200 and 300 whose voters may change (KIP-853); 400
is an observer until `world.add_voter(400)`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any, TypeVar

from engine import past
from engine.cluster.calls import Listener
from engine.cluster.cluster import Cluster
from engine.cluster.items import NodeId
from engine.cluster.snapshot import snapshot
from engine.cluster.spec import ClusterSpec
from engine.events import Answered
from engine.metadata.image import MetadataImage, PartitionImage
from engine.plain import Plain
from engine.replication.partition import Partition
from engine.replication.truncation import DEFAULT_RULE, RULES
from engine.sim.clients.clients import Admin, Producer, create_topics
from engine.sim.clients.consumer import Consumer
from engine.sim.invariants.invariants import Invariants
from engine.sim.world import admissible, views, voter_requests
from engine.sim.world.carriage import EncodedCarriage
from engine.sim.world.difference import Difference, difference
from engine.sim.world.faults import Fault, fault
from engine.sim.world.latency import SimulatedLatency
from engine.sim.world.run import EPOCH_US, Run
from engine.sim.world.tape import Add, Ask, Done, Tell, UseRule
from engine.sim.world.timeline import Timeline
from engine.storage.memory_disk import MemoryDisk
from engine.wire.errors import Errors, KafkaError
from engine.wire.framing import Answer, response_class
from engine.wire.structures import Message, RequestMessage
from engine.zookeeper import chroot
from engine.zookeeper.tree import Znode

FIRST_CONTROLLER, FIRST_BROKER = 100, 101
"""Controllers are 100, 200, 300; brokers 101, 102, 103; members of an ensemble 1, 2, 3."""
SETTINGS: Mapping[str, Any] = {
    "replica.lag.time.max.ms": 2_000,
    "broker.session.timeout.ms": 1_500,
    "broker.heartbeat.interval.ms": 500,
    "auto.leader.rebalance.enable": False,
    "auto.create.topics.enable": False,
    "offsets.topic.num.partitions": 1,
}
HISTORIC: Mapping[str, Any] = {
    "zookeeper.session.timeout.ms": 3_000,
    "tickTime": 500,
    "syncLimit": 10,
    "maxSessionTimeout": 40_000,
}
"""In a world with ZooKeeper, besides; as with a real one (kit/clusters/zookeeper_plan.py)."""
CLIENTS = ("producer-", "consumer-")
Client = TypeVar("Client")


class World:
    """Brokers 101… and controllers 100, 200… on disks in memory."""

    def __init__(
        self,
        seed: int = 0,
        brokers: int = 3,
        settings: Mapping[str, Any] | None = None,
        racks: Mapping[int, str] | None = None,
        rule: str = DEFAULT_RULE,
        checked: bool = True,
        encoded: bool = False,
        rewindable: bool = True,
        before: Sequence[str] = (),
        features: Mapping[str, int] | None = None,
        controllers: int = 1,
        control_plane: str = "kraft",
        ensemble: int | None = None,
        voters: int | None = None,
        chroots: Mapping[int, str] | None = None,
    ) -> None:
        if brokers < 1:
            raise ValueError(f"A cluster has at least one broker, not {brokers}; 3 is usual.")
        if controllers < 1:
            raise ValueError(f"A cluster has at least one controller, not {controllers}.")
        if controllers > 1 and brokers > 99:
            raise ValueError("Beside controller 200 there are at most 99 brokers: 101 to 199.")
        if voters is not None and not 1 <= voters <= controllers:
            raise ValueError(f"Of {controllers} controllers, 1 to {controllers} are voters.")
        self.seed = seed
        chance = Random(f"world/{seed}")
        ids = tuple(range(FIRST_BROKER, FIRST_BROKER + brokers))
        members = _members(control_plane, ensemble, controllers, encoded)
        quorum = () if members else tuple(range(FIRST_CONTROLLER, 100 * (controllers + 1), 100))
        if chroots and (checked or not members):
            raise ValueError(
                "Chroots are ZooKeeper's, and the checks know one Kafka cluster: say "
                "control_plane='zookeeper' and checked=False as well."
            )
        spec = ClusterSpec(
            brokers=ids,
            controllers=quorum,
            voters=quorum[: voters or 0],
            ensemble=members,
            settings={**SETTINGS, **(HISTORIC if members else {}), **(settings or {})},
            racks=racks or {},
            seed=seed,
            rule=rule,
            before=past.check(before),
            features=features or {},
            chroots={each: chroot.check(path) for each, path in (chroots or {}).items()},
        )
        disks = {node: MemoryDisk() for node in spec.nodes}
        carriage = EncodedCarriage() if encoded else None
        cluster = Cluster(
            spec, disks, EPOCH_US, SimulatedLatency(chance), carriage=carriage, tier=MemoryDisk()
        )
        self._run = Run(cluster, chance, checked)
        cluster.boot()
        self._run.adopt("admin", Admin())
        if rewindable:
            self._run.keep_checkpoints()
        self.run(until=lambda w: all(not w.is_fenced(b) for b in spec.first_cluster), for_s=30)

    # -- what it is made of

    @property
    def cluster(self) -> Cluster:
        return self._run.cluster

    @property
    def chance(self) -> Random:
        """The only source of random numbers."""
        return self._run.chance

    @property
    def tape(self) -> list[Done]:
        """What was done from outside, replayed or still to be replayed."""
        return self._run.tape

    @property
    def on_tape(self) -> int:
        """How much of the tape is done."""
        return self._run.on_tape

    @property
    def timeline(self) -> Timeline | None:
        return self._run.timeline

    @property
    def invariants(self) -> Invariants | None:
        """What is checked after every event; None checks nothing."""
        return self._run.invariants

    @invariants.setter
    def invariants(self, invariants: Invariants | None) -> None:
        self._run.invariants = invariants

    # -- time

    @property
    def now_us(self) -> int:
        """Virtual time since the world began."""
        return self._run.now_us

    @property
    def events(self) -> int:
        """The number of the current event."""
        return self._run.events

    @property
    def last_event(self) -> int:
        """The last event that is known: more than `events` after going back."""
        return self._run.last_event

    @property
    def next_at(self) -> int | None:
        """When the next event happens, by the cluster's clock; None if none will."""
        return self._run.next_at

    def step(self, until: int | None = None) -> bool:
        """One event; False if nothing will happen, ever or by `until` on the cluster's clock."""
        return self._run.step(until)

    def run(
        self,
        until: Callable[[World], bool] | None = None,
        for_s: float | None = None,
        events: int | None = None,
    ) -> bool:
        """Runs until the condition holds, for `for_s` of virtual time, or for so many events.

        True if the condition holds at the end (or none was given).
        """
        return self._run.run(None if until is None else lambda: until(self), for_s, events)

    def back(self, events: int = 1) -> None:
        """Undoes the last events; the beginning of the world is as far as it goes."""
        self.goto(event=max(0, self.events - events))

    def goto(self, t_s: float | None = None, *, event: int | None = None) -> None:
        """Goes to a moment (seconds after the beginning) or an event's number, past or future."""
        self._run.goto(t_s, event)

    def fork(self, rule: str | None = None) -> World:
        """An independent copy of everything, past included; from here on with another rule."""
        copy = object.__new__(World)
        copy.seed, copy._run = self.seed, self._run.fork()
        if rule is not None:
            copy.use_rule(rule)
        return copy

    def follow(self, tape: Sequence[Done]) -> None:
        """Does what is on another world's tape from now on, each action at its virtual time."""
        self._run.follow(tape)

    def diff(self, other: World) -> Difference:
        """The event at which two worlds part, and what differs between them now."""
        return difference(self._run, other._run)

    # -- faults: milliseconds, and µs a second for a clock's speed; see faults.py

    def apply(self, fault: Fault) -> None:
        """Lets a fault happen now."""
        self._run.do(fault)

    def kill(self, node: NodeId) -> None:
        self.apply(fault("kill", node))

    def stop(self, broker: int) -> None:
        self.apply(fault("stop", broker))

    def start(self, broker: int) -> None:
        self.apply(fault("start", broker))

    def pause(self, node: NodeId) -> None:
        self.apply(fault("pause", node))

    def resume(self, node: NodeId) -> None:
        self.apply(fault("resume", node))

    def lose_power(self, broker: int, torn: bool = False) -> None:
        self.apply(fault("lose_power", broker, torn=int(torn)))

    def write_back(self, broker: int) -> None:
        self.apply(fault("write_back", broker))

    def cut(self, a: NodeId, b: NodeId) -> None:
        self.apply(fault("cut", a, b))

    def cut_one_way(self, a: NodeId, b: NodeId) -> None:
        self.apply(fault("cut_one_way", a, b))

    def isolate(self, broker: int) -> None:
        self.apply(fault("isolate", broker))

    def slow(self, a: NodeId, b: NodeId, ms: int) -> None:
        self.apply(fault("slow", a, b, ms=ms))

    def delay(self, a: NodeId, b: NodeId, ms: int, count: int = 1, api: str = "") -> None:
        self.apply(fault("delay", a, b, ms=ms, count=count, api=api))

    def drop(self, a: NodeId, b: NodeId, count: int = 1, api: str = "") -> None:
        self.apply(fault("drop", a, b, count=count, api=api))

    def duplicate(self, a: NodeId, b: NodeId, count: int = 1, api: str = "") -> None:
        self.apply(fault("duplicate", a, b, count=count, api=api))

    def strand(self, a: NodeId, b: NodeId, ms: int = 1_000, count: int = 1, api: str = "") -> None:
        self.apply(fault("strand", a, b, ms=ms, count=count, api=api))

    def reorder(self, a: NodeId, b: NodeId, ms: int = 50, count: int = 1, api: str = "") -> None:
        self.apply(fault("reorder", a, b, ms=ms, count=count, api=api))

    def jump_clock(self, broker: int, ms: int) -> None:
        self.apply(fault("jump_clock", broker, ms=ms))

    def skew_clock(self, broker: int, ppm: int) -> None:
        self.apply(fault("skew_clock", broker, ppm=ppm))

    def set_clock(self, broker: int) -> None:
        self.apply(fault("set_clock", broker))

    def flip_bit(self, broker: int, topic: str, partition: int = 0, offset: int = -1) -> None:
        self.apply(fault("flip_bit", broker, topic=topic, partition=partition, offset=offset))

    def fill_disk(self, broker: int) -> None:
        self.apply(fault("fill_disk", broker))

    def free_disk(self, broker: int) -> None:
        self.apply(fault("free_disk", broker))

    def replace_disk(self, broker: int) -> None:
        self.apply(fault("replace_disk", broker))

    def heal(self, a: NodeId | None = None, b: NodeId | None = None) -> None:
        self.apply(fault("heal", *(each for each in (a, b) if each is not None)))

    def use_rule(self, rule: str) -> None:
        """Followers truncate by another rule from now on; see engine/replication/truncation.py."""
        if rule not in RULES:
            raise ValueError(f"no rule {rule!r}; there are {', '.join(RULES)}.")
        self._run.do(UseRule(rule))

    # -- clients and requests

    def add(self, name: str, node: Client) -> Client:
        """Adds a node, such as a client, to this world."""
        action = Add.of(name, node)
        admissible.check(self.cluster, action)
        self._run.hold(name, node)
        self._run.do(action)
        return node

    def tell(self, name: str, method: str, *arguments: object) -> None:
        """Calls `method(now, *arguments)` of a client and carries out the effects it returns."""
        self._run.do(Tell.of(name, method, *arguments))

    def post(
        self, body: RequestMessage[Message], broker: int, version_max: int | None = None
    ) -> int:
        """Sends one request to a broker; gives the number to pass to `answer`."""
        self._run.do(Ask.of(broker, body, version_max))
        return self._admin.asked

    def answer(self, number: int) -> Answered:
        """The answer to a request; None while there is none, or if it was lost."""
        return self._admin.answers.get(number)

    def ask(
        self,
        body: RequestMessage[Answer],
        broker: int | None = None,
        version_max: int | None = None,
    ) -> Answer | None:
        """Sends one request to a broker (else the first that runs) and runs to the answer."""
        number = self.post(body, broker or admissible.first_running(self.cluster), version_max)
        self.run(until=lambda w: number in w._admin.answers, for_s=60)
        answer = self.answer(number)
        return answer if isinstance(answer, response_class(body)) else None

    @property
    def _admin(self) -> Admin:
        admin: Admin = self.cluster.nodes["admin"]
        return admin

    def create_topic(
        self,
        name: str,
        partitions: int = 1,
        replicas: int = 3,
        config: Mapping[str, object] | None = None,
        assignment: Mapping[int, list[int]] | None = None,
    ) -> None:
        """Creates a topic and runs until every replica is in the ISR; KafkaError if refused."""
        asked = self.ask(create_topics(name, partitions, replicas, config, assignment))
        if asked is None:
            raise KafkaError(
                Errors.REQUEST_TIMED_OUT, f"no broker answered whether {name} is made."
            )
        answer = asked.topics[0]
        if answer.error_code != Errors.NONE:
            raise KafkaError(Errors(answer.error_code), answer.error_message or name)
        self.run(until=lambda w: views.is_served(w.cluster, name), for_s=30)

    def add_voter(self, controller: int) -> None:
        """Makes a controller a voter, once it has caught up; KafkaError if refused."""
        node = self.cluster.nodes.get(controller)
        if node is None:
            raise ValueError(f"Controller {controller} does not run.")
        self._change_voters(voter_requests.addition(node.replica))

    def remove_voter(self, controller: int) -> None:
        """Takes a controller from the voters; it goes on as an observer.  KafkaError if refused."""
        self._change_voters(voter_requests.removal(self.cluster, controller))

    def _change_voters(self, body: RequestMessage[voter_requests.Answer]) -> None:
        """Asks until the time has come: another change, or a new leader, may be in the way."""
        answer: voter_requests.Answer | None = None
        for _ in range(voter_requests.TRIES):
            answer = self.ask(body)
            if answer is not None and answer.error_code not in voter_requests.RETRIABLE:
                break
            self.run(for_s=voter_requests.PAUSE_S)
        voter_requests.check(answer)

    def load(self, topic: str, **options: Any) -> Producer:
        """Starts a producer on all partitions of a topic; see `Producer` for the options."""
        name, brokers = self._name("producer"), self.cluster.spec.brokers
        return self.add(
            name, Producer(name, topic, len(self.partitions(topic)), brokers, **options)
        )

    def reader(self, topic: str) -> Consumer:
        """Starts a consumer that reads all partitions of a topic from the beginning."""
        name, brokers = self._name("consumer"), self.cluster.spec.brokers
        return self.add(name, Consumer(name, topic, len(self.partitions(topic)), brokers))

    def _name(self, kind: str) -> str:
        past = [done.action for done in self.tape[: self.on_tape]]
        known = sum(isinstance(each, Add) and each.name.startswith(CLIENTS) for each in past)
        return f"{kind}-{known + 1}"

    # -- listening to messages

    def listen(self, listener: Listener) -> None:
        """Calls back for each message between nodes, as it leaves and as it arrives."""
        self.cluster.listen(listener)

    def unlisten(self, listener: Listener) -> None:
        self.cluster.unlisten(listener)

    # -- looking; ValueError, with the remedy, for what is not there

    def snapshot(self, values: bool = False, tail: int = 12) -> Plain:
        return snapshot(self.cluster, values, tail)

    def image(self) -> MetadataImage:
        """The controller's metadata image; while it is away, the best-informed broker's."""
        return views.image(self.cluster)

    def partitions(self, topic: str) -> dict[int, PartitionImage]:
        """A topic's partitions by index, as the newest image has them."""
        return views.partitions(self.cluster, topic)

    def partition(self, topic: str, index: int) -> PartitionImage:
        return views.partition(self.cluster, topic, index)

    def leader(self, topic: str, index: int) -> int:
        """The leader's broker id, -1 if there is none."""
        return self.partition(topic, index).leader

    def replica(self, broker: int, topic: str, index: int) -> Partition:
        """The replica object on a running broker."""
        return views.replica(self.cluster, broker, topic, index)

    def client(self, name: str) -> Any:
        """A node that was added."""
        return views.client(self.cluster, name)

    def znodes(self, below: str = "/") -> dict[str, Znode]:
        """With ZooKeeper: its znodes by path."""
        return views.znodes(self.cluster, below)

    def is_fenced(self, broker: int) -> bool:
        known = self.image().brokers.get(broker)
        return known is None or known.fenced

    def trace_lines(self, kinds: tuple[str, ...] = ()) -> list[str]:
        """The trace as text: seconds, node, what happened, why."""
        lines = self.cluster.trace
        return [views.trace_line(each) for each in lines if not kinds or each[2].kind in kinds]


def _members(
    control_plane: str, ensemble: int | None, controllers: int, encoded: bool
) -> tuple[int, ...]:
    """ZooKeeper's, none with KRaft; ValueError, with the remedy, for what does not fit."""
    if control_plane not in ("kraft", "zookeeper"):
        raise ValueError(f"no control plane {control_plane!r}; there are kraft and zookeeper.")
    if control_plane == "kraft":
        if ensemble is not None:
            raise ValueError("An ensemble is ZooKeeper's: say control_plane='zookeeper' as well.")
        return ()
    size = 3 if ensemble is None else ensemble
    if not 1 <= size <= 99:
        raise ValueError(f"An ensemble has 1 to 99 members, not {size}; 3 and 5 are usual.")
    if controllers != 1:
        raise ValueError("With ZooKeeper a broker is the controller; leave out controllers=.")
    if encoded:
        raise ValueError("ZooKeeper's messages have no bytes here; leave out encoded=.")
    return tuple(range(1, size + 1))
