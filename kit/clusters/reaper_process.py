"""The reaper process: holds the children of one kernel and ends them when it goes.

Started by `reaper.Reaper`, which explains why.  It loops over its connections, its
children's state changes and its parent, and imports the standard library only, so that it
starts in a few milliseconds.  `--pipe FD PARENT` serves one socket and ends with it;
`--listen FD` serves every process that connects, until it is asked to end.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import time
from typing import Any

_PARENT_CHECK_S = 1.0


class Served:
    """One child, as the reaper process sees it."""

    def __init__(self, process: subprocess.Popen[bytes], grace_s: float) -> None:
        self.process = process
        self.grace_s = grace_s
        self.state = "running"

    def observe(self, status: int) -> None:
        """Updates the state from what waitpid reports."""
        if os.WIFSTOPPED(status):
            self.state = "paused"
        elif os.WIFCONTINUED(status):
            self.state = "running"
        else:
            self.process.returncode = os.waitstatus_to_exitcode(status)
            self.state = "killed" if self.process.returncode == -signal.SIGKILL else "stopped"

    @property
    def alive(self) -> bool:
        return self.process.returncode is None


class Program:
    """The reaper process: a loop over its connections, its children and its parent."""

    def __init__(self) -> None:
        self.children: dict[str, Served] = {}
        self.owned: list[str] = []
        self.selector = selectors.DefaultSelector()
        self.listener: socket.socket | None = None
        self.ended = False

    def watch_children(self) -> None:
        wakeup, alarm = socket.socketpair()
        wakeup.setblocking(False)
        alarm.setblocking(False)
        self.alarm = alarm  # kept, or it would be closed
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(alarm.fileno(), warn_on_full_buffer=False)
        self.selector.register(wakeup, selectors.EVENT_READ, self.drain)

    def drain(self, wakeup: socket.socket) -> None:
        with contextlib.suppress(BlockingIOError):
            wakeup.recv(4096)
        self.collect()

    def collect(self) -> None:
        by_pid = {c.process.pid: c for c in self.children.values() if c.alive}
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG | os.WUNTRACED | os.WCONTINUED)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid in by_pid:
                by_pid[pid].observe(status)

    def serve(self, connection: socket.socket, *, until_closed: bool) -> None:
        pending = bytearray()

        def on_readable(_: socket.socket) -> None:
            received = b""
            try:
                received = connection.recv(65536)
                pending.extend(received)
                while b"\n" in pending:
                    end = pending.index(b"\n") + 1
                    request = json.loads(pending[:end])
                    del pending[:end]
                    answer = {**self.answer(request), "id": request["id"]}
                    connection.sendall(json.dumps(answer).encode() + b"\n")
            except OSError:
                received = b""
            if not received:
                self.selector.unregister(connection)
                connection.close()
                self.ended = self.ended or until_closed

        self.selector.register(connection, selectors.EVENT_READ, on_readable)

    def listen(self, listener: socket.socket) -> None:
        self.listener = listener
        self.selector.register(listener, selectors.EVENT_READ, self.accept)

    def accept(self, listener: socket.socket) -> None:
        self.serve(listener.accept()[0], until_closed=False)

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        self.collect()
        try:
            if request["ask"] == "spawn":
                return {"pid": self.spawn(request)}
            if request["ask"] == "signal":
                child = self.children[request["name"]]
                if child.alive:
                    os.kill(child.process.pid, request["number"])
            elif request["ask"] == "own":
                self.owned.append(request["path"])
            elif request["ask"] == "end":
                self.end()
        except (OSError, KeyError) as error:
            return {"error": str(error)}
        return {
            "children": {
                name: {"pid": c.process.pid, "state": c.state, "returncode": c.process.returncode}
                for name, c in self.children.items()
            }
        }

    def spawn(self, request: dict[str, Any]) -> int:
        present = self.children.get(request["name"])
        if present is not None and present.alive:
            raise OSError(f"{request['name']} is running already")
        with open(request["log_path"], "ab") as log:
            process = subprocess.Popen(
                request["argv"],
                env=request["env"],
                cwd=request["cwd"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.children[request["name"]] = Served(process, request["grace_s"])
        return process.pid

    def end(self) -> None:
        """Ends the children (a paused one cannot act on SIGTERM, so it is woken first)."""
        self.ended = True
        if self.listener is not None and self.listener.fileno() >= 0:
            self.selector.unregister(self.listener)
            self.listener.close()
        started = time.monotonic()
        for child in self.children.values():
            if child.grace_s > 0:
                self.signal_group(child, signal.SIGTERM)
                self.signal_group(child, signal.SIGCONT)
        while living := [c for c in self.children.values() if c.alive]:
            for child in living:
                if time.monotonic() - started >= child.grace_s:
                    self.signal_group(child, signal.SIGKILL)
            time.sleep(0.01)
            self.collect()
        for path in self.owned:
            if os.path.isdir(path):
                shutil.rmtree(path, ignore_errors=True)
            else:
                with contextlib.suppress(OSError):
                    os.unlink(path)

    @staticmethod
    def signal_group(child: Served, number: int) -> None:
        if child.alive:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(child.process.pid, number)

    def run(self, parent: int | None) -> None:
        self.watch_children()
        while not self.ended:
            for key, _ in self.selector.select(_PARENT_CHECK_S):
                key.data(key.fileobj)
            # A fork of the kernel may hold the socket open; a new parent shows its death.
            if parent is not None and os.getppid() != parent:
                break
        self.end()


def main(arguments: list[str]) -> None:
    """Entry point of the reaper process: `--pipe FD PARENT` or `--listen FD`."""
    program = Program()
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, lambda *_: None)  # children would inherit SIG_IGN
    signal.signal(signal.SIGTERM, lambda *_: setattr(program, "ended", True))
    mode, descriptor = arguments[0], int(arguments[1])
    parent = None
    if mode == "--pipe":
        parent = int(arguments[2])
        program.serve(socket.socket(fileno=descriptor), until_closed=True)
    else:
        program.listen(socket.socket(fileno=descriptor))
    program.run(parent)


if __name__ == "__main__":
    main(sys.argv[1:])
