"""Tables for notebook 06: what puts a replica out of sync, and what happens to writes then.

Two clocks decide whether a replica is in the ISR.  The controller's wants heartbeats
(`broker.session.timeout.ms`); the leader's wants a follower to catch up once in
`replica.lag.time.max.ms`.  While a silent follower is still in the ISR, writes with acks=all
wait for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from engine.sim.world.world import World
from kit.probes.one_partition import TOPIC, cluster, committed, listed
from kit.probes.virtual import isr, send
from kit.tables import Table


def ways_out_of_the_isr(slow_ms: int = 1_500, less_slow_ms: int = 200) -> Table:
    """Six kinds of trouble for replica 103 of leader 101, under a steady load or none."""
    slow, less_slow = (f"{2 * ms / 1000:g} s" for ms in (slow_ms, less_slow_ms))
    troubles: tuple[tuple[str, bool, Callable[[World], None]], ...] = (
        ("its heartbeats do not reach the controller", False, lambda w: w.cut(100, 103)),
        ("its fetches do not reach the leader", True, lambda w: w.cut(101, 103)),
        ("the same, and nothing is written", False, lambda w: w.cut(101, 103)),
        (f"it fetches, each round takes {slow}", True, lambda w: w.slow(101, 103, slow_ms)),
        (
            f"it fetches, each round takes {less_slow}",
            True,
            lambda w: w.slow(101, 103, less_slow_ms),
        ),
        ("the leader itself is slow to all", True, _slow_leader),
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


def isr_flapping(limits_ms: Sequence[int] = (10_000, 30_000), stall_s: float = 18) -> Table:
    """A replica stalls for a while every 40 s; the ISR under each limit."""
    rows = [_flaps(limit_ms, stall_s) for limit_ms in limits_ms]
    columns = ("replica.lag.time.max.ms", "ISR changes", "longest wait for acks=all")
    closing = (
        "A leader looks for laggards twice per limit: at 10 s, a replica that stalls "
        "is out after 10 to 15 s."
    )
    return Table(f"103 stalls for {stall_s:g} s, five times", columns, rows, closing)


def _flaps(lag_max_ms: int, stall_s: float) -> tuple[str, ...]:
    settings = {"replica.lag.time.max.ms": lag_max_ms, "broker.session.timeout.ms": 40_000}
    world = cluster(settings=settings)
    waits_us, changes = [], 0
    for _ in range(5):
        since_us = world.now_us
        members = [isr(world, TOPIC)]
        world.pause(103)
        offset = send(world, TOPIC, "A", acks="1").offset
        world.run(until=committed(offset), for_s=stall_s)
        waits_us.append(world.now_us - since_us)
        world.run(for_s=stall_s - waits_us[-1] / 1e6)
        members.append(isr(world, TOPIC))
        world.resume(103)
        world.run(until=committed(offset), for_s=40 - stall_s)
        if waits_us[-1] >= (stall_s - 0.1) * 1e6:
            waits_us[-1] = world.now_us - since_us
        world.run(for_s=40 - stall_s)
        members.append(isr(world, TOPIC))
        changes += sum(before != after for before, after in pairwise(members))
    return str(lag_max_ms), str(changes), f"{max(waits_us) / 1e6:.1f} s"
