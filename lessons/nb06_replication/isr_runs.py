"""Tables for notebook 06: what puts a replica out of sync, and what happens to writes then.

Two clocks decide whether a replica is in the ISR.  The controller's wants heartbeats
(`broker.session.timeout.ms`); the leader's wants a follower to catch up once in
`replica.lag.time.max.ms`.  If the ISR is smaller than `min.insync.replicas`, the leader
refuses writes with acks=all.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from engine.sim.world.world import World
from kit.probes.one_partition import TOPIC, cluster, committed, listed
from kit.probes.virtual import ends, isr, readable, send
from kit.tables import Table


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


def isr_flapping() -> Table:
    """A replica stalls for 18 s every 40 s; the ISR under two limits."""
    rows = [_flaps(10_000), _flaps(30_000)]
    columns = ("replica.lag.time.max.ms", "ISR changes", "longest wait for acks=all")
    closing = (
        "A leader looks for laggards every half of the limit: with 10 s, a replica that stalls "
        "is out after 10 to 15 s."
    )
    return Table("103 stalls for 18 s, five times", columns, rows, closing)


def _flaps(lag_max_ms: int) -> tuple[str, ...]:
    settings = {"replica.lag.time.max.ms": lag_max_ms, "broker.session.timeout.ms": 40_000}
    world = cluster(settings=settings)
    waits_us, changes = [], 0
    for _ in range(5):
        since_us = world.now_us
        members = [isr(world, TOPIC)]
        world.pause(103)
        offset = send(world, TOPIC, "A", acks="1").offset
        world.run(until=committed(offset), for_s=18)
        waits_us.append(world.now_us - since_us)
        world.run(for_s=18 - waits_us[-1] / 1e6)
        members.append(isr(world, TOPIC))
        world.resume(103)
        world.run(until=committed(offset), for_s=22)
        waits_us[-1] = world.now_us - since_us if waits_us[-1] >= 17_900_000 else waits_us[-1]
        world.run(for_s=22)
        members.append(isr(world, TOPIC))
        changes += sum(before != after for before, after in pairwise(members))
    return str(lag_max_ms), str(changes), f"{max(waits_us) / 1e6:.1f} s"


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
    closing = "NONE is Kafka's name for no error: the broker took the write."
    return Table("Below min.insync.replicas", columns, rows, closing)


def _attempt(world: World, situation: str, value: str, acks: str) -> tuple[str, ...]:
    answer = send(world, TOPIC, value, acks=acks, timeout_ms=1_000)
    return (situation, f"{value}, acks={acks}", str(answer), *_seen(world))


def _seen(world: World) -> tuple[str, str, str]:
    end, high_watermark = ends(world, TOPIC)[101]
    return str(end), str(high_watermark), " ".join(readable(world, TOPIC)) or "nothing"
