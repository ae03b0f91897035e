"""Seeded fault schedules: a cluster under load, with everything breaking within reason.

A schedule is drawn from its seed: the cluster, the load, and what breaks when.  Where a
plan says "leader" or "follower", the broker is chosen when its time comes, and the tape records
what really happened.  Seed and tape replay the run without any drawing.  A tape with some faults
taken out is a run of its own; the shrinker relies on that.

    draw(17)                  the plan                      a function of the seed
    play(draw(17))            the run, and its tape         a function of the plan
    play(draw(17), tape)      the same run                  a function of setup and tape

Two producers write to the same partitions, one with acks=all and one with acks=1, so that a
cut-off leader and its successor append different records.  In some schedules the first is
the whole producer of engine/client: batches, five requests in flight,
sequence numbers and new epochs.  In the others it sends record by record.  In a quarter of the
schedules a third client deletes records all the time, and retention does as well.

"Within reason" is what acks=all and min.insync.replicas promise to survive.  Any number of
processes may die, freeze, be cut off, run out of disk or have a wrong clock, and messages may
be late, lost, delivered twice or overtaken.  But at most min.insync.replicas - 1 replicas may have
lost what they wrote (to a power loss or a changed bit) and not be back in sync.  A replica beyond
that is only killed, in a replay as well.  In the end every fault is undone, and the cluster has to
recover by itself.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from time import process_time
from typing import Any

from engine.client import producer as client
from engine.cluster.items import NodeId
from engine.replication.truncation import DEFAULT_RULE
from engine.sim.campaign import ending
from engine.sim.campaign.crew import PRODUCER, Crew
from engine.sim.campaign.ending import Clients
from engine.sim.clients.trimmer import Trimmer
from engine.sim.invariants.invariants import Violation
from engine.sim.world.faults import Fault
from engine.sim.world.tape import Done
from engine.sim.world.world import World

TOPIC = "orders"
ENDLESS = 1_000_000
PLANS = 8
PROCESSES = ("kill", "kill", "kill", "lose_power", "pause", "stop", "flip_bit", "fill_disk")
LINKS = ("isolate", "isolate", "isolate", "cut", "cut_one_way", "slow")
MESSAGES = ("delay", "drop", "duplicate", "reorder")
CLOCKS = ("jump_clock", "skew_clock")
KINDS = (*PROCESSES, *LINKS, *MESSAGES, *CLOCKS, "write_back")
DAMAGING = ("lose_power", "flip_bit")
CONTROLLER = ("kill", "stop", "pause", "lose_power", "fill_disk", "isolate", *CLOCKS)
PRODUCER_SETTINGS = {"delivery.timeout.ms": 6_000, "request.timeout.ms": 2_000}
"""Short, so that during longer faults the producer gives up batches that it has sent."""
TRIMMED = {"segment.ms": 1_500, "retention.ms": 6_000}
CHECKED_OFTEN = {"log.retention.check.interval.ms": 1_000}


@dataclass(frozen=True)
class Plan:
    """At `at_ms` of virtual time, do `kind` to `target`; undo it `for_ms` later.

    `amount` is in milliseconds, messages or µs per second, as the kind needs.
    """

    at_ms: int
    kind: str
    target: str
    for_ms: int
    amount: int = 0


@dataclass(frozen=True)
class Setup:
    """The cluster and its load; a replay undoes every fault at `calm_us`, or at the tape's end."""

    seed: int
    brokers: int = 3
    partitions: int = 1
    min_in_sync: int = 2
    period_us: int = 20_000
    idempotent: bool = False
    whole_producer: bool = False
    trimmed: bool = False
    calm_us: int = 0


@dataclass(frozen=True)
class Schedule:
    """Everything about one run; a pure function of the seed."""

    setup: Setup
    torn: bool
    plans: tuple[Plan, ...]


@dataclass
class Outcome:
    """How a run ended.  `violation` is empty if every invariant held.

    `seconds` are of processor time; `losses` are those of unclean elections; `tape` has the
    faults with their times, without the repairs at the end.
    """

    setup: Setup
    events: int = 0
    elections: int = 0
    truncations: int = 0
    deletions: int = 0
    acknowledged: int = 0
    violation: str = ""
    seconds: float = 0.0
    losses: list[str] = field(default_factory=list)
    tape: tuple[Done, ...] = ()


def draw(seed: int, light: bool = False) -> Schedule:
    """The schedule of a seed; a `light` one has the same faults and fewer records."""
    chance = Random(f"schedule/{seed}")
    brokers = chance.choice((3, 3, 3, 5))
    at_ms = 1_000
    drawn = []
    for _ in range(PLANS):
        at_ms += chance.randint(200, 2_500)
        kind = chance.choice(KINDS)
        target = "leader" if chance.random() < 0.6 else "follower"
        if kind in CONTROLLER and chance.random() < 0.1:
            target = "controller"
        plan = Plan(at_ms, kind, target, chance.randint(300, 6_000), _amount(kind, chance))
        drawn.append(plan)
        if kind == "isolate" and target == "leader" and chance.random() < 0.7:
            # The old leader goes on appending what no follower copies, then crashes: a log to cut.
            drawn.append(Plan(at_ms + chance.randint(20, 400), "kill", "same", 3_000))
    setup = Setup(
        seed,
        brokers,
        partitions=chance.choice((1, 1, 2)),
        min_in_sync=chance.choice((2, 2, 1)) if brokers == 3 else chance.choice((2, 3)),
        period_us=chance.choice((20_000, 50_000)),
        idempotent=chance.random() < 0.5,
        whole_producer=chance.random() < 0.3,
        trimmed=chance.random() < 0.25,
    )
    if light:
        setup = replace(setup, period_us=60_000)
    return Schedule(setup, torn=seed % 2 == 1, plans=tuple(drawn))


