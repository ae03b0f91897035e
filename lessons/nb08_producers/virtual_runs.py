"""Runs of notebook 08 in virtual time, for what takes minutes or a rule of the past.

    world = orders(minimum=2)
    shop = Shop(world, "orders", {"delivery.timeout.ms": 3_000})

The same seed gives the same run, to the microsecond.
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from math import ceil, inf
from typing import Any

from engine.sim.cases import play_case
from engine.sim.world.world import World
from kit.probes.one_partition import Condition, halted
from kit.probes.own_producer import OwnProducer
from kit.probes.virtual import isr, readable
from kit.tables import Table
from lessons.nb08_producers.fault_stages import log_of
from lessons.nb08_producers.shop import BROKERS, SETTINGS, Shop

TOPIC = "orders"
GAP, LOST = "OUT_OF_ORDER_SEQUENCE_NUMBER", "NETWORK_EXCEPTION"
SETTLED_S = 2.0
RECORDS = 60
COMPANY = {"linger.ms": 20, "batch.size": 16_384, "request.timeout.ms": 1_500}
"""A record waits in its batch for others."""
EACH_LEADS = {0: [101, 102, 103], 1: [102, 103, 101], 2: [103, 101, 102]}
MAX_RETRIES, PAUSE_S, LONGEST_PAUSE_S = 3, 0.5, 5.0
"""Of the published loop."""


def orders(minimum: int = 1, **config: Any) -> World:
    """Three brokers; `orders` is led by 101 and copied to 102 and 103.  A copy of one world."""
    world: World = pickle.loads(_made(minimum, tuple(config.items())))
    return world


@cache
def _made(minimum: int, config: tuple[tuple[str, Any], ...]) -> bytes:
    world = World(seed=8, rewindable=False)
    configs = {"min.insync.replicas": minimum, **dict(config)}
    world.create_topic(TOPIC, assignment={0: list(BROKERS)}, config=configs)
    world.run(for_s=SETTLED_S)
    return pickle.dumps(world)


def _alone(world: World) -> None:
    """Kills both followers and waits until the leader is the whole ISR."""
    for follower in BROKERS[1:]:
        world.kill(follower)
    world.run(until=lambda w: isr(w, TOPIC) == [101], for_s=20)


# -- waits


def late_answer(delivery_ms: int = 10_000) -> World:
    """The leader is paused while it has one record; returns the world afterwards."""
    world = orders(2)
    shop = Shop(world, TOPIC, {**COMPANY, "delivery.timeout.ms": delivery_ms})
    world.pause(101)
    shop.send("A")
    shop.wait()
    return world


def too_few_replicas(delivery_ms: int = 3_000) -> World:
    """The ISR is too small until the record expires; returns the world afterwards."""
    world = orders(2)
    _alone(world)
    shop = Shop(world, TOPIC, {**COMPANY, "delivery.timeout.ms": delivery_ms})
    shop.send("A")
    shop.wait()
    return world


def no_answer(lost: str, delivery_ms: int = 5_000) -> World:
    """`lost` is "answers" or "requests": none arrives until the record expires.

    Returns the world when the link is whole again.
    """
    world = orders(2)
    shop = Shop(world, TOPIC, {**COMPANY, "delivery.timeout.ms": delivery_ms})
    ends = (101, shop.name) if lost == "answers" else (shop.name, 101)
    world.cut_one_way(*ends)
    shop.send("A")
    shop.wait()
    world.heal()
    world.run(for_s=SETTLED_S)
    return world


def without_a_fault(settings: Mapping[str, Any], far_ms: int = 2) -> tuple[float, float]:
    """Records a second and the p99 of their time to the callback in ms, a record per request.

    The producer is that far from the leader.  The rate is infinite if nothing is waited for.
    """
    world = orders()
    shop = Shop(world, TOPIC, settings)
    world.slow(101, shop.name, ms=far_ms)
    shop.send("first")  # opens the connection
    shop.wait()
    began = world.now_us
    shop.send(*map(str, range(RECORDS)))
    shop.wait()
    took_us = world.now_us - began
    waits_ms = sorted(shop.own.waits_ms[1:])
    return RECORDS * 1e6 / took_us if took_us else inf, waits_ms[ceil(0.99 * RECORDS) - 1]


def slow_answers(
    timeout_ms: int, answer_ms: int = 1_200, seconds: int = 8
) -> dict[str, list[tuple[float, int]]]:
    """A record a second while answers take so long: three counts, each by second.

    Requests and acknowledgements are those so far; the queue is the records without a verdict.
    """
    world = orders()
    shop = Shop(world, TOPIC, {"request.timeout.ms": timeout_ms, "delivery.timeout.ms": 60_000})
    world.slow(101, shop.name, ms=answer_ms // 2)
    before = shop.producer.connections.sent
    requests, acknowledged, queue = [(0.0, 0)], [(0.0, 0)], [(0.0, 0)]
    for second in range(1, seconds + 1):
        shop.send(f"record {second}")
        world.run(for_s=1)
        requests.append((float(second), shop.producer.connections.sent - before))
        acknowledged.append((float(second), len(shop.having("acknowledged"))))
        queue.append((float(second), len(shop.having("pending"))))
    return {"requests": requests, "acknowledged": acknowledged, "in the producer's queue": queue}


def in_the_end(runs: Mapping[int, Mapping[str, Sequence[tuple[float, int]]]]) -> Table:
    """The last counts of each run of `slow_answers`, by request.timeout.ms."""
    rows = [
        [f"{timeout_ms} ms", *(str(points[-1][1]) for points in counts.values())]
        for timeout_ms, counts in runs.items()
    ]
    columns = ("request.timeout.ms", *next(iter(runs.values())))
    return Table("At the end of the chart", columns, rows)


# -- a rolling restart


def rolling_restart(recipes: Mapping[str, Mapping[str, Any]], every_ms: int = 50) -> Table:
    """Brokers restart in turn under load: a row for each producer's settings, by their name."""
    rows = [[name, *_rolled(settings, every_ms)] for name, settings in recipes.items()]
    columns = ("settings", "records sent", "failed while 101, 102, 103 restart", "not in the log")
    return Table("A rolling restart under load", columns, rows)


