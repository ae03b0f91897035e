"""Plays a schedule: sets the cluster up, breaks and repairs it, and judges what is left."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from time import process_time
from typing import Any

from engine.client import producer as client
from engine.cluster.items import NodeId
from engine.replication.truncation import DEFAULT_RULE
from engine.sim.campaign import ending, members, till_ending, tills
from engine.sim.campaign.crew import PRODUCER, Crew
from engine.sim.campaign.ending import Clients
from engine.sim.campaign.members import MemberPlan
from engine.sim.campaign.schedules import DAMAGING, TOPIC, Plan, Schedule, Setup
from engine.sim.clients.trimmer import Trimmer
from engine.sim.invariants.groups import GroupInvariants
from engine.sim.invariants.invariants import Violation
from engine.sim.invariants.transactions import TransactionInvariants
from engine.sim.world.faults import Fault
from engine.sim.world.tape import Done
from engine.sim.world.world import World

ENDLESS = 1_000_000
PRODUCER_SETTINGS = {"delivery.timeout.ms": 6_000, "request.timeout.ms": 2_000}
"""Short, so that during longer faults the producer gives up batches that it has sent."""
TRIMMED = {"segment.ms": 1_500, "retention.ms": 6_000}
SNAPSHOTS = {
    "metadata.log.max.record.bytes.between.snapshots": 200,
    "internal.metadata.log.segment.bytes": 4096,
    "metadata.max.retention.bytes": 0,
    "controller.quorum.fetch.snapshot.max.bytes": 500,
}
"""A snapshot comes in several pieces; between two of them a leader may change."""
CHECKED_OFTEN = {"log.retention.check.interval.ms": 1_000}
REBALANCED = ("assignment is replicated", "target of epoch")
"""What coordinators say at the end of a rebalance."""


@dataclass
class Outcome:
    """How a run ended.  `violation` is empty if every invariant held.

    `takeovers` counts the controllers that became active after the first one, `metadata_cuts` how
    often one cut its log, `loads` how often one loaded a snapshot, `voter_changes` the sets of
    voters that were appended.  `seconds` are of processor
    time; `losses` are those of unclean elections; `tape` has the faults with their times, without
    the repairs at the end.  Of groups:
    how often they got a new assignment, a member's session was over, and a new coordinator took
    them up.  Of transactions: how many were committed, aborted, aborted by their timeout; `moves`
    counts their coordinators, `cleaned` the passes of the cleaner, `remade` how often the topic was
    deleted and made again.
    """

    setup: Setup
    events: int = 0
    elections: int = 0
    takeovers: int = 0
    metadata_cuts: int = 0
    loads: int = 0
    voter_changes: int = 0
    truncations: int = 0
    deletions: int = 0
    acknowledged: int = 0
    rebalances: int = 0
    expired: int = 0
    moves: int = 0
    committed: int = 0
    aborted: int = 0
    timed_out: int = 0
    cleaned: int = 0
    remade: int = 0
    violation: str = ""
    seconds: float = 0.0
    losses: list[str] = field(default_factory=list)
    orphans: list[str] = field(default_factory=list)
    """Partitions of groups that had to wait for one more rebalance."""
    waiting: list[str] = field(default_factory=list)
    """Producers that waited for good for a partition of a topic that was made again without it."""
    tape: tuple[Done, ...] = ()


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
    try:
        world, outcome = run(schedule, tape, rule)
    except Violation as violation:  # before there was a world
        return Outcome(schedule.setup, violation=str(violation))
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
    features = {"transaction.version": setup.tills.protocol} if setup.tills else {}
    world = World(
        setup.seed, setup.brokers, _settings(setup), rule=rule, rewindable=rewindable,
        features=features, controllers=setup.controllers,
        control_plane="zookeeper" if setup.ensemble else "kraft", ensemble=setup.ensemble or None,
        voters=setup.voters or None,
    )  # fmt: skip
    outcome = Outcome(setup)
    crew = Crew(world, TOPIC, setup.min_in_sync, DAMAGING, setup.groups, setup.tills)
    try:
        clients = _set_up(world, setup)
        since = len(world.tape)
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
            outcome.tape = _faults(world, setup, since)
            outcome.setup = replace(setup, calm_us=world.now_us)
        crew.undo_everything()
        if setup.tills is not None:
            tills.finish_all(world)
        ending.settle(world, clients)
        ending.judge(world, clients)
        outcome.orphans = ending.judge_groups(world, setup.groups, TOPIC)
        if setup.tills is not None:
            outcome.waiting = till_ending.judge(world, setup.tills)
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
        _count_groups(world, outcome)
    _count_transactions(world, outcome)
    kinds = [line.kind for _, _, line in world.cluster.trace]
    outcome.elections = kinds.count("elected")
    outcome.takeovers = kinds.count("controller") - 1
    outcome.voter_changes = kinds.count("voters")
    outcome.metadata_cuts = kinds.count("truncated")
    outcome.loads = sum(
        line.kind == "snapshot-loaded" and node in world.cluster.spec.controllers
        for _, node, line in world.cluster.trace
    )
    outcome.truncations = kinds.count("truncate")
    outcome.deletions = kinds.count("deleted")
    outcome.acknowledged = kinds.count("acknowledged")
    return world, outcome


def _settings(setup: Setup) -> dict[str, object]:
    snapshots = SNAPSHOTS if setup.snapshots else {}
    if setup.tills is not None:
        return {**snapshots, **tills.BROKER_SETTINGS}
    checked = CHECKED_OFTEN if setup.trimmed else members.BROKER_SETTINGS if setup.groups else {}
    return {**snapshots, **checked}


def _faults(world: World, setup: Setup, since: int) -> tuple[Done, ...]:
    """What was done to nodes; the world's tape had `since` actions after the set-up."""
    written = (
        (done, tills.as_fault(done.action) or members.as_fault(done.action, setup.groups))
        for done in world.tape[since:]
    )
    return tuple(replace(done, action=action) for done, action in written if action is not None)


