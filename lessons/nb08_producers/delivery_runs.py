"""Experiments of notebook 08 on delivery: waits, losses and duplicates.

Each function starts worlds of its own, breaks them in one way and returns a table of the
producer's answers and the records in the log.
"""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median
from typing import Any

from engine.client.producer import Load, Producer
from engine.sim.history import Poll
from engine.sim.world.world import World
from kit.probes.virtual import isr
from kit.tables import Table
from lessons.nb08_producers.producer_world import (
    BROKERS,
    NAME,
    PLAIN,
    TOPIC,
    cluster,
    finish,
    lines,
    log,
    send,
    shop,
    verdicts,
)

ACKS = ("0", "1", "all")
ONE_EACH = {"batch.size": 0, "linger.ms": 0}
"""Every record in a batch, and so in a request, of its own."""


def lost_answer() -> Table:
    """The batch is stored, its answer is lost, and the producer tries again."""
    rows = []
    for name, settings in (("off", PLAIN), ("on", {})):
        world = cluster()
        shop(world, {**settings, "linger.ms": 0})
        world.drop(101, NAME, api="Produce")
        send(world, "A")
        producer = finish(world)
        tries = len(list(lines(world, "sent")))
        (told,) = producer.sends
        rows.append([name, str(tries), f"{told.verdict}, offset {told.offset}", log(world)])
    columns = ("idempotence", "tries", "what the producer was told", "what the log holds")
    return Table("The answer to A is lost once", columns, rows)


def order_in_flight() -> Table:
    """A connection ends with several requests in flight; then two rates without faults.

    Several in flight save time between the client and the leader.  The leader handles a
    connection's next request after it has answered the last, so they do not shorten the wait
    for its followers.
    """
    rows = []
    for name, settings in (
        ("5, idempotence off", PLAIN),
        ("1, idempotence off", {**PLAIN, "max.in.flight.requests.per.connection": 1}),
        ("5, idempotence on", {}),
    ):
        world = cluster()
        shop(world, {**settings, **ONE_EACH})
        # With one in flight only one request can be lost with the connection.
        world.drop(NAME, 101, count=1 if "1," in name else 4, api="Produce")
        send(world, *"ABCD")
        finish(world)
        rates = [_rate(settings, away) for away in ((NAME,), (102, 103))]
        rows.append([name, log(world), *(f"{each:.0f} records/s" for each in rates)])
    columns = ("in flight", "A B C D, the connection lost under them",
               "no fault, producer 2 ms away", "no fault, followers 2 ms away")  # fmt: skip
    return Table("Order and rate by requests in flight", columns, rows)


def _rate(settings: Mapping[str, Any], away: tuple[int | str, ...]) -> float:
    """Records per virtual second, one per request; nodes in `away` are 2 ms from the leader."""
    world = cluster()
    shop(world, {**settings, **ONE_EACH})
    for node in away:
        world.slow(101, node, ms=2)
    send(world, "first")  # opens the connection
    finish(world)
    began = world.now_us
    for _ in range(5):
        send(world, *(str(n) for n in range(20)))
        finish(world)
    return 100e6 / (world.now_us - began)


def acks_and_a_dying_leader(worlds: int = 6) -> Table:
    """The leader dies in the middle of a load: the acknowledgements, and the records afterwards."""
    rows = []
    for acks in ACKS:
        promised = lost = twice = 0
        for seed in range(worlds):
            world = cluster(seed=seed)
            shop(world, {**PLAIN, "acks": acks, "linger.ms": 0},
                 Load(TOPIC, 30, period_us=1_000))  # fmt: skip
            world.run(for_s=0.0205)
            world.kill(101)
            producer = finish(world)
            world.run(for_s=1)
            there = log(world).split()
            told = [each.text for each in producer.sends if each.verdict == "acknowledged"]
            promised += len(told)
            lost += len(set(told) - set(there))
            twice += len(there) - len(set(there))
        rows.append([acks, str(promised), str(lost), str(twice), *latency(acks)])
    columns = ("acks", "told: success", "of these not there", "there twice",
               "no fault: the producer hears", "a consumer reads")  # fmt: skip
    return Table(f"The leader dies under load, in {worlds} worlds, no idempotence", columns, rows)


