"""Seeded fault schedules: a cluster under load, with everything breaking within reason.

A schedule is drawn from its seed: the cluster, the load, and what breaks when.  Where a
plan says "leader" or "follower", the broker is chosen when its time comes, and the tape records
what really happened.  Seed and tape replay the run without any drawing.  A tape with some faults
taken out is a run of its own; the shrinker relies on that.

    draw(17)                  the plan                      a function of the seed
    play(draw(17))            the run, and its tape         a function of the plan (play.py)
    play(draw(17), tape)      the same run                  a function of setup and tape

Two producers write to the same partitions, one with acks=all and one with acks=1, so that a
cut-off leader and its successor append different records.  In some schedules the first is
the whole producer of engine/client: batches, five requests in flight,
sequence numbers and new epochs.  In the others it sends record by record.  In a quarter of the
schedules a third client deletes records all the time, and retention does as well.

`draw(17, groups=True)` has the faults of seed 17 as well, with one or two consumer groups whose
members come and go (members.py).  Some of its faults hit the groups' coordinator.
`draw(17, transactions=True)` has them with transactional producers (tills.py), and some of the
faults hit the transactions' coordinator or the leaders of what they write.  In half of them the
topic that they write to is deleted and made again, once or twice.  With protocol 2 some
requests of transactions are given up by their sender and arrive all the same, seconds later
(`strand`).  With protocol 1 a late EndTxn ends the next transaction: that is KAFKA-17754, a named
case, and no schedule has it.

"Within reason" is what acks=all and min.insync.replicas promise to survive.  Any number of
processes may die, freeze, be cut off, run out of disk or have a wrong clock, and messages may
be late, lost, delivered twice or overtaken.  But at most min.insync.replicas - 1 replicas may have
lost what they wrote (to a power loss or a changed bit) and not be back in sync.  A replica beyond
that is only killed, in a replay as well.  In the end every fault is undone, and the cluster has to
recover by itself.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random

from engine.sim.campaign import members, tills
from engine.sim.campaign.members import GroupSetup, MemberPlan
from engine.sim.campaign.tills import TillSetup

TOPIC = "orders"
PLANS = 8
PROCESSES = ("kill", "kill", "kill", "lose_power", "pause", "stop", "flip_bit", "fill_disk")
LINKS = ("isolate", "isolate", "isolate", "cut", "cut_one_way", "slow")
MESSAGES = ("delay", "drop", "duplicate", "reorder")
CLOCKS = ("jump_clock", "skew_clock")
KINDS = (*PROCESSES, *LINKS, *MESSAGES, *CLOCKS, "write_back")
DAMAGING = ("lose_power", "flip_bit")
CONTROLLER = ("kill", "stop", "pause", "lose_power", "fill_disk", "isolate", *CLOCKS)
VOTER_CHANGES = (
    ("remove_voter", "controller"), ("remove_voter", "standby"), ("add_voter", "standby"),
    ("add_voter", "standby"),
)  # fmt: skip
QUORUM_KINDS = (*CONTROLLER, *LINKS, *MESSAGES, "write_back")
STRANDS = 3
"""Requests that arrive late: of transactions with protocol 2, of a controller with ZooKeeper."""
COORDINATOR_SHARE = 0.25
"""Of the faults in a schedule with groups."""


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
    groups: tuple[GroupSetup, ...] = ()
    tills: TillSetup | None = None
    controllers: int = 1
    snapshots: bool = False
    """Snapshots are written often, and the metadata log behind them is deleted."""
    ensemble: int = 0
    """Members of ZooKeeper; 0 is KRaft."""
    voters: int = 0
    """So many of the controllers vote at first, and that changes; 0: all of them, for good."""


@dataclass(frozen=True)
class Schedule:
    """Everything about one run; a pure function of the seed."""

    setup: Setup
    torn: bool
    plans: tuple[Plan, ...]
    lives: tuple[MemberPlan, ...] = ()


def draw(
    seed: int,
    light: bool = False,
    groups: bool = False,
    transactions: bool = False,
    controllers: int = 1,
    ensemble: int = 0,
    voters: int = 0,
) -> Schedule:
    """The schedule of a seed; a `light` one has the same faults and fewer records.

    With several controllers, half of the faults are theirs; with an ensemble, half are its members'
    and the controller's.  With `voters`, so many controllers vote at first, and others later.
    """
    drawn = _draw(seed, light)
    if ensemble:
        return _with_ensemble(drawn, ensemble)
    if controllers > 1:
        drawn = _with_controllers(drawn, controllers)
    if voters:
        drawn = _with_voters(drawn, voters)
    if transactions:
        return _with_tills(drawn, light)
    return _with_groups(drawn, light) if groups else drawn


def _with_controllers(drawn: Schedule, controllers: int) -> Schedule:
    """Half of the faults are theirs, and the active one is cut off and killed besides.

    One that is cut off for a while appends what it cannot commit, and has to cut its log.  In half
    of the schedules who is away for a while has to load a snapshot.
    """
    chance = Random(f"controllers/{drawn.setup.seed}")
    plans = tuple(
        replace(plan, target=chance.choice(("controller", "standby", plan.target, plan.target)))
        if plan.kind in QUORUM_KINDS
        else plan
        for plan in drawn.plans
    )
    end_ms = max(2_000, *(plan.at_ms for plan in plans))
    plans += tuple(
        Plan(chance.randint(1_500, end_ms), kind, "controller", chance.randint(2_000, 6_000))
        for kind in ("isolate", "isolate", "kill")
    )
    snapshots = chance.random() < 0.5
    setup = replace(drawn.setup, controllers=controllers, snapshots=snapshots)
    return replace(drawn, setup=setup, plans=plans)


def _with_voters(drawn: Schedule, voters: int) -> Schedule:
    """Voters are removed and added all the time, the leader among them."""
    chance = Random(f"voters/{drawn.setup.seed}")
    end_ms = max(2_000, *(plan.at_ms for plan in drawn.plans))
    plans = tuple(
        Plan(chance.randint(1_500, end_ms), kind, target, chance.randint(1_000, 4_000))
        for kind, target in (*VOTER_CHANGES, *VOTER_CHANGES)
    )
    return replace(drawn, setup=replace(drawn.setup, voters=voters), plans=drawn.plans + plans)


def _with_ensemble(drawn: Schedule, ensemble: int) -> Schedule:
    """No disk loses what it held: in this plane the last in-sync replica leads, lossy or not."""
    chance = Random(f"ensemble/{drawn.setup.seed}")
    plans = tuple(
        replace(
            plan,
            kind="kill" if plan.kind in (*DAMAGING, "fill_disk") else plan.kind,
            target=chance.choice(("controller", "member", plan.target, plan.target)),
        )
        for plan in drawn.plans
    )
    end_ms = max(2_000, *(plan.at_ms for plan in plans))
    plans += tuple(
        Plan(chance.randint(1_500, end_ms), kind, target, chance.randint(2_000, 8_000))
        for kind, target in (
            ("pause", "controller"), ("isolate", "controller"), ("kill", "controller"),
            ("kill", "member"), ("isolate", "member"),
        )
    )  # fmt: skip
    plans += tuple(
        Plan(
            chance.randint(1_200, end_ms), "strand", "controller", 0, chance.choice((2_000, 6_000))
        )
        for _ in range(STRANDS)
    )
    return replace(drawn, setup=replace(drawn.setup, ensemble=ensemble), plans=plans)


def _with_tills(drawn: Schedule, light: bool) -> Schedule:
    """The same faults, half of them where transactions are, on three brokers."""
    chance = Random(f"transactions/{drawn.setup.seed}")
    setup = tills.draw_tills(chance)
    plans = tuple(
        replace(plan, target=chance.choice(("coordinator", "payments", plan.target, plan.target)))
        if plan.target in ("leader", "follower")
        else plan
        for plan in drawn.plans
    )
    end_ms = max(plan.at_ms for plan in plans)
    lives = tills.draw_lives(chance, setup, end_ms)
    lives += tills.draw_remakers(Random(f"remakers/{drawn.setup.seed}"), end_ms)
    if setup.protocol == tills.EPOCH_FOR_EACH:
        plans += _draw_strands(Random(f"strands/{drawn.setup.seed}"), end_ms)
    base = replace(
        drawn.setup, brokers=3, partitions=1, min_in_sync=2,
        period_us=300_000 if light else 60_000, whole_producer=False, trimmed=False, tills=setup,
    )  # fmt: skip
    return replace(drawn, setup=base, plans=plans, lives=lives)


def _draw_strands(chance: Random, end_ms: int) -> tuple[Plan, ...]:
    """Whose request it is, the crew decides when the time comes."""
    return tuple(
        Plan(
            chance.randint(1_500, max(2_000, end_ms)), "strand", "transactions", 0,
            chance.choice((300, 1_500, 6_000)),
        )
        for _ in range(STRANDS)
    )  # fmt: skip


def _with_groups(drawn: Schedule, light: bool) -> Schedule:
    """The same faults, a quarter of them for the coordinator, on three brokers."""
    chance = Random(f"groups/{drawn.setup.seed}")
    groups = members.draw_groups(chance)
    plans = tuple(
        replace(plan, target="coordinator")
        if plan.target in ("leader", "follower") and chance.random() < COORDINATOR_SHARE
        else plan
        for plan in drawn.plans
    )
    lives = members.draw_lives(chance, groups, max(plan.at_ms for plan in plans))
    setup = replace(
        drawn.setup, brokers=3, partitions=chance.choice((3, 4)), min_in_sync=2,
        period_us=150_000 if light else 40_000, whole_producer=False, trimmed=False, groups=groups,
    )  # fmt: skip
    return replace(drawn, setup=setup, plans=plans, lives=lives)


def _draw(seed: int, light: bool) -> Schedule:
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
