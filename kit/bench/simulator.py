"""The simulator's speed: events a second with every invariant on, and the price of brokers.

An event is one step: a message delivered, a timer expired, a fault.  The mix is that of the
campaign's schedules: a cluster under load whose brokers crash, freeze and are cut off.
Idle fetches and heartbeats count too.  If they were more than half, the pace would mean
little, so their share has its own row.  There is no rival: the budget is that
of a reference core, scaled to this core (core.py).

The clusters of 3 and of 50 brokers have a partition per broker and the same load for each
partition; what an event costs should not depend on how many others there are.

The time machine is measured after 5,000 events: the slowest of a step back, a jump to the
middle, a fork and a comparison of the two.
"""

from __future__ import annotations

from collections.abc import Callable
from time import process_time
from typing import Any

from engine.cluster.calls import Arrived, Sent
from engine.cluster.items import Message
from engine.sim.campaign.mutants import Patch
from engine.sim.campaign.play import play
from engine.sim.campaign.schedules import draw
from engine.sim.world.run import Run
from engine.sim.world.world import World
from engine.wire import messages as m
from kit.bench.core import paced

EVENTS_PER_SECOND_MIN = 20_000
FLAT_RATIO_MAX = 2.0
IDLE_SHARE_MAX = 0.5
SEEDS = range(4)
FEW, MANY = 3, 50
EVENTS = 8_000
TRAVEL_EVENTS = 5_000
TRAVEL_S_MAX = 0.2
PARTITION_PERIOD_US = 60_000


def measure(rounds: int = 3) -> list[dict[str, Any]]:
    """Four rows; each timing is the best of `rounds`, in processor time."""
    pace, core = paced(_campaign_pace, rounds)
    wanted = EVENTS_PER_SECOND_MIN * core
    few = min(_cost_us(FEW) for _ in range(rounds))
    many = min(_cost_us(MANY) for _ in range(rounds))
    idle = _idle_share()
    travel = min(_travel_s() for _ in range(rounds))
    longest = TRAVEL_S_MAX / core
    ratio = many / few
    return [
        _row("simulator, campaign with invariants", "events/s", pace, wanted,
             f"≥ {EVENTS_PER_SECOND_MIN:,} × core {core:.2f}", pace >= wanted),
        _row(f"simulator, an event among {MANY} brokers, beside {FEW}", "µs", many, few,
             f"≤ {FLAT_RATIO_MAX} ×", 1 / FLAT_RATIO_MAX <= ratio <= FLAT_RATIO_MAX),
        _row("simulator, idle fetches and heartbeats", "share", idle, IDLE_SHARE_MAX,
             f"≤ {IDLE_SHARE_MAX}", idle <= IDLE_SHARE_MAX),
        _row(f"simulator, back, goto, fork or diff at {TRAVEL_EVENTS:,} events", "s", travel,
             longest, f"≤ {TRAVEL_S_MAX} / core {core:.2f}", travel <= longest),
    ]  # fmt: skip


def _row(
    name: str, unit: str, ours: float, theirs: float, budget: str, holds: bool
) -> dict[str, Any]:
    return {
        "name": name,
        "unit": unit,
        "ours": round(ours, 3),
        "theirs": round(theirs, 3),
        "ratio": round(ours / theirs, 3),
        "budget": budget,
        "holds": holds,
    }


def _campaign_pace() -> float:
    """Events a second over a few schedules of the campaign."""
    outcomes = [play(draw(seed)) for seed in SEEDS]
    return sum(each.events for each in outcomes) / sum(each.seconds for each in outcomes)


def _loaded(brokers: int, rewindable: bool = False) -> World:
    world = World(seed=3, brokers=brokers, rewindable=rewindable)
    world.create_topic("orders", partitions=brokers, config={"min.insync.replicas": 2})
    world.load("orders", period_us=PARTITION_PERIOD_US // brokers)
    world.reader("orders")
    world.run(for_s=1)
    return world


def _cost_us(brokers: int) -> float:
    """Microseconds of processor time that one event takes."""
    world = _loaded(brokers)
    began, before = process_time(), world.events
    world.run(events=EVENTS)
    return (process_time() - began) * 1e6 / (world.events - before)


def _travel_s() -> float:
    """The slowest move through time, in seconds of processor time."""
    world = _loaded(FEW, rewindable=True)
    world.run(events=TRAVEL_EVENTS - world.events)
    others: list[World] = []
    moves: tuple[Callable[[], Any], ...] = (
        world.back,
        lambda: world.goto(event=TRAVEL_EVENTS // 2 - 1),
        lambda: others.append(world.fork()),
        lambda: world.goto(event=TRAVEL_EVENTS),
        lambda: world.diff(others[0]).text,
    )
    slowest = 0.0
    for move in moves:
        began = process_time()
        move()
        slowest = max(slowest, process_time() - began)
    return slowest


def _idle_share() -> float:
    """How many events of a schedule are fetches without records, heartbeats, or their answers."""
    idle = total = 0

    def counted(original: Callable[..., bool], run: Run, *arguments: int | None) -> bool:
        nonlocal idle, total
        heard: list[Sent | Arrived] = []
        run.cluster.listen(heard.append)
        happened = original(run, *arguments)
        run.cluster.unlisten(heard.append)
        total += happened
        idle += any(isinstance(each, Arrived) and _is_idle(each.message) for each in heard)
        return happened

    with Patch(Run, "step", counted).in_force():
        play(draw(SEEDS[0]))
    return idle / total


def _is_idle(message: Message) -> bool:
    match message.body:
        case m.BrokerHeartbeatRequest() | m.BrokerHeartbeatResponse():
            return True
        case m.FetchResponse(responses=topics):
            return not any(part.records for topic in topics for part in topic.partitions)
        case m.FetchRequest(topics=topics):
            return not topics
    return False
