"""Drives a client over real sockets and in real time, against any Kafka.

    driver = SocketDriver(producer, {101: ("127.0.0.1", 9101)})
    driver.send("orders", b"A")
    driver.run(until=lambda: producer.idle, timeout_s=10)

    driver = SocketDriver(consumer, {101: ("127.0.0.1", 9101)})
    driver.tell("poll", 1_000)
    driver.run(until=lambda: not consumer.busy, timeout_s=2)

It drives the same state machine that runs in virtual time; a socket per connection and a clock
carry out its effects.  There is one thread: between two calls of `run` nothing happens, as if the
process stood still.

A broker's ApiVersions answer decides which version each request is written in.  An answer that
cannot be read, or that belongs to no request, ends the connection: the client no longer knows where
in the stream of bytes the next one begins.

`lose_requests` and `lose_answers` are faults, for lessons: that many Produce requests, or answers
to them, are lost, and the connection with the last one.  For those before the last the producer
waits until request.timeout.ms is over.
"""

from __future__ import annotations

import heapq
import selectors
import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from engine.client.metadata import Metadata
from engine.events import (
    CancelTimer,
    Effect,
    Event,
    Expired,
    Response,
    Send,
    SetTimer,
    Token,
    Trace,
)
from engine.wire import framing
from engine.wire import messages as m
from engine.wire.codec import MalformedMessage

Address = tuple[str, int]
API_VERSIONS_AT = 3
PRODUCE_KEY = 0
TICK_S = 0.05


End = tuple[int, str]
"""A broker, and the name of the connection to it."""


class Client(Protocol):
    """A producer or a consumer."""

    name: str
    metadata: Metadata

    def start(self, now: int) -> list[Effect]: ...

    def step(self, now: int, event: Event) -> list[Effect]: ...


Driven = TypeVar("Driven", bound=Client)


@dataclass(slots=True)
class _Link:
    """A socket to one broker; `waiting` are tokens by correlation id, in order."""

    end: End
    sock: socket.socket
    out: bytearray = field(default_factory=bytearray)
    received: bytearray = field(default_factory=bytearray)
    waiting: dict[int, tuple[Token, int, int, int]] = field(default_factory=dict)
    last: Token = ()
    connected: bool = False