def _rolled(settings: Mapping[str, Any], every_ms: int) -> list[str]:
    """What one producer sent, how many records failed at each restart, and how many are lost."""
    world = World(seed=8, rewindable=False)
    world.create_topic(TOPIC, assignment=EACH_LEADS)
    world.run(for_s=SETTLED_S)
    app = OwnProducer(world, TOPIC, {**SETTINGS, **settings})
    failed = []
    for broker in BROKERS:
        first = len(app.records)
        _write_until(app, _later(world, 1), every_ms)
        world.stop(broker)
        _write_until(app, halted(broker), every_ms)
        world.start(broker)
        _write_until(app, _whole, every_ms)
        app.wait()
        failed.append(sum(each.verdict != "acknowledged" for each in app.records[first:]))
    stored = {value for index in EACH_LEADS for value in readable(world, TOPIC, index)}
    lost = sum(each.text not in stored for each in app.records)
    return [str(len(app.records)), ", ".join(map(str, failed)), str(lost)]


def _write_until(app: OwnProducer, holds: Condition, every_ms: int) -> None:
    """Sends one record after another, to the partitions in turn, until the condition holds."""
    while not holds(app.cluster):
        number = len(app.records)
        app.send(f"record {number}", partition=number % len(EACH_LEADS))
        app.cluster.run(for_s=every_ms / 1000)


def _later(world: World, seconds: float) -> Condition:
    """That much time has gone by."""
    at_us = world.now_us + seconds * 1e6
    return lambda now: now.now_us >= at_us


def _whole(world: World) -> bool:
    """Every replica of every partition is in sync."""
    return all(len(isr(world, TOPIC, index)) == len(BROKERS) for index in EACH_LEADS)


# -- an application's own retries


