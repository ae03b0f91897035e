"""Child processes that outlive neither their kernel nor an interrupt meant for it.

Jupyter interrupts a cell by sending SIGINT to the kernel's whole process group: a JVM in
that group stops too.  Put into a session of its own, it would outlive a kernel that was
killed.  So a small process runs between them:

    kernel ══ socket ══ reaper ─┬─ java (session of its own)
                                └─ java (session of its own)

The reaper starts the children and waits for one thing: the end of its socket to the
kernel, which the operating system closes however the kernel dies.  Then it ends every
child and removes the directories that it was given to own.  A *shared* reaper listens on
a Unix socket instead, serves every process that connects, and ends on request.

Requests and answers are lines of JSON.  A child's state is what the operating system
reports (stopped and continued included), no matter which process sent the signal.  Every
child carries its label in the environment variable `KAFKA_INSIDE_OUT`, so that it can be
found even if the reaper itself was killed.

This is the kernel's end; `reaper_process.py` is the other.  Unix only.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

LABEL_VARIABLE = "KAFKA_INSIDE_OUT"
_PROGRAM = Path(__file__).with_name("reaper_process.py")


class ReaperGone(RuntimeError):
    """The reaper process has ended, and its children with it."""


class Child:
    """A process under a reaper; `name` is unique among the reaper's living children."""

    def __init__(self, reaper: Reaper, name: str, pid: int) -> None:
        self.name = name
        self.pid = pid
        self._reaper = reaper

    def signal(self, number: int) -> None:
        """Sends a signal; a child that has ended already is left alone."""
        self._reaper.signal(self.name, number)

    def state(self) -> str:
        """`running`, `paused`, or how it ended: `killed` (by SIGKILL) or `stopped`."""
        return str(self._reaper.children()[self.name]["state"])

    def wait(self, timeout_s: float) -> int:
        """The exit code (negative: the signal that ended it); TimeoutError if it still runs."""
        deadline = time.monotonic() + timeout_s
        while (code := self._reaper.children()[self.name]["returncode"]) is None:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{self.name} (pid {self.pid}) is still running")
            time.sleep(0.01)
        return int(code)


class Reaper:
    """The kernel's end: asks a reaper process to spawn, signal and tell about children."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._lines = connection.makefile("rwb")
        self._owner = os.getpid()
        self._turn = threading.Lock()
        self._asked = 0

    @classmethod
    def start(cls) -> Reaper:
        """A reaper that ends when this process does."""
        ours, theirs = socket.socketpair()
        with theirs:
            _launch(["--pipe", str(theirs.fileno()), str(os.getpid())], theirs.fileno())
        return cls(ours)

    @classmethod
    def start_shared(cls, socket_path: str) -> Reaper:
        """A reaper that stays until `end`, reachable by `connect(socket_path)`."""
        listener = socket.socket(socket.AF_UNIX)
        with listener:
            listener.bind(socket_path)
            listener.listen()
            _launch(["--listen", str(listener.fileno())], listener.fileno())
        return cls.connect(socket_path)

    @classmethod
    def connect(cls, socket_path: str) -> Reaper:
        """Reaches a shared reaper; ReaperGone when none listens there."""
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.connect(socket_path)
        except OSError:
            connection.close()
            raise ReaperGone(f"no reaper at {socket_path}") from None
        return cls(connection)

    def spawn(
        self,
        argv: list[str],
        *,
        name: str,
        label: str,
        log_path: str,
        env: dict[str, str] | None = None,
        cwd: str = "/",
        grace_s: float = 2.0,
    ) -> Child:
        """Starts a process; its output is appended to `log_path`.

        `env` adds to this process's environment.  At the end the child gets SIGTERM and
        `grace_s` later SIGKILL; with 0, SIGKILL at once.
        """
        environment = {**os.environ, **(env or {}), LABEL_VARIABLE: label}
        answer = self._ask(
            ask="spawn",
            name=name,
            argv=argv,
            env=environment,
            cwd=cwd,
            log_path=log_path,
            grace_s=grace_s,
        )
        return Child(self, name, answer["pid"])

    def own(self, path: str) -> None:
        """Hands over a file or directory, to be removed at the end."""
        self._ask(ask="own", path=path)

    def children(self) -> dict[str, dict[str, Any]]:
        """Per name: pid, state, returncode (None while it lives)."""
        answer: dict[str, dict[str, Any]] = self._ask(ask="children")["children"]
        return answer

    def signal(self, name: str, number: int) -> None:
        """Sends a signal to a child by name, if it is alive."""
        self._ask(ask="signal", name=name, number=int(number))

    def end(self) -> None:
        """Ends all children and the reaper, and returns when they are gone."""
        if self._owner != os.getpid():
            return  # a fork of the kernel must not end the kernel's cluster
        with contextlib.suppress(ReaperGone):
            self._ask(ask="end")
        self.disconnect()

    def disconnect(self) -> None:
        """Closes the connection: a private reaper ends by that, a shared one stays."""
        with contextlib.suppress(OSError):
            self._lines.close()
        self._connection.close()

    def _ask(self, **request: Any) -> dict[str, Any]:
        with self._turn:
            self._asked += 1
            answer: dict[str, Any] = {}
            try:
                self._lines.write(json.dumps({**request, "id": self._asked}).encode() + b"\n")
                self._lines.flush()
                # An interrupted cell may have left an answer behind: skip it.
                while answer.get("id") != self._asked:
                    answer = json.loads(self._lines.readline())
            except (OSError, ValueError):
                raise ReaperGone("the process that watches the cluster has ended") from None
        if "error" in answer:
            raise OSError(answer["error"])
        return answer


def _launch(arguments: list[str], descriptor: int) -> None:
    # -S and -I: no site-packages, no environment, so it starts in a few milliseconds.
    program = subprocess.Popen(
        [sys.executable, "-S", "-I", str(_PROGRAM), *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
        pass_fds=[descriptor],
        start_new_session=True,
    )
    program.returncode = 0  # it is never waited for: that silences Popen's warning
