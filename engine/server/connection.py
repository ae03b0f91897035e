"""One client connection: bytes to request frames, replies to bytes.

Requests on a connection are handled one after the other, and answered in that order: the
connection decodes the next frame when the operating system has the last answer
(engine/cluster/channels.py).  Up to 64 frames are read ahead, and from all clients of a broker
together until `queued.max.request.bytes` are there.  A frame that cannot be read ends the
connection with one log line and affects nothing else.  While a client is throttled for
exceeding its quota, its requests stay unread (KIP-219).

A client may read its answer slowly, or never.  The socket's buffer takes a part; the remainder is
made when there is room again, a chunk at a time (engine.wire.slices).  So a slow client costs
one chunk of memory, however long its Fetch answer is.
A client that sends its end of stream still gets the answers to its requests.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from engine import api
from engine.api import Api
from engine.broker.request_metrics import RequestMetrics
from engine.cluster.channels import Channel
from engine.events import AnyRequest, Reply, Request
from engine.wire import framing
from engine.wire.codec import MalformedMessage
from engine.wire.messages import Message
from engine.wire.slices import SliceGone

log = logging.getLogger("engine")
LENGTH = 4
MANY_FRAMES = 64
MANY_BYTES = 1 << 20


class Door(Protocol):
    """The listener that accepted a connection; it leads to one broker."""

    node_id: int
    max_request_bytes: int
    metrics: RequestMetrics
    offers: Mapping[str, Api]

    @property
    def is_paused(self) -> bool: ...

    def opened(self, connection: Connection) -> None:
        """Admits a connection, keeps it waiting, or ends it."""

    def lost(self, connection: Connection) -> None: ...

    @property
    def is_full(self) -> bool:
        """Whether the requests that wait at this broker leave no room for another."""

    def hold(self, size: int) -> None:
        """So many bytes of requests wait more than before, or fewer."""

    def submit(self, request: AnyRequest) -> None:
        """Gives the broker a request; the answer comes to `replied`."""


@dataclass(frozen=True, slots=True)
class Correlation:
    """The token of a client's request: what its answer's header and layout need."""

    api_key: int
    correlation_id: int


class Connection(asyncio.Protocol):
    """A client of one broker; the cluster knows it by `name`."""

    def __init__(self, door: Door, name: str) -> None:
        self.door = door
        self.name = name
        self.loop = asyncio.get_running_loop()
        self.peer = ""
        self.transport: asyncio.Transport
        self.buffer = bytearray()
        self.channel = Channel()
        self.waiting_bytes = 0
        self.writable = True
        self.reading = True
        self.ended = False  # the client sends no more
        self.closed = False
        self.admitted = True
        self.answered_next: Correlation | None = None  # the request under way
        self.unsent: Iterator[bytes | bytearray] = iter(())  # the remainder of an answer
        self.answer_bytes = 0
        self.was_slow = False  # the client was slow to read the answer
        self.mute_timer: asyncio.TimerHandle | None = None
        self.thread_time_us = 0  # spent on the last request, charged with the next
        self.last_active = self.loop.time()

    @property
    def is_waited_for(self) -> bool:
        """Whether the client waits for the broker."""
        return self.channel.is_muted or not self.admitted

    @property
    def _owes_answers(self) -> bool:
        return self.channel.is_muted or bool(self.channel.waiting) or not self.writable

    # -- called by asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        transport.set_write_buffer_limits(0)  # bytes that the socket does not take stay unsent
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
                self.abort(f"a frame of {size} bytes is not between 1 and {limit}")
                return
            end = position + LENGTH + size
            if len(self.buffer) < end:
                break
            with memoryview(self.buffer) as view:
                self.channel.waiting.append(bytes(view[position + LENGTH : end]))
            self._hold(size)
            position = end
        if position:
            del self.buffer[:position]
        self.regulate()
        self.next_frame()

    def eof_received(self) -> bool:
        self.ended = True
        return self._owes_answers

    def pause_writing(self) -> None:
        self.writable = False
        self.was_slow = True

    def resume_writing(self) -> None:
        # Not at once: asyncio loses count when a transport is closed within this call.
        self.loop.call_soon(self._go_on)

    def _go_on(self) -> None:
        self.writable = True
        self.last_active = self.loop.time()
        self._send()
        self.next_frame()

    def connection_lost(self, exc: Exception | None) -> None:
        self.closed = True
        self.channel.waiting.clear()
        self._hold(-self.waiting_bytes)
        self.unsent = iter(())
        if self.mute_timer is not None:
            self.mute_timer.cancel()
        self.door.metrics.lost(self.name)
        self.door.lost(self)

    # -- requests and replies

    def next_frame(self) -> None:
        """Starts the next request, if the last answer is complete and the socket has taken it."""
        while self.admitted and self.writable and not (self.closed or self.door.is_paused):
            frame = self.channel.take()
            if frame is None:
                break
            self._hold(-len(frame))
            self.regulate()
            try:
                self._take(frame)
            except MalformedMessage as error:
                self.abort(str(error))
                return
        if self.ended and not self._owes_answers:
            self.transport.close()

    def _take(self, frame: bytes) -> None:
        header = framing.read_request_header(frame)
        refusal = api.check_version(header, self.door.offers)
        if refusal is not None:
            self.write(header.api_key, *refusal, header.correlation_id)
            self.channel.unmute()
            return
        body = framing.read_request_body(header, frame)
        token = Correlation(header.api_key, header.correlation_id)
        self.answered_next = token
        spent_us, self.thread_time_us = self.thread_time_us, 0
        request = Request(
            self.name, token, header.api_version, body, header.client_id or "", self.peer,
            len(frame), spent_us,
        )  # fmt: skip
        self.door.metrics.read(self.name, request, header.correlation_id)
        self.door.submit(request)

    def write(self, api_key: int, version: int, body: Message, correlation_id: int) -> None:
        """Sends a response, if the client is still connected."""
        self.answer_bytes = 0
        if not self.closed:
            try:
                response = framing.write_response(api_key, version, correlation_id, body)
            except Exception as error:  # others' answers must still leave
                self.abort(f"{type(body).__name__} v{version} cannot be written: {error}")
                return
            self.answer_bytes = response.whole_size
            self.unsent = response.chunks()
        self._send()

    def _send(self) -> None:
        """Hands over as much of the answer as the socket takes."""
        try:
            while not self.transport.is_closing() and (chunk := next(self.unsent, None)):
                self.transport.write(chunk)
                if not self.writable:
                    return
        except (SliceGone, OSError) as error:
            self.abort(str(error))
            return
        self.thread_time_us += self.door.metrics.written(
            self.door.node_id, self.name, self.answer_bytes, self.was_slow
        )
        self.was_slow = False

    def replied(self, reply: Reply) -> None:
        """The broker has answered a request (body None: it gets no answer).

        A second answer to one request is dropped: a handler that raised after it had parked its
        request leaves one.
        """
        if reply.token is not self.answered_next:
            return
        self.answered_next = None
        self.door.metrics.writing(self.name)
        if reply.body is not None:
            token = reply.token
            assert isinstance(token, Correlation)
            self.write(token.api_key, reply.version, reply.body, token.correlation_id)
        else:
            self.answer_bytes = 0
            self._send()
        if reply.mute_ms and not self.closed:
            self.mute_timer = self.loop.call_later(reply.mute_ms / 1000, self._unmute)
            self.regulate()
        else:
            self.channel.unmute()
        self.next_frame()

    def _unmute(self) -> None:
        self.mute_timer = None
        self.channel.unmute()
        self.pause_changed()

    def _hold(self, size: int) -> None:
        self.waiting_bytes += size
        self.door.hold(size)

    def regulate(self) -> None:
        """Stops reading while many requests wait, so that a flood stays in the socket."""
        many = len(self.channel.waiting) >= MANY_FRAMES or self.waiting_bytes >= MANY_BYTES
        heard = self.admitted and self.mute_timer is None
        want = heard and not (many or self.door.is_full or self.door.is_paused)
        if want != self.reading and not self.closed:
            self.reading = want
            if want:
                self.transport.resume_reading()
            else:
                self.transport.pause_reading()

    def pause_changed(self) -> None:
        """The broker was paused or resumed, or a throttle time is over."""
        self.regulate()
        self.next_frame()

    def abort(self, why: str) -> None:
        """Ends the connection at once, and says why."""
        if not self.closed:
            log.warning("broker %d: connection from %s closed: %s",
                        self.door.node_id, self.peer or "?", why)  # fmt: skip
            self.drop()

    def drop(self) -> None:
        """Ends the connection at once and drops what was not sent."""
        self.closed = True
        self.transport.abort()
