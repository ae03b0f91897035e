"""Scenarios of notebook 04 about limits: on bytes, on time, on what the controller may do.

Limits are set as kafka-configs.sh sets them, by AlterClientQuotas.  No Python client offers
that request, so it is sent raw.  The sizes put one request a little over the limit: the wait
is real, and short enough for a notebook.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from statistics import median
from typing import Any

from engine.wire import messages as m
from engine.wire.errors import Errors
from kit.both.outcomes import measured
from kit.clusters.interface import Cluster
from kit.probes.raw_client import RawClient
from kit.probes.requests import fetching, producing, records_in
from lessons.nb04_broker.scenes import PATIENCE_S, TOPIC, placed, settings
from lessons.nb04_broker.stage_timers import ONE_SIDE

Entity = Mapping[str, str | None]
Seen = Mapping[str, Any]
CLIENT = {"client-id": "greedy"}
"""For scenes that count no bytes."""
RATE = 50_000
"""Bytes a second; ten seconds' worth may pass in a burst."""
CONSUMER_RATE = 1_000
FLOODERS = 4


def new_client_id() -> str:
    """A client id that is new: a limit also counts what its client sent before."""
    return f"greedy-{time.time_ns()}"


def alter(cluster: Cluster, entity: Entity, **limits: float | None) -> str:
    """Sets limits, or removes them with None; the error's name."""
    request = m.AlterClientQuotasRequest
    entry = request.EntryData(
        entity=[request.EntityData(kind, name) for kind, name in entity.items()],
        ops=[
            request.OpData(key=key, value=value or 0.0, remove=value is None)
            for key, value in limits.items()
        ],
    )
    with RawClient(cluster, 101, "admin") as client:
        answer = client.ask(request(entries=[entry]), 1)
    return Errors(answer.entries[0].error_code).name


def describe(cluster: Cluster, entity: Entity, broker: int = 101) -> dict[str, float]:
    """The limits of exactly this entity, as one broker knows them."""
    request = m.DescribeClientQuotasRequest
    parts = [
        request.ComponentData(kind, 1 if name is None else 0, name) for kind, name in entity.items()
    ]
    with RawClient(cluster, broker, "admin") as client:
        entries = client.ask(request(components=parts, strict=True), 1).entries
    return {each.key: each.value for entry in entries for each in entry.values}


@contextmanager
def limited(cluster: Cluster, entity: Entity, **limits: float) -> Iterator[None]:
    """Limits that hold inside the block, known to broker 101."""
    assert alter(cluster, entity, **limits) == "NONE"
    try:
        cluster.wait_until(lambda c: describe(c, entity) == limits, PATIENCE_S, "the limit")
        yield
    finally:
        alter(cluster, entity, **dict.fromkeys(limits))
        cluster.wait_until(lambda c: not describe(c, entity), PATIENCE_S, "its end")


def over_a_limit(cluster: Cluster, topic: str, value_bytes: int) -> None:
    """One write that is a little over its client's limit: answered, then muted for 0.4 s."""
    name = new_client_id()
    limit = limited(cluster, {"client-id": name}, producer_byte_rate=0.096 * value_bytes)
    with limit, RawClient(cluster, 101, name) as client:
        client.ask(producing(topic, value_bytes))


def kinds_of_limits(cluster: Cluster) -> Seen:
    """Kafka's four limits, and three that are misspelt."""
    limits = {
        "producer_byte_rate": 100_000.0,
        "consumer_byte_rate": 200_000.0,
        "request_percentage": 25.0,
        "controller_mutation_rate": 2.0,
    }
    set_all = alter(cluster, CLIENT, **limits)
    cluster.wait_until(lambda c: describe(c, CLIENT) == limits, PATIENCE_S, "the limits")
    read_back = describe(cluster, CLIENT, broker=103)
    alter(cluster, CLIENT, **dict.fromkeys(limits))
    wrong = ("producer_bytes_rate", "consumer_bytes_rate", "controller_mutations_rate")
    return {
        "all four at once": set_all,
        "read back from another broker": read_back == limits,
        **{name: alter(cluster, CLIENT, **{name: 1.0}) for name in wrong},
    }


def answered(client: RawClient, waits: bool) -> float:
    """When the request in flight is answered; now, unless it still waits."""
    if waits:
        client.receive()
    return time.monotonic()


def settles(sent: int, limit: int, throttle_s: float) -> bool:
    """Whether the bytes, spread over the windows and the wait, come to the limit.

    The windows are ten full seconds and a part of the current one.
    """
    return 9.9 <= sent / limit - throttle_s <= 11.1


def consumer_over_its_rate(cluster: Cluster) -> Seen:
    """One batch is let through, the next makes the answer empty."""
    placed(cluster)
    with RawClient(cluster, 101, "loader") as loader:
        for _ in range(2):
            loader.ask(producing(TOPIC, 5_300, acks=-1))
    request = fetching(TOPIC)
    request.max_bytes = 1  # one batch, of any size
    name = new_client_id()
    limit = limited(cluster, {"client-id": name}, consumer_byte_rate=CONSUMER_RATE)
    with limit, RawClient(cluster, 101, name) as c:
        first, began = c.ask(request), time.monotonic()
        answer_bytes = c.bytes_in
        second = c.ask(request)
        third = c.ask(request)
        while not records_in(third) and third.throttle_time_ms:  # a millisecond too early
            third = c.ask(request)
        silence_s = time.monotonic() - began
    return {
        "first fetch: records, throttled": [records_in(first), first.throttle_time_ms > 0],
        "second fetch: records, throttled": [records_in(second), second.throttle_time_ms > 0],
        "throttle_time_ms": measured(second.throttle_time_ms, "ms"),
        "mean rate with the wait is the limit": settles(
            2 * answer_bytes, CONSUMER_RATE, second.throttle_time_ms / 1000
        ),
        "asked again, not before that time: records": (
            records_in(third) if silence_s >= 0.9 * second.throttle_time_ms / 1000 else "too early"
        ),
    }