class SocketDriver(Generic[Driven]):
    """`trace` collects (microseconds since the driver began, Trace)."""

    def __init__(self, client: Driven, bootstrap: Mapping[int, Address]) -> None:
        self.client = client
        self.bootstrap = dict(bootstrap)
        self.selector = selectors.DefaultSelector()
        self.links: dict[End, _Link] = {}
        self.versions: dict[int, dict[int, int]] = {}
        self.timers: dict[Token, int] = {}
        self.late: list[tuple[int, End, int]] = []
        self.sent = 0
        self.lose_requests = 0
        self.lose_answers = 0
        self.began = self.now
        self.trace: list[tuple[int, Trace]] = []
        self._carry_out(client.start(self.now))

    @property
    def now(self) -> int:
        return time.time_ns() // 1000

    # -- the application's side

    def send(
        self, topic: str, value: bytes, key: bytes | None = None, partition: int | None = None
    ) -> None:
        """A producer's `send`."""
        self.tell("send", topic, value, key, partition)

    def tell(self, method: str, *arguments: object) -> None:
        """Calls `method(now, *arguments)` of the client, as `world.tell` does."""
        self._carry_out(getattr(self.client, method)(self.now, *arguments))

    def run(self, until: Callable[[], bool], timeout_s: float) -> bool:
        """Carries on until the condition holds; False if it does not in time."""
        deadline = time.monotonic() + timeout_s
        while not until():
            if time.monotonic() > deadline:
                return False
            self.poll()
        return True

    def close(self) -> None:
        """Closes every connection; what was in flight is forgotten."""
        for link in self.links.values():
            self.selector.unregister(link.sock)
            link.sock.close()
        self.links = {}
        self.selector.close()

    # -- the loop

    def poll(self) -> None:
        """Waits for the next events, at most TICK_S, and handles them."""
        now = self.now
        soonest = min([*self.timers.values(), *(at for at, *_ in self.late[:1])], default=now)
        wait_s = min(max(0, soonest - now) / 1e6, TICK_S)
        if self.selector.get_map():
            for key, mask in self.selector.select(wait_s):
                self._ready(key.data, mask)
        else:
            time.sleep(wait_s)
        now = self.now
        for token, at in sorted(self.timers.items(), key=lambda item: item[1]):
            if at <= now and self.timers.get(token) == at:
                del self.timers[token]
                match token:
                    case ("lost", int(node), str(connection)):
                        lost = self.links[node, connection]
                        self._lost(lost, lost.last)
                    case _:
                        self._give(Expired(token))
        while self.late and self.late[0][0] <= now:
            _, end, correlation = heapq.heappop(self.late)
            link = self.links.get(end)
            if link is not None and correlation in link.waiting:
                self._lost(link, link.waiting[correlation][0])

    def _ready(self, link: _Link, mask: int) -> None:
        try:
            if mask & selectors.EVENT_WRITE:
                if not link.connected:
                    error = link.sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
                    if error:
                        raise OSError(error, "no connection")
                    link.connected = True
                del link.out[: link.sock.send(link.out)]
                self._watch(link)
            if mask & selectors.EVENT_READ:
                data = link.sock.recv(1 << 16)
                if not data:
                    raise ConnectionResetError("closed by the broker")
                link.received += data
                self._read(link)
        except BlockingIOError:
            pass
        except OSError:
            self._lost(link, next(iter(link.waiting.values()), (link.last,))[0])

    def _read(self, link: _Link) -> None:
        while len(link.received) >= 4:
            end = 4 + int.from_bytes(link.received[:4], "big")
            if len(link.received) < end:
                return
            frame = bytes(link.received[4:end])
            del link.received[:end]
            correlation = int.from_bytes(frame[:4], "big")
            if correlation not in link.waiting:
                raise ConnectionResetError("an answer to nothing that was asked")
            token, key, version, _ = link.waiting[correlation]
            if key == PRODUCE_KEY and self.lose_answers:
                self.lose_answers -= 1
                if not self.lose_answers:
                    self._lost(link, token)
                    return
                continue
            try:
                _, body = framing.read_response(key, version, frame)
            except MalformedMessage as error:
                raise ConnectionResetError("an answer that cannot be read") from error
            del link.waiting[correlation]
            if isinstance(body, m.ApiVersionsResponse):
                self.versions[link.end[0]] = {
                    each.api_key: each.max_version for each in body.api_keys
                }
            self._give(Response(link.end[0], token, body))
            if self.links.get(link.end) is not link:
                return

    def _give(self, event: Event) -> None:
        self._carry_out(self.client.step(self.now, event))

    # -- effects

    def _carry_out(self, effects: list[Effect]) -> None:
        for effect in effects:
            match effect:
                case Send():
                    self._send(effect)
                case SetTimer(token, at):
                    self.timers[token] = at
                case CancelTimer(token):
                    self.timers.pop(token, None)
                case Trace():
                    self.trace.append((self.now - self.began, effect))

    def _send(self, effect: Send) -> None:
        node, end = effect.destination, (effect.destination, effect.connection or "")
        link = self.links.get(end) or self._connect(end)
        key = type(effect.body).API_KEY
        version = API_VERSIONS_AT
        if key != framing.API_VERSIONS_KEY:
            offered = self.versions[node].get(key)
            if offered is None:
                name = framing.API_NAMES[key]
                raise RuntimeError(f"Broker {node} offers no {name}, so this client cannot use it.")
            version = min(type(effect.body).LATEST, offered)
            if effect.version_max is not None:
                version = min(version, effect.version_max)
        self.sent += 1
        link.last = effect.token
        if getattr(effect.body, "acks", -1) != 0:
            at = self.now + effect.timeout_us
            link.waiting[self.sent] = (effect.token, key, version, at)
            heapq.heappush(self.late, (at, end, self.sent))
        if key == PRODUCE_KEY and self.lose_requests:
            self.lose_requests -= 1
            if not self.lose_requests:
                self.timers[("lost", *end)] = self.now
            return
        link.out += framing.write_request(version, self.sent, self.client.name, effect.body)
        self._watch(link)

    def _connect(self, end: End) -> _Link:
        node = end[0]
        address = self.client.metadata.nodes.get(node) or self.bootstrap[node]
        sock = socket.socket()
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.connect_ex(address)
        link = self.links[end] = _Link(end, sock)
        self.selector.register(sock, selectors.EVENT_WRITE, link)
        return link

    def _watch(self, link: _Link) -> None:
        events = selectors.EVENT_READ if link.connected else 0
        if link.out or not link.connected:
            events |= selectors.EVENT_WRITE
        self.selector.modify(link.sock, events, link)

    def _lost(self, link: _Link, token: Token) -> None:
        """The connection is closed, from either side; the client hears of it once."""
        self.selector.unregister(link.sock)
        link.sock.close()
        del self.links[link.end]
        self.timers.pop(("lost", *link.end), None)
        self._give(Response(link.end[0], token, None))