def latency(acks: str) -> tuple[str, str]:
    """Medians of 50 records, no fault: until the producer hears, until a consumer reads."""
    world = cluster()
    producer = shop(world, {"acks": acks, "linger.ms": 0}, Load(TOPIC, 50, period_us=10_000))
    reader = world.reader(TOPIC)
    finish(world)
    world.run(for_s=1)
    made = {each.text: each.made_us for each in producer.sends}
    read = {
        r.value: poll.at_us
        for poll in reader.operations if isinstance(poll, Poll) for r in poll.reads
    }  # fmt: skip
    heard = [(each.done_us - each.made_us) / 1000 for each in producer.sends]
    seen = [(read[value] - at) / 1000 for value, at in made.items()]
    return f"{median(heard):.1f} ms", f"{median(seen):.1f} ms"


def matrix() -> Table:
    """acks and min.insync.replicas by the number of brokers that are down."""
    rows = []
    for acks, minimum in (("1", 1), ("1", 2), ("all", 1), ("all", 2)):
        cells = [_written(acks, minimum, gone) for gone in (0, 1, 2)]
        rows.append([acks, str(minimum), *cells, _lost_with_the_last(acks, minimum)])
    columns = ("acks", "min.insync.replicas", "ISR 3", "ISR 2", "ISR 1", "then 101 dies for good")
    return Table("One record at a time, retries=0", columns, rows)


def _short(world: World, acks: str, gone: int) -> None:
    for broker in (103, 102)[:gone]:
        world.kill(broker)
        world.run(until=lambda w, b=broker: b not in isr(w, TOPIC), for_s=10)  # type: ignore[misc]
    shop(world, {**PLAIN, "acks": acks, "retries": 0, "linger.ms": 0})
    send(world, "A")
    finish(world)


def _written(acks: str, minimum: int, gone: int) -> str:
    world = cluster(minimum)
    _short(world, acks, gone)
    (told,) = world.client(NAME).sends
    return "written" if told.verdict == "acknowledged" else told.error


def _lost_with_the_last(acks: str, minimum: int) -> str:
    """Two are down and A is written if allowed; then the last dies and 102 must lead."""
    world = cluster(minimum, **{"unclean.leader.election.enable": True})
    _short(world, acks, 2)
    (told,) = world.client(NAME).sends
    if told.verdict != "acknowledged":
        return "nothing was promised"
    world.kill(101)
    world.start(102)
    world.run(until=lambda w: w.leader(TOPIC, 0) == 102, for_s=400)
    return "A is kept" if log(world) else "A is lost"


def retries_zero_or_default() -> Table:
    """Three transient faults, with retries=0 and with the default."""
    rows = []
    troubles = {
        "two followers gone, back after 2 s": _too_small,
        "the leader is killed": _election,
        "three brokers restarted in turn": _roll,
    }
    for name, trouble in troubles.items():
        cells = []
        for settings in ({**PLAIN, "retries": 0}, {}):
            world = cluster(2)
            trouble(world, {**settings, "linger.ms": 0})
            cells.append(verdicts(finish(world)))
        rows.append([name, *cells])
    return Table("100 records in 6 s", ("trouble", "retries=0", "default"), rows)


def _load(world: World, settings: Mapping[str, Any]) -> None:
    shop(world, settings, Load(TOPIC, 100, period_us=60_000))


def _too_small(world: World, settings: Mapping[str, Any]) -> None:
    for broker in (102, 103):
        world.kill(broker)
    world.run(until=lambda w: isr(w, TOPIC) == [101], for_s=20)
    _load(world, settings)
    world.run(for_s=2)
    for broker in (102, 103):
        world.start(broker)


def _election(world: World, settings: Mapping[str, Any]) -> None:
    _load(world, settings)
    world.run(for_s=0.5)
    world.kill(101)


def _roll(world: World, settings: Mapping[str, Any]) -> None:
    _load(world, settings)
    world.run(for_s=0.5)
    for broker in (101, 102, 103):
        world.stop(broker)
        world.run(until=lambda w, b=broker: b not in w.cluster.nodes, for_s=10)  # type: ignore[misc]
        world.start(broker)
        world.run(until=lambda w: len(isr(w, TOPIC)) == 3, for_s=20)


