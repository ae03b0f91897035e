"""What this machine's disk, page cache and kernel do: ratios, measured in this process.

The numbers belong to the machine.  A file system in memory, a virtual disk or a drive with a cache
of its own gives other ratios, and that is the point of measuring.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
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
TRIES = 4
"""strace may be attached to a process of many threads, and still count nothing at first."""


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


def dirty_kb() -> int:
    """What the page cache holds and the disk does not have yet, in kB, by the kernel's count."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith(("Dirty:", "Writeback:")))


def system_calls(cluster: Cluster | None, topic: str) -> str:
    """How a Kafka broker sends a log's bytes to a consumer, counted by strace; else a sentence."""
    provider = cluster.provider if isinstance(cluster, KafkaCluster) else None
    if not isinstance(provider, LocalProvider) or cluster is None:
        return "This needs a Kafka of plain processes on this machine (KAFKALAB_REAL=local)."
    if shutil.which("strace") is None:
        return "This needs strace (sudo apt install strace)."
    pid, counted = provider.pid(cluster.leader(topic)), ""
    for _ in range(TRIES):
        counted, said = _counted(pid, lambda: writing.messages(cluster, topic))
        if counted or "attached" not in said:
            break
    return counted or said


def _counted(pid: int, act: Callable[[], object]) -> tuple[str, str]:
    """What strace counts while `act` runs, and the first line that it says about itself."""
    with tempfile.NamedTemporaryFile("r", prefix="kafkalab-strace-") as report:
        watched = (
            "-f",
            "-c",
            "-U",
            "calls,name",
            "-e",
            "trace=sendfile,pread64",
            "-o",
            report.name,
        )
        tracer = subprocess.Popen(
            ["strace", *watched, "-p", str(pid)], stderr=subprocess.PIPE, text=True
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
