"""What this machine's disk, page cache and kernel do: ratios, measured in this process.

The numbers belong to the machine.  A file system in memory, a virtual disk or a drive with a cache
of its own gives other ratios, and that is the point of measuring.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random
from statistics import median

from kit.clusters.interface import Cluster
from kit.clusters.kafka_cluster import KafkaCluster
from kit.clusters.local import LocalProvider
from lessons.nb02_log import writing

BLOCK = 4096
MIB = 1 << 20
BROKER = 101
"""It leads the logs whose flushes are counted."""
SOON_S = 0.5
"""Within it a broker does what it was to do after an append."""
FLUSHING: dict[str, dict[str, int]] = {
    "the defaults": {},
    "flush.messages=1": {"flush.messages": 1},
    "flush.messages=10": {"flush.messages": 10},
    "flush.ms=100": {"flush.ms": 100},
    "segment.bytes=1 MiB": {"segment.bytes": MIB},
}
WRITES, FLUSHES = ("write", "pwrite64", "writev"), ("fsync", "fdatasync")
_CALL = re.compile(rf"\b({'|'.join((*WRITES, *FLUSHES))})\(\d+<([^>]*)>")
"""A call as strace -y shows it: its name, and the file behind its descriptor."""
KERNEL_RULES = ("dirty_expire_centisecs", "dirty_background_ratio", "dirty_ratio")


@contextmanager
def scratch(size: int) -> Iterator[int]:
    """A file of `size` bytes of chance on this machine's disk, open for reading and writing."""
    with tempfile.TemporaryDirectory(prefix="kafkalab-disk-") as directory:
        path = Path(directory) / "file"
        path.write_bytes(Random(2).randbytes(MIB) * (size // MIB))
        file = os.open(path, os.O_RDWR)
        try:
            os.fsync(file)
            yield file
        finally:
            os.close(file)


def seconds(act: Callable[[], object]) -> float:
    began = time.perf_counter()
    act()
    return time.perf_counter() - began


def places(size: int, *, in_order: bool) -> list[int]:
    found = list(range(0, size, BLOCK))
    if not in_order:
        Random(3).shuffle(found)
    return found


def written(file: int, at: list[int], flush_every: int = 0) -> float:
    """Seconds for a block at each place; with an fsync after every `flush_every` blocks."""
    block = bytes(BLOCK)

    def act() -> None:
        for number, position in enumerate(at, 1):
            os.pwrite(file, block, position)
            if flush_every and number % flush_every == 0:
                os.fsync(file)

    return seconds(act)


def read(file: int, at: list[int], *, cold: bool) -> float:
    """Seconds for a block from each place; `cold` asks the kernel to forget the file first."""
    if cold:
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)

    def act() -> None:
        for position in at:
            os.pread(file, BLOCK, position)

    return seconds(act)


def sent(file: int, size: int, *, copied: bool) -> float:
    """Seconds of CPU for the file's bytes into a socket: by read and send, or by sendfile."""
    near, far = socket.socketpair()
    done = threading.Thread(target=_drain, args=(far,))
    done.start()
    began, at = time.thread_time(), 0
    while at < size:
        if copied:
            at += near.send(os.pread(file, MIB, at))
        else:
            at += os.sendfile(near.fileno(), file, at, MIB)
    spent = time.thread_time() - began
    near.close()
    done.join()
    far.close()
    return spent


def loopback_rate(size: int = 32 * MIB) -> float:
    """Bytes in a second that a TCP connection of this machine to itself carries."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        near = socket.create_connection(server.getsockname())
        far, _ = server.accept()
    done = threading.Thread(target=_drain, args=(far,))
    done.start()
    block = bytes(MIB)

    def act() -> None:
        for _ in range(size // MIB):
            near.sendall(block)
        near.close()
        done.join()

    spent = seconds(act)
    far.close()
    return size / spent


def _drain(end: socket.socket) -> None:
    while end.recv(MIB):
        pass


def ratios(size: int) -> dict[str, float]:
    """How many times the left kind costs of the right kind; medians of three."""

    def times(make: Callable[[], tuple[float, float]]) -> float:
        return median(left / right for left, right in (make() for _ in range(3)))

    ahead, anywhere = places(size, in_order=True), places(size, in_order=False)
    with scratch(size) as file:
        return {
            "writes: random / in order": times(
                lambda: (written(file, anywhere), written(file, ahead))
            ),
            "fsync each block / each 64": times(
                lambda: (written(file, ahead[:64], 1), written(file, ahead[:64], 64))
            ),
            "cold reads: random / in order": times(
                lambda: (read(file, anywhere, cold=True), read(file, ahead, cold=True))
            ),
            "cold / from page cache": times(
                lambda: (read(file, ahead, cold=True), read(file, ahead, cold=False))
            ),
            "read and send / sendfile": times(
                lambda: (sent(file, size, copied=True), sent(file, size, copied=False))
            ),
        }


def memory_kb(*names: str) -> int:
    """The sum of the kernel's counts of these names in /proc/meminfo, in kB."""
    lines = (line.split() for line in Path("/proc/meminfo").read_text().splitlines())
    return sum(int(line[1]) for line in lines if line[0].rstrip(":") in names)


def dirty_kb() -> int:
    """What the page cache holds and the disk does not have yet."""
    return memory_kb("Dirty", "Writeback")


def kernel_rules() -> str:
    """By which age and which shares of the memory the kernel writes dirty pages."""
    found = {name: Path("/proc/sys/vm", name).read_text().strip() for name in KERNEL_RULES}
    return ", ".join(f"vm.{name}={value}" for name, value in found.items())


def pages(size: int) -> str:
    """A file is written, flushed and read: a table of the pages, in MB, step by step."""
    steps: dict[str, Callable[[int], object]] = {
        "before": lambda file: None,
        f"{size / 1e6:.1f} MB written": lambda file: os.pwrite(file, bytes(size), 0),
        "a second later": lambda file: time.sleep(1),
        "after fsync": os.fsync,
        "read": lambda file: read(file, places(size, in_order=True), cold=False),
        "read again, cold": lambda file: read(file, places(size, in_order=True), cold=True),
    }
    found = [f"{'':<20}{'dirty':>8}{'page cache':>14}{'read from the disk':>22}"]
    with scratch(MIB) as file:
        for step, act in steps.items():
            before = _read_from_the_disk()
            act(file)
            dirty, cache = dirty_kb() / 1e3, memory_kb("Cached") / 1e3
            came = (_read_from_the_disk() - before) / 1e6
            found.append(f"{step:<20}{dirty:8.1f}{cache:14,.1f}{came:22.1f}")
    return "\n".join(found)


def _read_from_the_disk() -> int:
    """Bytes that this process has read and the page cache did not have."""
    lines = (line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return int(dict(lines)["read_bytes"])


def system_calls(cluster: Cluster | None, topic: str) -> str:
    """How a Kafka broker sends a log to a consumer and when it flushes one, counted by strace."""
    provider = cluster.provider if isinstance(cluster, KafkaCluster) else None
    if not isinstance(provider, LocalProvider) or cluster is None:
        return "This needs a Kafka of plain processes on this machine (KAFKALAB_REAL=local)."
    if shutil.which("strace") is None:
        return "This needs strace (sudo apt install strace)."
    leader = cluster.leader(topic)
    sent = _sending(cluster, leader, provider.pid(leader), topic)
    return f"{sent}\n{_flushing(cluster, provider.pid(BROKER))}"


def flushes_of(calls: str, topics: Iterable[str]) -> dict[str, int]:
    """How many flushes of each topic's .log files strace shows."""
    found = Counter(topic for name, topic, _ in _log_calls(calls) if name in FLUSHES)
    return {topic: found[topic] for topic in topics}


def most_unflushed(calls: str, topics: Iterable[str]) -> dict[str, int]:
    """The most batches in each topic's .log files that no flush had covered yet.

    A loss of power at that moment takes them from this machine.
    """
    waiting = {topic: Counter[str]() for topic in topics}
    most = dict.fromkeys(waiting, 0)
    for name, topic, path in _log_calls(calls):
        if topic in waiting:
            files = waiting[topic]
            files[path] = 0 if name in FLUSHES else files[path] + 1
            most[topic] = max(most[topic], files.total())
    return most


def _log_calls(calls: str) -> Iterator[tuple[str, str, str]]:
    """The name, the topic and the file of each call about a .log of partition 0, in order."""
    for found in map(_CALL.search, calls.splitlines()):
        if found and found[2].endswith(".log"):
            yield found[1], Path(found[2]).parent.name.removesuffix("-0"), found[2]


def _sending(cluster: Cluster, broker: int, pid: int, topic: str) -> str:
    got: list[object] = []
    counted, said = _traced(
        pid,
        ("-c", "-U", "calls,name", "-e", "trace=sendfile,pread64"),
        lambda: got.extend(writing.messages(cluster, topic)),
    )
    if not counted:
        return f"strace counted no call while {len(got)} records were read. It said: {said}"
    return f"Broker {broker} sends {len(got)} records to a consumer.\n{counted}"


def _flushing(cluster: Cluster, pid: int, count: int = 25) -> str:
    logs = {f"flushed-{number}": name for number, name in enumerate(FLUSHING)}
    for topic, name in logs.items():
        cluster.create_topic(topic, assignment={0: [BROKER]}, config=FLUSHING[name])
        writing.one_by_one(cluster, topic, ["a first record"])

    def write() -> None:
        for topic in logs:
            writing.one_by_one(cluster, topic, [b"x" * 100_000] * count)
        time.sleep(SOON_S)

    calls, said = _traced(pid, ("-y", "-e", f"trace={','.join((*WRITES, *FLUSHES))}"), write)
    if "attached" not in said:
        return said
    flushed, most = flushes_of(calls, logs), most_unflushed(calls, logs)
    lines = [
        f"  {name:<22}{flushed[topic]:3}{most[topic]:6} unflushed at most"
        for topic, name in logs.items()
    ]
    return "\n".join([f"Flushes of the .log files while each gets {count} records:", *lines])


def _traced(pid: int, options: Sequence[str], act: Callable[[], object]) -> tuple[str, str]:
    """What strace reports while `act` runs, and the first line that it says about itself."""
    with tempfile.NamedTemporaryFile("r", prefix="kafkalab-strace-") as report:
        tracer = subprocess.Popen(
            ["strace", "-f", *options, "-o", report.name, "-p", str(pid)],
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            assert tracer.stderr is not None
            said = tracer.stderr.readline()  # that it is attached, or why it is not
            if "attached" in said:
                act()
        finally:
            tracer.terminate()
            tracer.wait(20)
        return report.read().strip(), said.strip()
