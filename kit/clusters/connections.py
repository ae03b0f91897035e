"""Plain synchronous connections to brokers: one request, one answer.

Client libraries hide what a lesson needs to see: which broker answered, what a follower
holds, which error came back.  So the kit speaks the protocol itself, through the same
codec as the engine.  If a broker does not answer in time, the caller skips it: the lesson
may have paused it on purpose.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Iterable
from typing import Any

from engine.wire import framing
from engine.wire import messages as m
from engine.wire.codec import MalformedMessage, UnsupportedField
from kit.clusters.interface import ClusterError

CLIENT_ID = "kafka-inside-out"
CONNECT_TIMEOUT_S = 1.0
_SIZE = struct.Struct(">i")

Address = tuple[str, int]


class Unreachable(ClusterError):
    """No answer: the node is down, paused or cut off."""


class NotSpoken(ClusterError):
    """The broker is of a version that has no such request, or not that field of it."""


class Connection:
    """One connection to one broker; ApiVersions settles the versions."""

    def __init__(self, address: Address, timeout_s: float, client_id: str = CLIENT_ID) -> None:
        self._socket = socket.create_connection(address, CONNECT_TIMEOUT_S)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket.settimeout(timeout_s)
        self._client_id = client_id
        self._correlation_id = 0
        self.finalized_features: dict[str, int] = {}
        self._versions: dict[int, tuple[int, int]] = {}
        offered = self.ask(m.ApiVersionsRequest("kafka-inside-out", "1"), 3)
        self._versions = {a.api_key: (a.min_version, a.max_version) for a in offered.api_keys}
        self.finalized_features = {f.name: f.max_version_level for f in offered.finalized_features}

    def version_for(self, request: Any, highest: int | None) -> int:
        """The highest version that both sides know (and the caller wants)."""
        ours = type(request).VERSIONS
        low, high = self._versions.get(request.API_KEY, (0, -1))
        version = min(ours.high, high, ours.high if highest is None else highest)
        if version < max(ours.low, low):
            raise NotSpoken(f"This broker does not offer {type(request).__name__}.")
        return version

    def ask(self, request: Any, version: int | None = None, highest: int | None = None) -> Any:
        """Sends a request and returns the answer's body."""
        if version is None:
            version = self.version_for(request, highest)
        self._correlation_id += 1
        try:
            frame = framing.write_request(version, self._correlation_id, self._client_id, request)
        except UnsupportedField as field:
            raise NotSpoken(f"This broker does not offer {field}.") from None
        self._socket.sendall(frame)
        (size,) = _SIZE.unpack(self._receive(4))
        correlation_id, body = framing.read_response(request.API_KEY, version, self._receive(size))
        if correlation_id != self._correlation_id:
            raise MalformedMessage("an answer to another question")
        return body

    def _receive(self, size: int) -> bytes:
        received = bytearray()
        while len(received) < size:
            chunk = self._socket.recv(min(size - len(received), 1 << 20))
            if not chunk:
                raise ConnectionResetError("the broker closed the connection")
            received += chunk
        return bytes(received)

    def close(self) -> None:
        self._socket.close()


NO_BROKER = "No broker answers: start one, or wait until one is back."


class Connections:
    """Connections by node, made when first asked and dropped when they fail."""

    def __init__(self, timeout_s: float = 3.0) -> None:
        self._timeout_s = timeout_s
        self._open: dict[Address, Connection] = {}
        self._turn = threading.RLock()

    def ask(self, address: Address, request: Any, highest: int | None = None) -> Any:
        """The answer of the broker at `address`; Unreachable when there is none."""
        with self._turn:
            kept = address in self._open
            try:
                return self._ask(address, request, highest)
            except ConnectionError as error:
                # A kept connection may be from before a restart: try again on a new one.
                if not kept or isinstance(error, ConnectionRefusedError):
                    raise Unreachable(_silent(address)) from None
            except (OSError, MalformedMessage):
                raise Unreachable(_silent(address)) from None
            try:
                return self._ask(address, request, highest)
            except (OSError, MalformedMessage):
                raise Unreachable(_silent(address)) from None

    def _ask(self, address: Address, request: Any, highest: int | None) -> Any:
        try:
            return self.connection(address).ask(request, highest=highest)
        except NotSpoken:
            raise  # nothing was sent
        except BaseException:  # an interrupt, too, leaves an answer in flight
            self._drop(address)
            raise

    def ask_first(self, addresses: Iterable[Address], request: Any) -> Any:
        """The answer of the first broker that gives one."""
        for address in addresses:
            with contextlib.suppress(Unreachable):
                return self.ask(address, request)
        raise Unreachable(NO_BROKER)

    def connection(self, address: Address) -> Connection:
        """The open connection to a broker, made if need be."""
        if address not in self._open:
            self._open[address] = Connection(address, self._timeout_s)
        return self._open[address]

    def close(self) -> None:
        for address in list(self._open):
            self._drop(address)

    def _drop(self, address: Address) -> None:
        connection = self._open.pop(address, None)
        if connection is not None:
            connection.close()


def _silent(address: Address) -> str:
    return f"The broker at {address[0]}:{address[1]} does not answer."
