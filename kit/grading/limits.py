"""Limits for everything that one submission starts, and the watch that keeps them.

Who keeps which limit:

* Bytes in files, deleted ones that are still open too, in the work folder, /tmp and /dev/shm:
  the size of the one file system (tmpfs) that holds them all, and the watch.
* Files and folders: the watch, by that file system's count.
* Processes and threads: the kernel, in the sandbox's user namespace (RLIMIT_NPROC).
* Memory of one process: the kernel (RLIMIT_DATA).
* Memory of all processes, of files, and of data waiting in Unix sockets, together: the watch,
  ten times a second.
* Memory outside processes and files (memfd, System V): the kernel refuses these calls.
* Open files and sockets: the kernel for each process (RLIMIT_NOFILE), the watch for all.
* Time: the watch.

If the machine runs short of memory between two looks of the watch, the kernel ends a process
of the submission before any other (oom_score_adj).  Buffers of TCP, UDP and pipes are not
counted here; the kernel has limits of its own for them (tcp_mem, udp_mem, pipe-user-pages-soft).
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from kit.grading.socket_memory import unix_socket_bytes

POLL_S = 0.1
WITHOUT_KERNEL_S, IDLE_CPU_S = 3.0, 0.05
"""So long nbval may idle without a kernel: then it waits for one that is gone.  At its normal
end it has work to do, however slow the machine is."""
KERNEL = "ipykernel_launcher"
RAN_LONGER = "It ran longer than"
ENDED_KERNEL = "It ended its own kernel."
MARKER_ENDED = "The process that marks it has ended."
"""No report has this: it ends a run without a sandbox, which would outlive a killed marker."""


@dataclass(frozen=True, slots=True)
class Limits:
    """For everything that one run of a submission starts, together."""

    time_s: float = 300
    cell_s: int = 120
    """For one cell, which has at most half of the run's time."""
    memory_bytes: int = 3_000_000_000
    processes: int = 100
    tasks: int = 1000
    """Processes and threads; the JVMs of the labs have some hundreds."""
    file_bytes: int = 64_000_000
    written_bytes: int = 512_000_000
    entries: int = 50_000
    """Files and folders."""
    open_files: int = 10_000

    @property
    def file_system_bytes(self) -> int:
        """A little more than may be written: so the watch can tell, and name, a full one."""
        return self.written_bytes + self.written_bytes // 8


@dataclass(frozen=True, slots=True)
class Usage:
    """What the processes below a run use now.  `kernel`: one of them is a notebook's kernel."""

    processes: int
    cpu_s: float
    memory_bytes: int
    open_files: int
    kernel: bool


def run(command: list[str], env: dict[str, str], room: Path, limits: Limits) -> str:
    """Runs a fenced command to its end; returns the limit that ended it, or an empty text.

    `room` has the folders `work`, `tmp` and `shm`; the command's output goes to its file `log`,
    up to the limit of a file.
    """

    def limit_each_process() -> None:
        data = max(limits.memory_bytes, 1)
        for what, most in (
            (resource.RLIMIT_CORE, 0),
            (resource.RLIMIT_FSIZE, limits.file_bytes),
            (resource.RLIMIT_DATA, data),
            (resource.RLIMIT_CPU, int(2 * limits.time_s) + 1),
            (resource.RLIMIT_NOFILE, min(4096, resource.getrlimit(resource.RLIMIT_NOFILE)[1])),
        ):
            resource.setrlimit(what, (most, most))
        with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as score:
            score.write("1000")

    with (room / "log").open("wb") as output:
        process = subprocess.Popen(
            command,
            env=env,
            cwd=room / "work",
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=limit_each_process,
        )
    try:
        return _watch(process, room, limits)
    finally:
        _end(process)


def _watch(process: subprocess.Popen, room: Path, limits: Limits) -> str:
    deadline = time.monotonic() + limits.time_s
    asker = os.getppid()
    others = unix_socket_bytes()
    kernel_seen, idle_since, idle_cpu_s = False, 0.0, 0.0
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=POLL_S)
            return ""
        now = time.monotonic()
        if os.getppid() != asker:
            return MARKER_ENDED
        if now > deadline:
            return f"{RAN_LONGER} {limits.time_s:.0f} s."
        used, (written, entries) = usage(process.pid), stored(room)
        apart = written + unix_socket_bytes() - others
        if used.memory_bytes + apart > limits.memory_bytes:
            used = usage(process.pid, shared_once=True)
        if used.processes > limits.processes:
            return f"It started more than {limits.processes} processes."
        if used.memory_bytes + apart > limits.memory_bytes:
            return f"It used more than {limits.memory_bytes // 1_000_000} MB of memory."
        if written > limits.written_bytes:
            return f"It wrote more than {limits.written_bytes // 1_000_000} MB."
        if entries > limits.entries:
            return f"It made more than {limits.entries:,} files and folders."
        if used.open_files > limits.open_files:
            return f"It held more than {limits.open_files:,} files and sockets open."
        kernel_seen = kernel_seen or used.kernel
        if used.kernel or not idle_cpu_s <= used.cpu_s < idle_cpu_s + IDLE_CPU_S:
            idle_since, idle_cpu_s = now, used.cpu_s
        if kernel_seen and now > idle_since + WITHOUT_KERNEL_S:
            return ENDED_KERNEL


def usage(pid: int, *, shared_once: bool = False) -> Usage:
    """What the processes below `pid` use.

    A page that several processes share, as after a fork, counts for each of them; with
    `shared_once`, which takes longer, in equal parts.
    """
    import psutil

    count = memory = files = 0
    cpu_s, kernel = 0.0, False
    with contextlib.suppress(psutil.Error):
        for child in psutil.Process(pid).children(recursive=True):
            with contextlib.suppress(psutil.Error):
                count += 1
                memory += child.memory_full_info().pss if shared_once else child.memory_info().rss
                kernel = kernel or any(KERNEL in word for word in child.cmdline()[:8])
                cpu_s += sum(child.cpu_times()[:2])
                files += child.num_fds()
    return Usage(count, cpu_s, memory, files, kernel)


def stored(room: Path) -> tuple[int, int]:
    """Bytes and entries in the room.

    A file system of its own knows them, those of deleted files that are still open too.
    """
    if os.path.ismount(room):
        state = os.statvfs(room)
        used = (state.f_blocks - state.f_bfree) * state.f_frsize
        return used, state.f_files - state.f_ffree
    size = entries = 0
    for part in ("work", "tmp", "shm"):
        for folder, folders, files in os.walk(room / part):
            entries += len(folders) + len(files)
            for name in files:
                with contextlib.suppress(OSError):
                    size += os.lstat(os.path.join(folder, name)).st_size
    return size, entries


def _end(process: subprocess.Popen) -> None:
    """Ends the whole tree: without a sandbox, children may have left the process group."""
    import psutil

    children = []
    with contextlib.suppress(psutil.Error):
        children = psutil.Process(process.pid).children(recursive=True)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    for child in children:
        with contextlib.suppress(psutil.Error):
            child.kill()
    process.wait()
