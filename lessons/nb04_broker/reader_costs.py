"""Scenarios of notebook 04 on readers: what they cost a broker, at the tail and in a replay.

They look into the broker's own process (`/proc`), so they need a cluster on this machine.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kit.both.outcomes import measured
from kit.clusters.interface import Cluster, ClusterError
from kit.probes.raw_client import RawClient
from kit.probes.requests import fetching, first_partition, listing, producing, records_in
from lessons.nb04_broker import scenes
from lessons.nb04_broker.fetch_rates import LIST_OFFSETS, writing
from lessons.nb04_broker.scenes import TOPIC, placed

Seen = Mapping[str, Any]
MEGABYTE = 1_000_000
READERS = (1, 10, 100)
STREAM_READERS, STREAM_S = 20, 1.2
MIN_BYTES = (1, 100_000)
TICKS = os.sysconf("SC_CLK_TCK")


def idle_readers(cluster: Cluster, crowds: Sequence[int] = READERS) -> Seen:
    """Readers at the end of a quiet log, which ask for many bytes: what their waiting costs."""
    placed(cluster)
    with_nothing, rounds, costs = True, 2, {}
    for readers in crowds:
        with _crowd(cluster, readers) as clients:
            began, before = time.monotonic(), cpu_s(cluster)
            for _ in range(rounds):
                answers = _ask_all(clients)
                with_nothing &= len(answers) == readers and not any(map(records_in, answers))
            took, spent = time.monotonic() - began, cpu_s(cluster) - before
        who = f"{readers} reader{'s' if readers > 1 else ''}"
        costs[f"{who}: fetches"] = measured(rounds * readers / took, "a second")
        costs[f"{who}: the process is busy for"] = measured(100 * spent / took, "% of the time")
    return {
        "each was answered, with nothing": with_nothing,
        "such a fetch takes": measured(1000 * took / rounds, "ms"),
        **costs,
        f"fetches in purgatory, {readers} readers": parked(cluster, readers),
    }


@contextmanager
def _crowd(cluster: Cluster, readers: int) -> Iterator[list[RawClient]]:
    clients = [RawClient(cluster, 101, "idle") for _ in range(readers)]
    try:
        yield clients
    finally:
        for client in clients:
            client.close()


def _ask_all(clients: list[RawClient]) -> list[Any]:
    for client in clients:
        client.send(_for_a_megabyte(500))
    heard = [client.receive() for client in clients]
    return [answer for _, answer in filter(None, heard)]


def _for_a_megabyte(max_wait_ms: int) -> Any:
    return fetching(TOPIC, 0, max_wait_ms=max_wait_ms, min_bytes=MEGABYTE)


def parked(cluster: Cluster, readers: int) -> Any:
    """The fetches in 101's purgatory while these readers wait, with those of followers."""
    with _crowd(cluster, readers) as clients:
        for client in clients:
            client.send(_for_a_megabyte(5_000))
        return scenes.purgatory(cluster)["fetch requests in purgatory"]


def pid(cluster: Cluster) -> int:
    """The process that serves broker 101."""
    provider: Any = cluster.provider  # type: ignore[attr-defined]
    return int(provider.pid() if cluster.name == "engine" else provider.pid(101))


def readers_of_a_stream(cluster: Cluster) -> Seen:
    """Readers that ask for a byte or for many: their fetches, and what these cost the broker.

    A record of 4 kB arrives every 20 ms, so 100,000 bytes take half a second.
    """
    placed(cluster)
    rates: list[tuple[float, float, float]] = []
    with writing(cluster, every_ms=20, value_bytes=4_000):
        for min_bytes in MIN_BYTES:
            with _crowd(cluster, STREAM_READERS) as clients:
                rates.append(_followed(cluster, clients, min_bytes))
    (often, small, busy), (seldom, large, idle) = rates
    seen: dict[str, Any] = {}
    for min_bytes, (fetches, kilobytes, share) in zip(MIN_BYTES, rates, strict=True):
        terms = f"min.bytes={min_bytes}"
        seen[f"{terms}: fetches"] = measured(fetches, "a second")
        seen[f"{terms}: an answer"] = measured(kilobytes, "kB")
        seen[f"{terms}: the process is busy for"] = measured(share, "% of the time")
    fewer = often > seldom and small < large and busy > idle
    return {**seen, "fewer answers, larger, for less work": fewer}


