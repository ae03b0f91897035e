"""Reads ZooKeeper's tree of znodes, as Kafka's brokers do, over ZooKeeper's own protocol.

    znode = tree.znode("/controller")
    znode.data              '{"version":2,"brokerid":101,…}'; None if it has none
    znode.version           how often the data has been set since it was made
    znode.ephemeral_owner   the session that it ends with; 0 if it stays

ZooKeeper frames a message with its length and writes its fields in jute: integers in big endian,
and a length before every text, buffer and list.  Three requests are enough to look, so there is no
client library here: one question costs half a millisecond, and a notebook can ask all the time.

A member answers from its own copy of the tree, which may be a moment behind the leader's.  The
session is the kit's own; it ends when nothing was asked for its timeout, and the next question
opens another.  No watches, no writes, no pings.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Callable
from dataclasses import dataclass

from kit.clusters.connections import CONNECT_TIMEOUT_S, Address, Unreachable
from kit.clusters.interface import ClusterError

GET_DATA, GET_CHILDREN, CLOSE = 4, 12, -11
NO_NODE = -101
_ANSWER_S = 3.0
_SESSION_MS = 30_000
_INT = struct.Struct(">i")
_CONNECT = struct.Struct(">iqiqi16s?")  # protocol, last zxid, timeout, session, password, read-only
_HEADER = struct.Struct(">iqi")  # number of the request, zxid, error
_STAT = struct.Struct(">qqqqiiiqiiq")
"""czxid, mzxid, ctime, mtime, version, cversion, aversion, owner, length, children, pzxid."""


@dataclass(frozen=True)
class Znode:
    """One node of the tree."""

    path: str
    data: str | None
    version: int
    ephemeral_owner: int
    """The session that it ends with; 0 for a persistent one."""
    children: tuple[str, ...]
    czxid: int
    """The transaction that made it; of a broker's znode this is the broker epoch."""
    mzxid: int
    """The transaction that last set its data."""


class Tree:
    """The tree as one member of the ensemble knows it: the first of `addresses` that answers."""

    def __init__(self, addresses: Callable[[], list[Address]]) -> None:
        self._addresses = addresses
        self._session: _Session | None = None
        self._turn = threading.Lock()

    def znode(self, path: str) -> Znode | None:
        """The znode of a path; None while there is none.  Unreachable when no member answers."""
        if not path.startswith("/") or (path != "/" and path.endswith("/")):
            raise ClusterError(f'{path!r} is no path of a znode: one looks like "/brokers/ids".')
        with self._turn:
            if self._session is not None:
                with contextlib.suppress(OSError):  # it has expired, or its member has ended
                    return self._asked(self._session, path)
            for address in self._addresses():
                with contextlib.suppress(OSError):
                    self._session = _Session(address)
                    return self._asked(self._session, path)
        raise Unreachable("No member of the ensemble answers: is a majority of it running?")

    def znodes(self, path: str = "/") -> dict[str, Znode]:
        """A znode and all below it, by path; what goes away meanwhile is left out."""
        top = self.znode(path)
        if top is None:
            return {}
        found = {path: top}
        for child in top.children:
            found |= self.znodes(f"{path.rstrip('/')}/{child}")
        return found

    def close(self) -> None:
        with self._turn:
            self._end()

    def _asked(self, session: _Session, path: str) -> Znode | None:
        try:
            return session.znode(path)
        except BaseException:  # an interrupt, too, leaves an answer in flight
            self._end()
            raise

    def _end(self) -> None:
        if self._session is not None:
            self._session.close()
            self._session = None


class _Session:
    """One session with one member; OSError when it is over."""

    def __init__(self, address: Address) -> None:
        self._socket = socket.create_connection(address, CONNECT_TIMEOUT_S)
        self._socket.settimeout(_ANSWER_S)
        self._number = 0
        try:
            self._send(_CONNECT.pack(0, 0, _SESSION_MS, 0, 16, bytes(16), False))
            self._receive()
        except BaseException:
            self._socket.close()
            raise

    def znode(self, path: str) -> Znode | None:
        if (data := self._ask(GET_DATA, path)) is None:
            return None
        if (children := self._ask(GET_CHILDREN, path)) is None:
            return None  # it went between the two questions
        value, position = _buffer(data, 0)
        stat = _STAT.unpack_from(data, position)
        (count,), position = _INT.unpack_from(children), _INT.size
        names = []
        for _ in range(count):
            name, position = _buffer(children, position)
            names.append((name or b"").decode())
        text = None if value is None else value.decode("utf-8", "replace")
        return Znode(path, text, stat[4], stat[7], tuple(sorted(names)), stat[0], stat[1])

    def _ask(self, kind: int, path: str) -> bytes | None:
        """The answer's body; None when there is no such znode."""
        self._number += 1
        text = path.encode()
        no_watch = b"\0"
        self._send(struct.pack(">iii", self._number, kind, len(text)) + text + no_watch)
        answer = self._receive()
        number, _, error = _HEADER.unpack_from(answer)
        if number != self._number:
            raise ConnectionResetError("an answer to another question")
        if error == NO_NODE:
            return None
        if error:
            raise ClusterError(f"ZooKeeper does not show {path}: its error {error}.")
        return answer[_HEADER.size :]

    def close(self) -> None:
        """Ends the session too, so that ZooKeeper need not wait for its timeout."""
        with contextlib.suppress(OSError):  # it may be over already
            self._send(struct.pack(">ii", 0, CLOSE))
        self._socket.close()

    def _send(self, message: bytes) -> None:
        self._socket.sendall(_INT.pack(len(message)) + message)

    def _receive(self) -> bytes:
        (size,) = _INT.unpack(self._read(_INT.size))
        return self._read(size)

    def _read(self, size: int) -> bytes:
        received = b""
        while len(received) < size:
            if not (piece := self._socket.recv(size - len(received))):
                raise ConnectionResetError("the member closed the connection")
            received += piece
        return received


def _buffer(message: bytes, position: int) -> tuple[bytes | None, int]:
    """A text or buffer, and where it ends; its length is -1 if there is none."""
    (length,) = _INT.unpack_from(message, position)
    begin = position + _INT.size
    return (None, begin) if length < 0 else (message[begin : begin + length], begin + length)


def mode(address: Address) -> str:
    """What a member is: `leader`, `follower`, `standalone`; `none` while it serves no client.

    Asked with the four letters `srvr`, which a member answers outside of any session.
    """
    try:
        with socket.create_connection(address, CONNECT_TIMEOUT_S) as door:
            door.settimeout(_ANSWER_S)
            door.sendall(b"srvr")
            lines = door.makefile(errors="replace").read().splitlines()
    except OSError:
        return "none"
    return next((x.removeprefix("Mode: ") for x in lines if x.startswith("Mode: ")), "none")
