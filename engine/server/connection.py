"""One client connection: bytes to request frames, replies to bytes.

Requests on a connection are handled one after the other, and answered in that order, as
in Kafka: the next frame is looked at when the last is answered.  A frame that cannot be
read ends the connection with one log line and touches nothing else.  A client that does
not read its answers is not read from either, so it holds at most one answer in memory;
and a client that is over its quota is not read from until its time is up (KIP-219).
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from typing import Protocol

from engine import api
from engine.broker.request_metrics import RequestMetrics
from engine.events import Reply, Request
from engine.wire import framing
from engine.wire.codec import MalformedMessage
from engine.wire.messages import Message

log = logging.getLogger("engine")
LENGTH = 4
MANY_FRAMES = 64
MANY_BYTES = 1 << 20


class Door(Protocol):
    """Where a connection came in: it leads to one broker."""

    node_id: int
    max_request_bytes: int
    metrics: RequestMetrics

    @property
    def is_paused(self) -> bool: ...

    def opened(self, connection: Connection) -> None:
        """Lets a connection in, or keeps it waiting, or ends it."""

    def lost(self, connection: Connection) -> None: ...

    def submit(self, request: Request) -> None:
        """Gives the broker a request; the answer comes to `replied`."""


class Connection(asyncio.Protocol):
    """A client of one broker; `name` is how the cluster knows it."""

    def __init__(self, door: Door, name: str) -> None:
        self.door = door
        self.name = name
        self.loop = asyncio.get_running_loop()
        self.peer = ""
        self.transport: asyncio.Transport
        self.buffer = bytearray()
        self.frames: deque[bytes] = deque()
        self.waiting_bytes = 0
        self.busy = False
        self.writable = True
        self.reading = True
        self.closed = False
        self.admitted = True
        self.unsent_bytes = 0  # of an answer that the client is slow to read
        self.mute_timer: asyncio.TimerHandle | None = None
        self.thread_time_us = 0  # spent on the last request, charged with the next
        self.last_active = self.loop.time()

    @property
    def is_waited_for(self) -> bool:
        """Its silence is the broker's doing."""
        return self.busy or self.mute_timer is not None or not self.admitted

    # -- called by asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        peer = transport.get_extra_info("peername") or ("", 0)
        self.peer = peer[0]
        self.door.opened(self)

    def data_received(self, data: bytes) -> None:
        self.last_active = self.loop.time()
        self.buffer += data
        position = 0
        while len(self.buffer) - position >= LENGTH:
            size = int.from_bytes(self.buffer[position : position + LENGTH], "big", signed=True)
            if not 0 < size <= self.door.max_request_bytes:
                limit = f"socket.request.max.bytes={self.door.max_request_bytes}"
                self.abort(f"a frame of {size} bytes is none, or larger than {limit}")
                return
            end = position + LENGTH + size
            if len(self.buffer) < end:
                break
            with memoryview(self.buffer) as view:
                self.frames.append(bytes(view[position + LENGTH : end]))
            self.waiting_bytes += size
            position = end
        if position:
            del self.buffer[:position]
        self._regulate()
        self.next_frame()

    def pause_writing(self) -> None:
        self.writable = False

    def resume_writing(self) -> None:
        self.writable = True
        if self.unsent_bytes:
            self._written(self.unsent_bytes, was_slow=True)
        self.next_frame()

    def connection_lost(self, exc: Exception | None) -> None:
        self.closed = True
        self.frames.clear()
        if self.mute_timer is not None:
            self.mute_timer.cancel()
        self.door.metrics.lost(self.name)
        self.door.lost(self)

    # -- requests and replies

    def next_frame(self) -> None:
        """Takes up the next request, if the last one is answered and the answer is read."""
        while self.frames and not (self.is_waited_for or self.closed or self.door.is_paused):
            if not self.writable:
                return
            frame = self.frames.popleft()
            self.waiting_bytes -= len(frame)
            self._regulate()
            try:
                self._take(frame)
            except MalformedMessage as error:
                self.abort(str(error))
                return

    def _take(self, frame: bytes) -> None:
        header = framing.read_request_header(frame)
        refusal = api.check_version(header)
        if refusal is not None:
            self.write(header.api_key, *refusal, header.correlation_id)
            return
        body = framing.read_request_body(header, frame)
        token = (header.api_key, header.correlation_id)
        self.busy = True
        spent_us, self.thread_time_us = self.thread_time_us, 0
        request = Request(
            self.name, token, header.api_version, body, header.client_id or "", self.peer,
            len(frame), spent_us,
        )  # fmt: skip
        self.door.metrics.read(self.name, request)
        self.door.submit(request)

    def write(self, api_key: int, version: int, body: Message, correlation_id: int) -> int:
        """Sends a response, if somebody is still there; gives its size."""
        if self.closed or self.transport.is_closing():
            return 0
        response = framing.write_response(api_key, version, correlation_id, body)
        self.transport.write(response)
        return len(response)

    def replied(self, reply: Reply) -> None:
        """The broker has answered the request under way (body None: it gets no answer)."""
        self.busy = False
        self.door.metrics.writing(self.name)
        size = 0
        if reply.body is not None:
            size = self.write(reply.token[0], reply.version, reply.body, reply.token[1])
        if self.writable:
            self._written(size)
        else:
            self.unsent_bytes = size
        if reply.mute_ms and not self.closed:
            self.mute_timer = self.loop.call_later(reply.mute_ms / 1000, self._unmute)
            self._regulate()
        self.next_frame()

    def _written(self, size: int, was_slow: bool = False) -> None:
        """The answer has left for the operating system, but for a small rest."""
        self.unsent_bytes = 0
        written = self.door.metrics.written
        self.thread_time_us += written(self.door.node_id, self.name, size, was_slow)

    def _unmute(self) -> None:
        self.mute_timer = None
        self.pause_changed()

    def _regulate(self) -> None:
        """Stops reading while many requests wait, so that a flood stays outside."""
        many = len(self.frames) >= MANY_FRAMES or self.waiting_bytes >= MANY_BYTES
        heard = self.admitted and self.mute_timer is None
        want = heard and not (many or self.door.is_paused)
        if want != self.reading and not self.closed:
            self.reading = want
            if want:
                self.transport.resume_reading()
            else:
                self.transport.pause_reading()

    def pause_changed(self) -> None:
        """The broker was paused or goes on, or a mute is over."""
        self._regulate()
        self.next_frame()

    def abort(self, why: str) -> None:
        """Ends the connection at once, and says why."""
        if not self.closed:
            log.warning("broker %d: connection from %s closed: %s",
                        self.door.node_id, self.peer or "?", why)  # fmt: skip
            self.drop()

    def drop(self) -> None:
        """Ends the connection at once; what was not sent is forgotten."""
        self.closed = True
        self.transport.abort()
