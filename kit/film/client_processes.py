"""Clients of a running cluster as processes of their own, which talk with their panel.

A process of its own is what makes freezing and killing true: a thread cannot be stopped, and a
closed client says goodbye.  A reaper ends all of them when the kernel ends, however it ends.  Each
process connects to a port on loopback, where it writes lines of JSON, and may read some.
"""

from __future__ import annotations

import contextlib
import json
import secrets
import socket
import sys
import threading
from collections.abc import Callable, Mapping
from typing import Any

from kit.clusters import registry
from kit.clusters.reaper import Child, Reaper
from kit.course import PROJECT

HOST = "127.0.0.1"
GRACE_S = 2.0


class ClientProcesses:
    """Runs `module` once for each client; `hear` gets each line that one of them writes.

    Nothing is started before the first client.  Every method can be called from any thread.
    """

    def __init__(self, module: str, label: str, hear: Callable[[Mapping[str, Any]], None]) -> None:
        self._module, self._kind, self._hear = module, label, hear
        self.children: dict[str, Child] = {}
        self._turn = threading.Lock()
        self._reaper: Reaper | None = None
        self._listener: socket.socket | None = None
        self._connections: dict[str, socket.socket] = {}
        self._waiting: dict[str, list[bytes]] = {}

    def spawn(self, name: str, order: Mapping[str, Any]) -> None:
        """Starts a client; it gets `order` as its argument, with its name and the port."""
        with self._turn:
            reaper, port = self._start()
            told = json.dumps({**order, "name": name, "port": port})
            self.children[name] = reaper.spawn(
                [sys.executable, "-m", self._module, told],
                name=name,
                label=self._label,
                log_path=str(self._directory / f"{name}.log"),
                cwd=str(PROJECT),
                env={"PYTHONPATH": str(PROJECT)},
                grace_s=GRACE_S,
            )

    def tell(self, name: str, words: Mapping[str, Any]) -> None:
        """Writes a line to a client, or keeps it until it has connected."""
        line = json.dumps(words).encode() + b"\n"
        with self._turn:
            connection = self._connections.get(name)
            if connection is None:
                self._waiting.setdefault(name, []).append(line)
            else:
                with contextlib.suppress(OSError):
                    connection.sendall(line)

    def close(self) -> None:
        """Ends every client."""
        with self._turn:
            reaper, self._reaper = self._reaper, None
            listener, self._listener = self._listener, None
        if listener is not None:
            listener.close()
        if reaper is not None:
            reaper.end()

    def _start(self) -> tuple[Reaper, int]:
        if self._reaper is None or self._listener is None:
            self._label = f"{self._kind}-{secrets.token_hex(4)}"
            self._directory = registry.labelled_directory(self._label)
            self._reaper = Reaper.start()
            self._reaper.own(str(self._directory))
            self._listener = socket.create_server((HOST, 0))
            threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()
        return self._reaper, self._listener.getsockname()[1]

    def _accept(self, listener: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                threading.Thread(target=self._listen, args=(connection,), daemon=True).start()

    def _listen(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as lines, contextlib.suppress(OSError):
            for line in lines:
                said = json.loads(line)
                self._connected(str(said["name"]), connection)
                self._hear(said)

    def _connected(self, name: str, connection: socket.socket) -> None:
        with self._turn:
            if self._connections.get(name) is connection:
                return
            self._connections[name] = connection
            for line in self._waiting.pop(name, []):
                connection.sendall(line)