def many_tiny_requests(cluster: Cluster) -> Seen:
    """A tenth of a percent of one thread: 10 ms in ten seconds."""
    asked, request = 0, m.MetadataRequest(topics=[])
    name = new_client_id()
    limit = limited(cluster, {"client-id": name}, request_percentage=0.1)
    with limit, RawClient(cluster, 101, name) as client:
        throttle_ms = 0
        while not throttle_ms and asked < 5_000:
            throttle_ms = client.ask(request).throttle_time_ms
            asked += 1
    threads = settings(cluster)
    whole = 100 * (int(threads["num.io.threads"]) + int(threads["num.network.threads"]))
    return {
        "throttled, for a window at most": 0 < throttle_ms <= 1_000,
        "the whole, for all threads of 101": f"{whole} %",
    }


def burst_of_topics(cluster: Cluster) -> Seen:
    """One partition a second: eleven at once are let through, and one debt is allowed."""
    name = new_client_id()
    with limited(cluster, {"client-id": name}, controller_mutation_rate=1.0):
        with RawClient(cluster, 101, name) as strict:
            first = _create(strict, "burst", 14, 7)
            second = _create(strict, "after", 1, 7)
        with RawClient(cluster, 102, name) as old:
            slowed = _create(old, "after", 1, 4)
    return {
        "14 partitions at once": Errors(first.topics[0].error_code).name,
        "one more": Errors(second.topics[0].error_code).name,
        "come back in": measured(second.throttle_time_ms, "ms"),
        "asked by an older client": Errors(slowed.topics[0].error_code).name,
        "and is muted instead": slowed.throttle_time_ms > 0,
    }


def _create(client: RawClient, name: str, partitions: int, version: int) -> Any:
    """CreateTopics with validate_only: it costs the same, and leaves nothing behind."""
    request = m.CreateTopicsRequest
    topic = request.CreatableTopic(name, partitions, 1)
    return client.ask(request([topic], timeout_ms=10_000, validate_only=True), version)


def other_limits(cluster: Cluster) -> Seen:
    """The keys, the limits other than producer_byte_rate, and what limits are for."""
    return {
        "keys": kinds_of_limits(cluster),
        "consumer_byte_rate": consumer_over_its_rate(cluster),
        "request_percentage=0.1": many_tiny_requests(cluster),
        "controller_mutation_rate=1": burst_of_topics(cluster),
        "a quiet client": neighbors(cluster),
    }


def neighbors(cluster: Cluster, for_s: float = 0.35) -> Seen:
    """A quiet client beside a flood, and beside a flood that is limited; one side at a time."""
    with ONE_SIDE:
        placed(cluster)
        quiet_latency_ms(cluster, for_s / 2)  # the first run is slow
        alone = quiet_latency_ms(cluster, for_s / 2)
        with flooding(cluster, "flood") as sent:
            beside = quiet_latency_ms(cluster, for_s)
        unlimited, name = sent(), new_client_id()
        limit = limited(cluster, {"client-id": name}, producer_byte_rate=RATE)
        with limit, flooding(cluster, name) as sent:
            limited_flood = quiet_latency_ms(cluster, for_s)
    return {
        "quiet client alone, median": measured(alone, "ms"),
        "beside a flood, median": measured(beside, "ms"),
        "beside a limited flood, median": measured(limited_flood, "ms"),
        "the flood": measured(unlimited, "MB"),
        "the limited flood": measured(sent(), "MB"),
        "the limit lets it be served sooner": limited_flood < beside,
        "the limit cut the flood": sent() < unlimited,
    }


def quiet_latency_ms(cluster: Cluster, for_s: float) -> float:
    """The median of small writes, one after the other."""
    times = []
    with RawClient(cluster, 101, "quiet") as client:
        end = time.monotonic() + for_s
        while time.monotonic() < end:
            began = time.monotonic()
            client.ask(producing(TOPIC, 100))
            times.append(time.monotonic() - began)
            time.sleep(0.005)
    return median(times) * 1000


@contextmanager
def flooding(cluster: Cluster, name: str) -> Iterator[Callable[[], float]]:
    """A client that sends 500 kB after 500 kB by four connections; yields the megabytes so far.

    It obeys a throttle time, as real clients do.  Otherwise the broker would read and append
    its last requests long after the lesson has gone on.
    """
    stop, sizes = threading.Event(), []
    clients = [RawClient(cluster, 101, name) for _ in range(FLOODERS)]

    def flood(client: RawClient) -> None:
        body = producing(TOPIC, 500_000)
        while not stop.is_set():
            throttle_ms = client.ask(body).throttle_time_ms
            sizes.append(client.bytes_out)
            stop.wait(throttle_ms / 1000)

    threads = [threading.Thread(target=flood, args=(each,), daemon=True) for each in clients]
    for thread in threads:
        thread.start()
    try:
        yield lambda: sum(sizes) / 1e6
    finally:
        stop.set()
        for thread in threads:
            thread.join(PATIENCE_S)
        for client in clients:
            client.close()