def _amount(kind: str, chance: Random) -> int:
    match kind:
        case "slow":
            return chance.choice((50, 300))
        case "delay" | "reorder":
            return chance.choice((20, 200, 1_500))
        case "drop" | "duplicate":
            return chance.randint(1, 5)
        case "jump_clock":
            return chance.choice((-5_000, -1_000, 1_000, 5_000))
        case "skew_clock":
            return chance.choice((-50_000, 50_000))
        case _:
            return 0


def play(
    schedule: Schedule,
    tape: Sequence[Done] | None = None,
    tell: Callable[[str], None] | None = None,
    rule: str = DEFAULT_RULE,
) -> Outcome:
    """Runs a schedule to its end, then lets the cluster heal, and says how it went.

    A `tape` replaces the schedule's plans.  At the end, `tell` is called with every line of the
    story.
    """
    world, outcome = run(schedule, tape, rule)
    if tell is not None:
        for line in world.trace_lines():
            tell(line)
    return outcome


def run(
    schedule: Schedule,
    tape: Sequence[Done] | None = None,
    rule: str = DEFAULT_RULE,
    rewindable: bool = False,
) -> tuple[World, Outcome]:
    """Like `play`, and gives the world as well, to go back in if it is `rewindable`."""
    began = process_time()
    setup = schedule.setup
    settings = CHECKED_OFTEN if setup.trimmed else None
    world = World(setup.seed, setup.brokers, settings, rule=rule, rewindable=rewindable)
    outcome = Outcome(setup)
    crew = Crew(world, TOPIC, setup.min_in_sync, DAMAGING)
    try:
        clients = _set_up(world, setup)
        try:
            if tape is None:
                _break_and_undo(world, schedule, crew)
            else:
                for done in tape:
                    assert isinstance(done.action, Fault)
                    _wait(world, done.at_us)
                    crew.do(done.action)
                _wait(world, setup.calm_us)
        finally:
            outcome.tape = tuple(done for done in world.tape if isinstance(done.action, Fault))
            outcome.setup = replace(setup, calm_us=world.now_us)
        crew.undo_everything()
        ending.settle(world, clients)
        ending.judge(world, clients)
    except Violation as violation:
        outcome.violation = str(violation)
    except Exception as error:
        # Any other exception is a finding, too.
        place = traceback.extract_tb(error.__traceback__)[-1]
        outcome.violation = f"crash: {type(error).__name__}: {error}, in {place.name}"
    outcome.seconds = process_time() - began
    outcome.events = world.events
    if world.invariants is not None:
        outcome.losses = world.invariants.losses
    kinds = [line.kind for _, _, line in world.cluster.trace]
    outcome.elections = kinds.count("elected")
    outcome.truncations = kinds.count("truncate")
    outcome.deletions = kinds.count("deleted")
    outcome.acknowledged = kinds.count("acknowledged")
    return world, outcome


def _set_up(world: World, setup: Setup) -> Clients:
    world.create_topic(
        TOPIC,
        partitions=setup.partitions,
        replicas=min(3, setup.brokers),
        config={"min.insync.replicas": setup.min_in_sync, **(TRIMMED if setup.trimmed else {})},
    )
    if setup.whole_producer:
        careful = _whole_producer(world, setup)
    else:
        careful = world.load(TOPIC, period_us=setup.period_us, idempotent=setup.idempotent)
    hasty = world.load(TOPIC, period_us=setup.period_us, acks=1)
    reader, trimmer = world.reader(TOPIC), None
    if setup.trimmed:
        brokers = world.cluster.spec.brokers
        trimmer = world.add("trimmer", Trimmer("trimmer", TOPIC, setup.partitions, brokers))
    return Clients(careful, hasty, reader, setup.idempotent, trimmer)


def _whole_producer(world: World, setup: Setup) -> Any:
    settings = {**PRODUCER_SETTINGS, "enable.idempotence": setup.idempotent}
    load = client.Load(TOPIC, ENDLESS, setup.period_us, partition=None)
    brokers = world.cluster.spec.brokers
    return world.add(PRODUCER, client.Producer(PRODUCER, brokers, settings, load=load))


def _wait(world: World, until_us: int) -> None:
    if until_us > world.now_us:
        world.run(for_s=(until_us - world.now_us) / 1e6)


def _break_and_undo(world: World, schedule: Schedule, crew: Crew) -> None:
    begin_us = world.now_us
    timeline: list[tuple[int, int, Plan | None]] = []
    for number, plan in enumerate(schedule.plans):
        timeline.append((plan.at_ms, number, plan))
        timeline.append((plan.at_ms + plan.for_ms, number, None))
    broken: dict[int, Fault] = {}
    last_target: NodeId = 0
    for at_ms, number, plan_due in sorted(timeline, key=lambda each: (each[0], each[1])):
        _wait(world, begin_us + at_ms * 1000)
        if plan_due is None:
            if number in broken:
                crew.undo(broken.pop(number))
            continue
        fault = crew.choose(number, plan_due.kind, plan_due.target, plan_due.amount,
                            schedule.torn, last_target)  # fmt: skip
        if fault is not None:
            brokers = [each for each in fault.nodes if each in world.cluster.spec.brokers]
            last_target = brokers[0] if brokers else last_target
            crew.do(fault)
            broken[number] = fault
