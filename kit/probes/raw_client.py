"""A client of one broker that hides nothing: it sends frames and shows the answers.

    client = RawClient(cluster, 101, "greedy")
    first = client.send(producing("orders", 1_000))     # no waiting
    second = client.send(fetching("orders"))            # pipelined behind it
    client.receive()                                    # (first, its answer)

Client libraries batch, retry, and obey throttle times.  This client does only what its
caller says, so that a lesson can break the rules.  kit/probes/requests.py makes the requests; here
they name topics by name: Produce and Fetch in version 12.
"""

from __future__ import annotations

import contextlib
import socket
from typing import Any, Self

from engine.wire import framing
from engine.wire import messages as m
from kit.clusters.interface import Cluster

NAMED = 12
"""The last version of Produce and Fetch that names topics."""
PATIENCE_S = 20.0
_LENGTH = 4


class RawClient:
    """One TCP connection to one broker, with a client id."""

    def __init__(self, cluster: Cluster, broker: int, client_id: str) -> None:
        self._connect(addresses(cluster)[broker], client_id)

    @classmethod
    def at(cls, address: tuple[str, int], client_id: str) -> RawClient:
        """A connection to an address that is known already."""
        client = cls.__new__(cls)
        client._connect(address, client_id)
        return client

    def _connect(self, address: tuple[str, int], client_id: str) -> None:
        self.client_id = client_id
        self.socket = socket.create_connection(address, PATIENCE_S)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.sent: dict[int, tuple[Any, int]] = {}
        self.last = 0
        self.bytes_out = self.bytes_in = 0
        """Of the last frame each way."""

    def send(self, body: Any, version: int = NAMED) -> int:
        """Writes a request and does not wait; returns its correlation id."""
        self.last += 1
        self.sent[self.last] = (body, version)
        frame = framing.write_request(version, self.last, self.client_id, body)
        self.bytes_out = len(frame)
        self.socket.sendall(frame)
        return self.last

    def shrink(self) -> None:
        """Shrinks the receive buffer, so that this client behaves like a slow machine."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16_384)

    def send_bytes(self, frame: bytes) -> None:
        """Writes these bytes unchanged."""
        self.socket.sendall(frame)

    def receive(self, patience_s: float = PATIENCE_S) -> tuple[int, Any] | None:
        """The next answer with its correlation id; None if none comes in time.

        A closed connection raises ConnectionError.
        """
        self.socket.settimeout(patience_s)
        try:
            head = self._exactly(_LENGTH)
        except TimeoutError:
            return None
        self.socket.settimeout(PATIENCE_S)
        frame = self._rest(head)
        number = int.from_bytes(frame[:_LENGTH], "big")
        body, version = self.sent.pop(number)
        return number, framing.read_response(type(body).API_KEY, version, frame)[1]

    def receive_bytes(self) -> bytes:
        """The next answer as it came, for requests that were sent as bytes."""
        return self._rest(self._exactly(_LENGTH))

    def _rest(self, head: bytes) -> bytes:
        frame = self._exactly(int.from_bytes(head, "big"))
        self.bytes_in = len(frame) + _LENGTH
        return frame

    def ask(self, body: Any, version: int = NAMED) -> Any:
        """One request and its answer."""
        number = self.send(body, version)
        heard = self.receive()
        if heard is None or heard[0] != number:
            raise TimeoutError(f"broker does not answer {type(body).__name__}")
        return heard[1]

    def answers(self, patience_s: float = PATIENCE_S) -> bool:
        """Whether the broker talks to this connection."""
        try:
            if not self.sent:
                self.send(m.ApiVersionsRequest("lesson", "1"), 3)
            return self.receive(patience_s) is not None
        except OSError:
            return False

    def is_closed(self, patience_s: float = PATIENCE_S) -> bool:
        """Whether the broker ends the connection within some time."""
        try:
            self.receive(patience_s)
        except OSError:
            return True
        return False

    def _exactly(self, size: int) -> bytes:
        received = bytearray()
        while len(received) < size:
            piece = self.socket.recv(size - len(received))
            if not piece:
                raise ConnectionResetError("the broker closed the connection")
            received += piece
        return bytes(received)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self.socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def addresses(cluster: Cluster) -> dict[int, tuple[str, int]]:
    """Where each broker's clients reach it."""
    brokers = cluster.snapshot()["brokers"]
    return {number: (each["host"], each["port"]) for number, each in brokers.items()}
