"""Experiments of notebook 08 on the application's side: it waits, handles errors, sends again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engine.client.producer import Load
from engine.sim.world.world import World
from kit.tables import Table
from lessons.nb08_producers.producer_world import (
    NAME,
    TOPIC,
    cluster,
    finish,
    lines,
    log,
    outcome,
    send,
    shop,
)

COUNT = 100


def styles() -> Table:
    """Waits for each answer or not, with acks 0 and all; and which style hears of a dead leader."""
    rows = []
    for waits in (True, False):
        for acks in ("0", "all"):
            lost, errors = _dead_leader(acks, waits)
            told = f"{lost} lost, {errors} errors"
            rows.append(["waits for each" if waits else "sends on", acks, _rate(acks, waits), told])
    columns = ("the application", "acks", "rate, links of 2 ms", "the leader is killed")
    return Table("Waiting is one choice, acks another", columns, rows)


def _rate(acks: str, waits: bool) -> str:
    """Records per virtual second."""
    world = cluster()
    shop(world, {"acks": acks, "linger.ms": 0})
    world.slow(101, NAME, ms=2)
    began = world.now_us
    for n in range(COUNT):
        send(world, str(n))
        if waits:
            finish(world)
    finish(world)
    took_us = world.now_us - began
    return f"{COUNT * 1e6 / took_us:.0f} records/s"


def _dead_leader(acks: str, waits: bool) -> tuple[int, int]:
    """Forty records while the leader dies: how many are lost, and how many errors are reported."""
    world = cluster()
    producer = shop(world, {"acks": acks, "linger.ms": 0})
    for n in range(40):
        if n == 20:
            world.kill(101)
        send(world, str(n))
        if waits:
            finish(world)
        world.run(for_s=0.0002)
    finish(world)
    world.run(until=lambda w: w.leader(TOPIC, 0) == 102, for_s=60)
    world.run(for_s=1)
    errors = sum(each.verdict != "acknowledged" for each in producer.sends)
    return 40 - len(set(log(world).split())), errors


def dead_letters() -> Table:
    """An outage longer than delivery.timeout.ms, and a handler that keeps the failed records."""
    world = cluster(2)
    settings = {"delivery.timeout.ms": 2_000, "request.timeout.ms": 1_000, "linger.ms": 0}
    producer = shop(world, settings, Load(TOPIC, 200, period_us=50_000))
    world.run(for_s=2)
    for broker in (102, 103):
        world.kill(broker)
    world.run(for_s=5)
    for broker in (102, 103):
        world.start(broker)
    finish(world)
    stored = set(log(world).split())
    failed = [each for each in producer.sends if each.verdict != "acknowledged"]
    handled = {each.text for each in failed}
    seconds = (world.now_us - 2e6) / 1e6
    rows = [
        ["handed over", str(len(producer.sends))],
        ["stored", str(len(stored))],
        ["kept by the handler", str(len(handled))],
        ["in neither place", str(len(producer.sends) - len(stored | handled))],
        ["in both (unknown, and stored after all)", str(len(stored & handled))],
        ["failed, a second", f"{len(failed) / seconds:.1f}"],
    ]
    heading = "200 records in 10 s, two followers away for 5 s, delivery.timeout.ms=2000"
    return Table(heading, ("records", "number"), rows)


def application_repeats() -> Table:
    """The answer is late and the application sends again itself: idempotence cannot know."""
    world = cluster()
    producer = shop(
        world, {"linger.ms": 0, "delivery.timeout.ms": 1_500, "request.timeout.ms": 1_000}
    )
    world.cut_one_way(101, NAME)
    send(world, "pay 10")
    finish(world)
    first = producer.sends[0]
    world.heal()
    send(world, "pay 10")
    finish(world)
    world.run(for_s=1)
    numbers = [fields["sequence"] for _, _, fields, _ in lines(world, "sent")]
    epochs = [fields["epoch"] for _, _, fields, _ in lines(world, "sent")]
    rows = [
        ["first send", f"{first.verdict}: {first.error}", f"epoch {epochs[0]}, {numbers[0]}"],
        ["second send", producer.sends[1].verdict, f"epoch {epochs[-1]}, {numbers[-1]}"],
        ["the log", log(world), ""],
    ]
    tries = tries_of_a_sample(lambda tries: True)
    closing = f"A sample's loop with max_retries = 3: ended by our counter after {tries} tries."
    return Table("The application's own retry", ("", "outcome", "sequence"), rows, closing)


def tries_of_a_sample(send_fails: Callable[[int], bool], stop_after: int = 1_000) -> int:
    """The retry loop that circulates in samples: how many attempts it makes before it ends.

    It sleeps and calls itself again; at `max_retries` it only makes the pause longer.  Here a
    counter stops it; without the counter it would never end.
    """
    max_retries, pause_ms = 3, 100
    tries = 0
    while send_fails(tries) and tries < stop_after:
        tries += 1
        if tries >= max_retries:
            pause_ms *= 2  # and no `return`
    return tries


def _remembered(world: World, broker: int) -> str:
    state = world.replica(broker, TOPIC, 0).log.producers.get(0)
    return " ".join(str(each.last_sequence) for each in state.batches) if state else "–"


def failover_between_append_and_answer() -> Table:
    """101 appends, the followers copy, 101 dies before it answers."""
    world = cluster(2)
    producer = shop(world, {"linger.ms": 0, "batch.size": 0})
    send(world, "X", "Y")
    finish(world)
    world.cut_one_way(101, NAME)
    send(world, "A")
    world.run(until=lambda w: all(log(w, b).endswith("A") for b in (102, 103)), for_s=5)
    known = {broker: _remembered(world, broker) for broker in (101, 102, 103)}
    since = world.now_us / 1000
    world.kill(101)
    world.heal()
    finish(world)
    told = [
        ["before the kill", f"{broker} remembers the sequences {numbers}"]
        for broker, numbers in known.items()
    ]
    for at, kind, fields, _ in lines(world, "sent", "answered", "acknowledged"):
        what: dict[str, Any] = fields
        says = {
            "sent": lambda f=what: f"try {f['attempt']} to {f['broker']}, sequence {f['sequence']}",
            "answered": lambda f=what: f"{f['broker']}: {outcome(f['error'])}",
            "acknowledged": lambda f=what: f"acknowledged at offset {f['offset']}",
        }[kind]()
        if at >= since:
            told.append([f"{at - since:.0f} ms after the kill", says])
    told.append(["in the end", f"the log of 102 is {log(world, 102)}"])
    assert producer.sends[-1].verdict == "acknowledged"
    return Table("A is copied, 101 dies before it answers", ("when", "what happens"), told)
