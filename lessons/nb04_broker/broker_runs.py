"""Experiments of notebook 04 in virtual time: waiting, memory and limits."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from heapq import heappop, heappush
from typing import Any

from engine.quotas.rate import WindowedRate
from engine.records import batch
from engine.sim.clients.clients import Admin
from engine.sim.world.world import World
from engine.wire import messages as m
from engine.wire.errors import Errors
from kit.drawings.chart import Chart
from kit.probes.one_partition import TOPIC, cluster
from kit.probes.requests import fetching
from kit.probes.virtual import ends, produce_request, readable, send, topic_id
from kit.tables import Table

KB = 1_000
RATE = 100 * KB
BATCH_BYTES = 50 * KB
PATIENCE_US = 60_000_000


def page_cache() -> Table:
    """A record is acknowledged, then the leader's machine loses power."""
    world = cluster(minimum=2)
    send(world, TOPIC, "A", "B")
    world.run(for_s=0.5)
    rows = [_state(world, "acknowledged with acks=all")]
    world.lose_power(101)
    world.run(until=lambda w: w.leader(TOPIC, 0) != 101, for_s=10)
    world.run(for_s=0.5)
    rows.append(_state(world, "101 lost power before anything was flushed"))
    world.start(101)
    world.run(until=lambda w: 101 in ends(w, TOPIC), for_s=10)
    rows.append(_state(world, "101 is back, before it fetches"))
    world.run(until=lambda w: ends(w, TOPIC).get(101, (0, 0))[0] == 2, for_s=10)
    rows.append(_state(world, "101 has fetched"))
    columns = ("moment", "101: log end", "102", "103", "a consumer reads")
    return Table("Acknowledged, and not on any disk", columns, rows)


def _state(world: World, moment: str) -> tuple[str, ...]:
    known = ends(world, TOPIC)
    shown = [str(known[b][0]) if b in known else "–" for b in (101, 102, 103)]
    return moment, *shown, " ".join(readable(world, TOPIC))


# -- retries

ARRIVALS_A_SECOND, QUICK_S, SLOW_S = 80, 0.010, 0.050
SLOW_WHILE = (5.0, 8.0)
ATTEMPTS = 2


def queue_with_retries(for_s: int = 20, timeout_s: float = 1.0) -> Chart:
    """A model: one handler is slow for a while; clients wait, or give up and try once more."""
    series = {
        "clients wait": _queue_lengths(for_s, float("inf")),
        f"once more after {timeout_s:g} s": _queue_lengths(for_s, timeout_s),
    }
    marks = dict(zip(SLOW_WHILE, ("slow", "quick again"), strict=True))
    return Chart("Requests in the queue", series, "seconds", "requests", marks=marks)


def _queue_lengths(for_s: int, timeout_s: float) -> list[tuple[float, float]]:
    """The queue at each half second.  An attempt that was given up is still worked on."""
    due = [(n / ARRIVALS_A_SECOND, n, 1) for n in range(for_s * ARRIVALS_A_SECOND)]
    queue: deque[tuple[float, int]] = deque()
    answered: set[int] = set()
    free_at, lengths = 0.0, [(0.0, 0.0)]
    while due and due[0][0] < for_s:
        now, number, attempt = heappop(due)
        while queue and max(free_at, queue[0][0]) <= now:
            sent_at, done = queue.popleft()
            start = max(free_at, sent_at)
            free_at = start + (SLOW_S if SLOW_WHILE[0] <= start < SLOW_WHILE[1] else QUICK_S)
            if free_at <= sent_at + timeout_s:
                answered.add(done)
        if number not in answered:
            queue.append((now, number))
            if attempt < ATTEMPTS:
                heappush(due, (now + timeout_s, number, attempt + 1))
        if now >= lengths[-1][0] + 0.5:
            lengths.append((now, float(len(queue))))
    return lengths


# -- limits


def quota_arithmetic(bound: int = RATE) -> Table:
    """The rate that is measured, and the wait that follows, request by request."""
    rate = WindowedRate(samples=11, window_ms=1_000)
    rows = []
    for at_ms, size in ((0, 600 * KB), (200, 300 * KB), (400, 200 * KB), (1_500, 100 * KB)):
        rate.record(size, at_ms)
        wait_ms = rate.throttle_ms(bound, at_ms)
        rows.append(
            (
                f"{at_ms / 1000:.1f} s",
                f"{size // KB} kB",
                f"{sum(each.value for each in rate.kept) / KB:.0f} kB",
                f"{rate.elapsed_ms(at_ms) / 1000:.1f} s",
                f"{rate.measure(at_ms) / KB:.1f} kB/s",
                f"{wait_ms} ms",
            )
        )
    columns = ("sent at", "request", "in the windows", "over", "rate", "throttle_time_ms")
    return Table(f"producer_byte_rate={bound}", columns, rows)


def _limit(world: World, **limits: float) -> None:
    """Sets limits for the client called admin: in virtual time, a client's id is its name."""
    request = m.AlterClientQuotasRequest
    entry = request.EntryData(
        entity=[request.EntityData("client-id", "admin")],
        ops=[request.OpData(key, value, False) for key, value in limits.items()],
    )
    answer = world.ask(request(entries=[entry]))
    assert answer is not None
    assert answer.entries is not None
    assert answer.entries[0].error_code == Errors.NONE
    world.run(for_s=1)


def accepted(for_s: int = 51) -> list[tuple[float, float]]:
    """A client that sends as fast as it is read: (second, kB accepted in it)."""
    taken = _sent_per_slice(led_by=(101,), for_s=for_s, slice_s=1)
    return [(second, size / KB) for second, size in enumerate(taken)]