def _count_groups(world: World, outcome: Outcome) -> None:
    if not outcome.setup.groups:
        return
    whys = [line.why for _, _, line in world.cluster.trace if line.kind == "group"]
    outcome.rebalances = sum(any(words in why for words in REBALANCED) for why in whys)
    outcome.expired = sum("session" in why and "over" in why for why in whys)
    loaded = [node for _, node, line in world.cluster.trace if line.kind == "groups-loaded"]
    outcome.moves = sum(before != after for before, after in pairwise(loaded))


def _count_transactions(world: World, outcome: Outcome) -> None:
    if outcome.setup.tills is None:
        return
    lines = [(node, line) for _, node, line in world.cluster.trace]
    states = [dict(line.fields)["state"] for _, line in lines if line.kind == "transaction"]
    outcome.committed = states.count("CompleteCommit")
    outcome.aborted = states.count("CompleteAbort")
    outcome.timed_out = sum(
        line.kind == "transaction" and "transaction.timeout.ms" in line.why for _, line in lines
    )
    if world.invariants is not None and world.invariants.transactions is not None:
        lost = [f"{name}: transactions" for name in world.invariants.transactions.losses]
        outcome.losses = [*outcome.losses, *lost]
    outcome.cleaned = sum(line.kind == "cleaned" for _, line in lines)
    outcome.remade = sum(line.kind == "made-again" for _, line in lines)
    loaded = [node for node, line in lines if line.kind == "transactions-loaded"]
    outcome.moves = sum(before != after for before, after in pairwise(loaded))


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
    if setup.tills is not None and world.invariants is not None:
        world.invariants.transactions = TransactionInvariants(world.cluster, tills.PAYMENTS)
        tills.set_up(world, setup.tills, setup.min_in_sync)
    if setup.groups and world.invariants is not None:
        world.invariants.groups = GroupInvariants(world.cluster)
        for group in setup.groups:
            for number in range(1, group.members + 1):
                members.start(world, setup.groups, TOPIC, f"{group.name}-{number}")
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
    timeline: list[tuple[int, int, Plan | MemberPlan | None]] = []
    plans: list[Plan | MemberPlan] = [*schedule.plans, *schedule.lives]
    for number, plan in enumerate(plans):
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
        if isinstance(plan_due, MemberPlan):
            fault = crew.choose_member(plan_due)
        else:
            fault = crew.choose(number, plan_due.kind, plan_due.target, plan_due.amount,
                                schedule.torn, last_target)  # fmt: skip
        if fault is not None:
            brokers = [each for each in fault.nodes if each in world.cluster.spec.brokers]
            last_target = brokers[0] if brokers else last_target
            crew.do(fault)
            broken[number] = fault
