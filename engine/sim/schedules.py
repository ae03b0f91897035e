"""Seeded fault schedules: a cluster under load, with everything breaking within reason.

A schedule is drawn from its seed: the cluster, the load, and a list of faults in virtual
time.  Where a fault says "leader" or "follower", the broker is chosen when its time comes;
what really happened is written to the tape, which replays the run without any drawing.

Within reason means: what acks=all and min.insync.replicas promise to survive.  Any number
of processes may die, freeze or be cut off; but no more replicas lose power, before they
are back in sync, than min.insync.replicas - 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from time import process_time

from engine.cluster import PAUSED, RUNNING
from engine.replication.truncation import DEFAULT_RULE
from engine.sim.clients import Producer
from engine.sim.consumer import Consumer
from engine.sim.history import judge
from engine.sim.invariants import Violation
from engine.sim.world import World

TOPIC = "orders"
CALM_S = 60.0
FAULTS = 8
SLOW_MS = 300
KINDS = ("kill", "kill", "lose_power", "pause", "isolate", "isolate", "cut", "slow", "stop")
Tape = list[tuple[int, str, tuple[int, ...]]]
"""What was done when, to whom: (microseconds, what, arguments)."""


@dataclass(frozen=True)
class Fault:
    """At `at_ms` of virtual time, do `kind` to `target`; undo it `for_ms` later."""

    at_ms: int
    kind: str
    target: str
    for_ms: int


@dataclass(frozen=True)
class Schedule:
    """Everything about one run; a pure function of `seed`."""

    seed: int
    brokers: int
    partitions: int
    min_in_sync: int
    period_us: int
    idempotent: bool
    torn: bool
    faults: tuple[Fault, ...]


@dataclass
class Outcome:
    """How a run ended.  `violation` is empty if every invariant held.

    `seconds` are of processor time; `losses` are those of unclean elections; `tape` is what
    was done when, in microseconds.
    """

    seed: int
    events: int = 0
    elections: int = 0
    truncations: int = 0
    acknowledged: int = 0
    violation: str = ""
    seconds: float = 0.0
    losses: list[str] = field(default_factory=list)
    tape: Tape = field(default_factory=list)


def draw(seed: int, light: bool = False) -> Schedule:
    """The schedule of a seed; a `light` one has the same faults and fewer records."""
    chance = Random(f"schedule/{seed}")
    brokers = chance.choice((3, 3, 3, 5))
    at_ms = 1_000
    drawn = []
    for _ in range(FAULTS):
        at_ms += chance.randint(200, 2_500)
        kind = chance.choice(KINDS)
        target = "leader" if chance.random() < 0.6 else "follower"
        drawn.append(Fault(at_ms, kind, target, chance.randint(300, 6_000)))
        if kind == "isolate" and target == "leader" and chance.random() < 0.7:
            # The old leader goes on appending what nobody copies, then dies: a log to truncate.
            drawn.append(Fault(at_ms + chance.randint(20, 400), "kill", "same", 3_000))
    return Schedule(
        seed,
        brokers,
        partitions=chance.choice((1, 1, 2)),
        min_in_sync=chance.choice((2, 2, 1)) if brokers == 3 else chance.choice((2, 3)),
        period_us=40_000 if light else chance.choice((5_000, 20_000)),
        idempotent=chance.random() < 0.5,
        torn=seed % 2 == 1,
        faults=tuple(drawn),
    )


def play(
    schedule: Schedule,
    rule: str = DEFAULT_RULE,
    tape: Tape | None = None,
    tell: Callable[[str], None] | None = None,
) -> Outcome:
    """Runs a schedule to its end, then lets the cluster heal, and says how it went.

    With a `tape` of an earlier run, just that is done again.  `tell` is given every line of
    the story in the end.
    """
    began = process_time()
    world = World(schedule.seed, schedule.brokers, rule=rule)
    outcome = Outcome(schedule.seed)
    try:
        _play(world, schedule, outcome, tape)
    except Violation as violation:
        outcome.violation = str(violation)
    outcome.seconds = process_time() - began
    outcome.events = world.events
    if world.invariants is not None:
        outcome.losses = world.invariants.losses
    if tell is not None:
        for line in world.trace_lines():
            tell(line)
    kinds = [line.kind for _, _, line in world.cluster.trace]
    outcome.elections = kinds.count("elected")
    outcome.truncations = kinds.count("truncate")
    outcome.acknowledged = kinds.count("acknowledged")
    return outcome


def _play(world: World, schedule: Schedule, outcome: Outcome, tape: Tape | None) -> None:
    world.create_topic(
        TOPIC,
        partitions=schedule.partitions,
        replicas=min(3, schedule.brokers),
        config={"min.insync.replicas": schedule.min_in_sync},
    )
    producer = world.load(TOPIC, period_us=schedule.period_us, idempotent=schedule.idempotent)
    consumer = world.reader(TOPIC)
    crew = _Crew(world, schedule, outcome)
    if tape is None:
        _break_and_mend(world, schedule, crew)
    else:
        for at_us, what, arguments in tape:
            world.run(for_s=(at_us - world.now_us) / 1e6)
            crew.do(what, arguments)
    producer.count = producer.made
    if not world.run(until=lambda w: producer.idle and _is_whole(w), for_s=CALM_S):
        raise Violation(f"liveness: the cluster has not healed within {CALM_S:.0f} s of calm")
    if not world.run(until=lambda w: _has_read_all(w, consumer), for_s=CALM_S):
        raise Violation(f"liveness: the consumer has not caught up within {CALM_S:.0f} s of calm")
    _judge(world, producer, consumer)


def _break_and_mend(world: World, schedule: Schedule, crew: _Crew) -> None:
    begin_us = world.now_us
    timeline: list[tuple[int, int, Fault | None]] = []
    for number, fault in enumerate(schedule.faults):
        timeline.append((fault.at_ms, number, fault))
        timeline.append((fault.at_ms + fault.for_ms, number, None))
    for at_ms, number, now_due in sorted(timeline, key=lambda each: (each[0], each[1])):
        world.run(for_s=max(0, begin_us + at_ms * 1000 - world.now_us) / 1e6)
        if now_due is not None:
            crew.break_something(number, now_due)
        else:
            crew.mend(number)
    crew.mend_everything()


def _judge(world: World, producer: Producer, consumer: Consumer) -> None:
    books = world.invariants.books if world.invariants is not None else {}
    unclean = tuple(name for name, known in books.items() if known.unclean_at >= 0)
    findings = judge(producer, consumer, unclean)
    if findings:
        raise Violation(f"history: {findings[0]}")


def _has_read_all(world: World, consumer: Consumer) -> bool:
    for index, position in consumer.positions.items():
        leader = world.leader(TOPIC, index)
        if leader < 0 or position.offset != world.replica(leader, TOPIC, index).high_watermark:
            return False
    return True


def _is_whole(world: World) -> bool:
    image = world.image()
    topic = image.topics[image.topic_ids[TOPIC]]
    return all(len(p.isr) == len(p.replicas) for p in topic.partitions.values())


class _Crew:
    """Carries faults out, within what the settings bear, and undoes them."""

    def __init__(self, world: World, schedule: Schedule, outcome: Outcome) -> None:
        self.world = world
        self.schedule = schedule
        self.outcome = outcome
        self.done: dict[int, tuple[str, tuple[int, ...]]] = {}
        self.last_target = 0
        self.dark: list[int] = []

    def break_something(self, number: int, fault: Fault) -> None:
        broker = self._choose(number, fault.target)
        kind = fault.kind
        if kind == "lose_power" and not self._can_bear_a_loss(broker):
            kind = "kill"
        peer = self._choose(number + 1, "other")
        if self.world.cluster.states[broker] not in (RUNNING, PAUSED) and kind not in (
            "cut",
            "slow",
        ):
            return
        arguments = (broker, peer) if kind in ("cut", "slow") else (broker,)
        if kind in ("cut", "slow") and broker == peer:
            return
        self.last_target = broker
        if kind == "lose_power":
            self.dark.append(broker)
        extra = {"slow": (SLOW_MS,), "lose_power": (self.schedule.torn,)}.get(kind, ())
        self.do(kind, (*arguments, *extra))
        self.done[number] = (kind, arguments)

    def _choose(self, number: int, target: str) -> int:
        brokers = self.world.cluster.spec.brokers
        try:
            partition = self.world.partition(TOPIC, number % self.schedule.partitions)
        except KeyError:
            return brokers[number % len(brokers)]
        if target == "same" and self.last_target:
            return self.last_target
        if target == "leader" and partition.leader > 0:
            return int(partition.leader)
        others = [b for b in partition.replicas if b != partition.leader]
        return others[number % len(others)]

    def _can_bear_a_loss(self, broker: int) -> bool:
        """Whether one more replica may lose what it has not flushed."""
        image = self.world.image()
        self.dark = [
            b
            for b in self.dark
            if self.world.cluster.states[b] != RUNNING
            or any(
                b in p.replicas and b not in p.isr
                for p in image.topics[image.topic_ids[TOPIC]].partitions.values()
            )
        ]
        return len([b for b in self.dark if b != broker]) < self.schedule.min_in_sync - 1

    def mend(self, number: int) -> None:
        kind, arguments = self.done.pop(number, ("", ()))
        match kind:
            case "kill" | "lose_power" | "stop":
                self._start(*arguments)
            case "pause":
                self.do("resume", arguments)
            case "isolate":
                self.do("heal", arguments)
            case "cut" | "slow":
                self.do("heal", arguments)

    def mend_everything(self) -> None:
        self.do("heal", ())
        for broker in self.world.cluster.spec.brokers:
            state = self.world.cluster.states[broker]
            if state == PAUSED:
                self.do("resume", (broker,))
            self._start(broker)

    def _start(self, broker: int) -> None:
        """Starts a broker that is down; one that is still on its way down is not waited for."""
        node = self.world.cluster.nodes.get(broker)
        if node is not None and node.lifecycle.leaving:
            self.do("kill", (broker,))
        if broker not in self.world.cluster.nodes:
            self.do("start", (broker,))

    def do(self, what: str, arguments: tuple[int, ...]) -> None:
        self.outcome.tape.append((self.world.now_us, what, arguments))
        getattr(self.world, what)(*arguments)