def one_broker_or_three(for_s: int = 96) -> Table:
    """The same limit, with three partitions on one leader and on three."""
    rows = []
    for led_by in ((101, 101, 101), (101, 102, 103)):
        taken = _sent_per_slice(led_by, for_s, for_s // 2)[-1] / (for_s / 2)
        rows.append((" ".join(map(str, led_by)), f"{taken / KB:.0f} kB/s", f"{taken / RATE:.1f}"))
    columns = ("leaders of the three partitions", "accepted", "times the limit")
    heading = f"One client id, producer_byte_rate={RATE}, after the first bursts"
    return Table(heading, columns, rows)


def _sent_per_slice(led_by: Sequence[int], for_s: int, slice_s: int) -> list[int]:
    """Bytes acknowledged per slice of time; one request in flight per partition."""
    world = World(4, checked=False)
    world.create_topic(TOPIC, assignment={i: [broker] for i, broker in enumerate(led_by)})
    _limit(world, producer_byte_rate=RATE)
    admin, began = world.cluster.nodes["admin"], world.now_us
    under_way: dict[int, int] = {}
    taken = [0] * (for_s // slice_s)
    while world.now_us - began < for_s * 1_000_000:
        for index, broker in enumerate(led_by):
            if index not in under_way:
                body = _bulk(world, index)
                admin.asked += 1
                admin.outbox.send(broker, ("admin", admin.asked), body, PATIENCE_US)
                world.cluster.carry_out("admin", admin.outbox.drain())
                under_way[index] = admin.asked
        world.step()
        for index, number in tuple(under_way.items()):
            if number in admin.answers:
                assert admin.answers.pop(number) is not None, "muted for longer than its patience"
                del under_way[index]
                place = (world.now_us - began) // (slice_s * 1_000_000)
                if place < len(taken):
                    taken[place] += BATCH_BYTES
    return taken


def _bulk(world: World, index: int) -> Any:
    """One request of very nearly BATCH_BYTES."""
    value = "x" * (BATCH_BYTES - 160)
    return produce_request(world, TOPIC, (value,), "1", 60_000, index)


# -- long polling

RECORD_BYTES, EVERY_MS, LASTS_S = 1_000, 20, 6


def fetch_experiment(
    min_bytes: int, max_wait_ms: int, record_bytes: int = RECORD_BYTES
) -> tuple[float, float, float]:
    """Fetches per second, kilobytes per answer, and the longest delay of a record in ms.

    A producer sends a record every 20 ms; a reader fetches again as soon as it has its answer.
    Time counts up to the last answer: a fetch in flight is not half a fetch.
    """
    world = World(4, checked=False)
    world.create_topic(TOPIC, assignment={0: [101]})
    world.run(for_s=0.5)
    reader = Admin()
    world.cluster.add("reader", reader)
    sent_at: list[int] = []
    delays: list[int] = []
    began, fetches, offset = world.now_us, 0, 0
    answered_us = began + 1
    under_way = _fetch(world, reader, offset, min_bytes, max_wait_ms)
    while world.now_us - began < LASTS_S * 1_000_000:
        if world.now_us - began >= len(sent_at) * EVERY_MS * 1_000:
            sent_at.append(world.now_us)
            body = produce_request(world, TOPIC, ("x" * record_bytes,), "1", 5_000)
            world.cluster.carry_out("admin", world.cluster.nodes["admin"].ask(101, body)[1])
        next_send_us = began + len(sent_at) * EVERY_MS * 1_000
        _await(world, reader, under_way, next_send_us)
        answer = reader.answers.pop(under_way, None)
        if answer is not None:
            got = _records(answer)
            delays += [world.now_us - sent_at[offset + place] for place in range(got)]
            fetches, offset, answered_us = fetches + 1, offset + got, world.now_us
            under_way = _fetch(world, reader, offset, min_bytes, max_wait_ms)
    kilobytes = offset * record_bytes / KB / max(fetches, 1)
    return (
        fetches * 1e6 / (answered_us - began),
        kilobytes,
        max(delays, default=LASTS_S * 1_000_000) / 1_000,
    )


def _fetch(world: World, reader: Admin, offset: int, min_bytes: int, max_wait_ms: int) -> int:
    body = fetching(topic_id(world, TOPIC), offset, max_wait_ms=max_wait_ms, min_bytes=min_bytes)
    reader.asked += 1
    reader.outbox.send(101, ("admin", reader.asked), body, PATIENCE_US)
    world.cluster.carry_out("reader", reader.outbox.drain())
    return reader.asked


def _await(world: World, reader: Admin, number: int, until_us: int) -> None:
    """Waits until the answer is there, or it is time for the next record."""
    left_s = max(0, until_us - world.now_us) / 1e6
    world.run(until=lambda _: number in reader.answers, for_s=left_s)


def _records(answer: Any) -> int:
    found = [part.records or b"" for topic in answer.responses for part in topic.partitions]
    return sum(header.records_count for data in found for header, _ in batch.iterate(data))


def fetch_curves(max_wait_ms: int, sizes: Sequence[int]) -> tuple[list[Any], list[Any]]:
    """By fetch.min.bytes: fetches a second, and the longest delay of a record in ms."""
    fetches, delays = [], []
    for size in sizes:
        per_second, _, delay_ms = fetch_experiment(size, max_wait_ms)
        fetches.append((size, per_second))
        delays.append((size, delay_ms))
    return fetches, delays