def attempts_left() -> Table:
    """The line that a Java client logs when the ISR is too small, attempt by attempt."""
    world = cluster(2)
    for broker in (102, 103):
        world.kill(broker)
    world.run(until=lambda w: len(isr(w, TOPIC)) == 1, for_s=20)
    shop(world, {"delivery.timeout.ms": 60_000})
    send(world, "A")
    world.run(for_s=18)
    told = [(fields["attempt"] - 1, fields["left"], why, fields["backoff_us"] / 1000)
            for _, _, fields, why in lines(world, "retry")]  # fmt: skip
    rows = [
        [str(tries), f"{left} attempts left", why, f"{rest:.0f} ms"]
        for tries, left, why, rest in told
        if tries <= 5 or tries == 17
    ]
    return Table(
        "Tries of one batch, delivery.timeout.ms=60000",
        ("failed tries", "the log says", "error", "then rests"),
        rows,
    )


def request_timeout_too_low() -> Table:
    """Answers take 1.2 s for a while; the timeout is longer than that, and then shorter."""
    rows = []
    for timeout_ms in (30_000, 1_000):
        world = cluster()
        shop(world, {"request.timeout.ms": timeout_ms, "delivery.timeout.ms": 60_000})
        requests = world.client(NAME).connections.sent
        world.slow(101, NAME, ms=600)
        for value in "ABCDEFGH":
            send(world, value)
            world.run(for_s=1)
        in_time = sum(each.verdict == "acknowledged" for each in world.client(NAME).sends)
        world.heal()
        producer = finish(world)
        rows.append([
            f"{timeout_ms / 1000:.0f} s", f"{in_time} of 8",
            str(producer.connections.sent - requests),
            str(len(list(lines(world, "disconnected")))), verdicts(producer),
        ])  # fmt: skip
    columns = ("request.timeout.ms", "acknowledged meanwhile", "requests sent",
               "connections given up", "in the end")  # fmt: skip
    return Table("A record a second, and answers take 1.2 s", columns, rows)


def where_records_wait() -> Table:
    """There is no leader, or it does not answer: which timeout ends the wait, and where."""
    rows = []
    settings = {"delivery.timeout.ms": 3_000, "request.timeout.ms": 1_000, "max.block.ms": 1_500,
                "buffer.memory": 40_000}  # fmt: skip
    world = cluster()
    for broker in (101, 102, 103):
        world.pause(broker)
    producer = world.add(NAME, _unconnected(settings))
    send(world, "A")
    finish(world)
    rows.append(["metadata missing", *_ending(producer.sends[0])])
    world = cluster()
    producer = shop(world, settings)
    world.cut(101, NAME)
    send(world, *("x" * 15_000 for _ in range(3)))
    finish(world)
    rows.append(["in a batch, sent without an answer", *_ending(producer.sends[0])])
    rows.append(["outside: buffer.memory is full", *_ending(producer.sends[2])])
    columns = ("where the record is", "verdict", "ended by", "after")
    return Table("delivery.timeout.ms=3000, max.block.ms=1500", columns, rows)


def _unconnected(settings: Mapping[str, Any]) -> Any:
    return Producer(NAME, BROKERS, settings)


def _ending(sent: Any) -> list[str]:
    return [sent.verdict, sent.error or "–", f"{(sent.done_us - sent.made_us) / 1000:.0f} ms"]


def late_answer(delivery_ms: int = 10_000) -> World:
    """The leader is paused while it has one record; returns the world afterwards."""
    world = cluster(2)
    shop(world, {"linger.ms": 20, "request.timeout.ms": 1_500, "delivery.timeout.ms": delivery_ms})
    world.pause(101)
    send(world, "A")
    finish(world)
    return world


def too_few_replicas(delivery_ms: int = 3_000) -> World:
    """The ISR is too small until the record expires; returns the world afterwards."""
    world = cluster(2)
    for broker in (102, 103):
        world.kill(broker)
    world.run(until=lambda w: isr(w, TOPIC) == [101], for_s=20)
    shop(world, {"linger.ms": 20, "request.timeout.ms": 1_500, "delivery.timeout.ms": delivery_ms})
    send(world, "A")
    finish(world)
    return world