def published_loop(outages_s: Sequence[int]) -> Table:
    """A published retry loop while all answers are lost for some seconds: calls and copies."""
    rows = []
    for outage_s in outages_s:
        world = orders(2)
        shop = Shop(world, TOPIC, {"request.timeout.ms": 250, "delivery.timeout.ms": 600})
        shop.lose_answers()
        calls = _send_sync(shop, world.now_us + outage_s * 1_000_000, PAUSE_S)
        rows.append([f"{outage_s} s", str(calls), str(shop.log().count("pay 10"))])
    columns = ("no answer for", "nested calls of sendSync()", "pay 10 in the log")
    return Table(f"A published loop with MAX_RETRIES = {MAX_RETRIES}", columns, rows)


def _send_sync(shop: Shop, heals_us: int, pause_s: float, retries: int = 0) -> int:
    """The published method, statement by statement; returns the number of calls."""
    if shop.cluster.now_us >= heals_us:
        shop.cluster.heal()
    shop.send("pay 10")
    shop.wait()
    if shop.verdicts[-1] == "acknowledged":
        return 1
    if retries > MAX_RETRIES:
        pause_s = LONGEST_PAUSE_S
    else:
        retries += 1
    shop.cluster.run(for_s=pause_s)
    return 1 + _send_sync(shop, heals_us, pause_s, retries)


# -- the memory of a partition


def failover() -> Table:
    """101 appends, the followers copy, 101 dies before it answers."""
    world = orders(2)
    shop = Shop(world, TOPIC)
    rows = []
    for value in "XY":
        shop.send(value)
        shop.wait()
        rows.append([f"{value} is appended", _knows(world, 101)])
    world.cut_one_way(101, shop.name)
    shop.send("A")
    world.run(until=lambda w: all(log_of(w, TOPIC, b)[-1:] == ["A"] for b in (102, 103)), for_s=5)
    rows += [["A is copied", _knows(world, broker)] for broker in BROKERS]
    world.kill(101)
    world.heal()
    shop.wait()
    for answer in shop.lines("answered")[2:]:
        rows.append([
            f"attempt {answer['attempt']}", f"{answer['broker']} answers {answer['error']}"
        ])  # fmt: skip
    rows.append(["in the end", f"{shop.verdicts[-1]}; the log of 102 is {' '.join(shop.log())}"])
    return Table("A is copied, 101 dies before it answers", ("when", "what happens"), rows)


def _knows(world: World, broker: int) -> str:
    """The last sequence number of each batch that a replica remembers of the producer."""
    state = world.replica(broker, TOPIC, 0).log.producers.get(0)
    remembered = " ".join(str(each.last_sequence) for each in state.batches) if state else "–"
    return f"{broker} remembers the sequences {remembered}"


def gap_after_an_unclean_election() -> Table:
    """The new leader lacks what the old one had acknowledged: a gap in the sequence."""
    rows = []
    for rule, name in (("reset", "before KIP-360"), ("kip-360", "KIP-360")):
        world = orders(**{"unclean.leader.election.enable": True})
        shop = Shop(world, TOPIC, {"sequence.gap": rule})
        shop.send("A", "B", "C")
        shop.wait()
        _alone(world)
        shop.send("D", "E")
        shop.wait()
        world.kill(101)
        world.start(102)
        world.run(until=lambda w: w.leader(TOPIC, 0) == 102, for_s=400)
        for value in "FGH":
            shop.send(value)
            shop.wait(10)
        answers = dict.fromkeys(a["error"] for a in shop.lines("answered"))
        identity = shop.producer.identity
        assert identity is not None
        rows.append([
            name, ", then ".join(each for each in answers if each in (GAP, LOST)),
            "{}, {}".format(*identity.identity), ", ".join(shop.verdicts[-3:]),
            " ".join(shop.log()),
        ])  # fmt: skip
    columns = ("rule", "F is answered", "id, epoch then", "F, G, H", "log")
    return Table("A B C D E acknowledged; D E lost with 101; then F G H", columns, rows)


def named_case(name: str) -> Table:
    """A case of the collection, under its old rule and its new one: the judge's sentences.

    It runs in a thread of its own, because a notebook's kernel has an event loop already.
    """
    with ThreadPoolExecutor(1) as other:
        played = other.submit(play_case, name).result()
    rows = [[each.words, each.sentence] for each in (played.old, played.new)]
    return Table(played.old.case.title, ("rule", "verdict"), rows)