def _followed(
    cluster: Cluster, clients: list[RawClient], min_bytes: int
) -> tuple[float, float, float]:
    """Fetches a second, kilobytes in an answer, and percent of the time that the process works."""
    end = first_partition(clients[0].ask(listing(TOPIC), LIST_OFFSETS)).offset
    offsets, fetches, size = [end] * len(clients), 0, 0
    began = now = time.monotonic()
    before = cpu_s(cluster)
    while now - began < STREAM_S:
        for client, offset in zip(clients, offsets, strict=True):
            client.send(fetching(TOPIC, offset, max_wait_ms=2_000, min_bytes=min_bytes))
        for place, client in enumerate(clients):
            answer = _answer(client)
            offsets[place] += records_in(answer)
            fetches, size = fetches + 1, size + _bytes(answer)
        now = time.monotonic()
    took = now - began
    return fetches / took, size / 1000 / fetches, 100 * (cpu_s(cluster) - before) / took


def _answer(client: RawClient) -> Any:
    heard = client.receive()
    if heard is None:
        raise ClusterError("A fetch got no answer: is 101 running?")
    return heard[1]


def cpu_s(cluster: Cluster) -> float:
    """Processor time of broker 101's process so far (of all brokers, on the engine)."""
    fields = Path(f"/proc/{pid(cluster)}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def disk_read_bytes(cluster: Cluster) -> int:
    """Bytes that this process read from disk, without those from the page cache."""
    lines = Path(f"/proc/{pid(cluster)}/io").read_text().splitlines()
    return int(dict(line.split(": ") for line in lines)["read_bytes"])


def tail_and_replay(cluster: Cluster) -> Seen:
    """Readers at the tail, then one from the beginning of a log that is on disk only."""
    placed(cluster)
    with RawClient(cluster, 101, "writer") as writer, RawClient(cluster, 101, "reader") as reader:
        for _ in range(16):
            writer.ask(producing(TOPIC, MEGABYTE // 2, acks=-1))
        at_start = disk_read_bytes(cluster)
        tail = _read_on(reader, 12)
        after_tail = disk_read_bytes(cluster)
        forget_pages(cluster)
        replayed = _read_on(reader, 0)
        after_replay = disk_read_bytes(cluster)
    return {
        "read at the tail": measured(tail / 1e6, "MB"),
        "of it from the disk": measured((after_tail - at_start) / 1e6, "MB"),
        "replayed after the pages were dropped": measured(replayed / 1e6, "MB"),
        "from the disk": measured((after_replay - after_tail) / 1e6, "MB"),
        "the tail came from memory": after_tail - at_start < MEGABYTE,
    }


def _read_on(reader: RawClient, offset: int) -> int:
    """Reads from an offset to the end of the log; returns how many bytes that was."""
    size = 0
    while True:
        answer = reader.ask(fetching(TOPIC, offset))
        if not records_in(answer):
            return size
        offset, size = offset + records_in(answer), size + _bytes(answer)


def what_readers_cost(cluster: Cluster) -> Seen:
    """Readers with nothing to read, of a stream, at the tail, and from the beginning."""
    return {
        "idle readers": idle_readers(cluster),
        f"{STREAM_READERS} readers of a stream": readers_of_a_stream(cluster),
        "tail and replay": tail_and_replay(cluster),
    }


def _bytes(answer: Any) -> int:
    return sum(len(part.records or b"") for topic in answer.responses for part in topic.partitions)


def forget_pages(cluster: Cluster) -> None:
    """Flushes the log's files and asks the system to drop them from its page cache."""
    data = cluster.provider.nodes()[101].data_dir  # type: ignore[attr-defined]
    for file in Path(data).glob(f"{TOPIC}-0/*.log"):
        handle = os.open(file, os.O_RDONLY)
        try:
            os.fsync(handle)
            os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(handle)
