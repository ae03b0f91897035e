"""The events that go into a state machine, and the effects that come out of it.

Every role in the engine is a plain object: `step(now, event)` takes one event and
returns the effects it has.  No role reads a clock, opens a socket or starts a thread; that is
the driver's job.  A node draws its ids from a generator that the cluster has seeded.  Two drivers
exist: `engine.server.server` (real sockets, real time) and `engine.sim` (one seeded scheduler,
virtual time).

`now` is integer microseconds since the Unix epoch.  A `token` is a small value that
the receiver hands back untouched, so that an answer or a timer finds its way; its class says
which part of the node it belongs to.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from engine.wire.errors import Errors
from engine.wire.structures import Message, RequestMessage

Body = TypeVar("Body", bound=RequestMessage[Message], covariant=True)
Token = Hashable
"""Equal only to a token that means the same: a number, a frozen dataclass, or a tuple."""


class ClientDeadline:
    """The token of a timer that runs out unless a client is heard from in time.

    A driver that was late puts such timers off: the client may have asked in time, and its
    request still waits in a socket.
    """

    __slots__ = ()


class Background:
    """The token of a timer for work that can wait: clients' requests go first."""

    __slots__ = ()


Source = int | str
"""A node id, or the driver's name for a client's connection."""


# -- events: what a driver hands to `step`


@dataclass(frozen=True, slots=True)
class Envelope:
    """The client whose request a broker forwards to the controller (KIP-590), and its version."""

    client_id: str
    version: int


@dataclass(frozen=True, slots=True)
class Request(Generic[Body]):
    """A client or a node asks.  Answer with `Outbox.reply(request, body)`, at once or later.

    A handler says in its signature which body it takes: `Request[m.FetchRequest]`.
    `size` is what came over the wire, 0 if nothing did; `thread_time_us` the time that the
    driver has spent on this client since its last request.
    """

    source: Source
    token: Token
    version: int
    body: Body
    client_id: str = ""
    client_host: str = ""
    size: int = 0
    thread_time_us: int = 0
    envelope: Envelope | None = None


AnyRequest = Request[RequestMessage[Message]]

NoAnswer = tuple[()]
NO_ANSWER: NoAnswer = ()

Answered = Message | NoAnswer | None
"""What another node can answer; `isinstance` checks that it is the answer to the request."""


@dataclass(frozen=True, slots=True)
class Response:
    """The answer to a `Send`; `body` is None when the peer was lost or the time was up.

    It is `NO_ANSWER` when the request was taken and needs none (acks=0).
    """

    source: int
    token: Token
    body: Answered


@dataclass(frozen=True, slots=True)
class Expired:
    """A timer set with `SetTimer` has run out."""

    token: Token


@dataclass(frozen=True, slots=True)
class Flushed:
    """A `Flush` is done: what was written before it survives a power loss."""

    token: Token


@dataclass(frozen=True, slots=True)
class Disconnected:
    """A client's connection is gone; replies to it go nowhere."""

    source: Source


Event = AnyRequest | Response | Expired | Flushed | Disconnected


# -- effects: what `step` returns, carried out by the driver in this order


@dataclass(frozen=True, slots=True)
class Send:
    """Ask another node.  Exactly one `Response` with this token follows, within `timeout_us`.

    `connection` names the sender's connection to that node that the request takes: requests on one
    connection are handled one after the other (engine/cluster/channels.py).  None is a connection
    for this request alone.  `version_max` is for a client that may not use a later version, even if
    both sides know it.
    """

    destination: int
    token: Token
    body: RequestMessage[Message]
    timeout_us: int
    envelope: Envelope | None = None
    connection: str | None = ""
    version_max: int | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """Answer a request; a `body` of None means that it gets no answer (acks=0).

    For `mute_ms` from now on nothing more is read from that client (KIP-219).
    """

    destination: Source
    token: Token
    version: int
    body: Message | None
    request: AnyRequest | None = None
    mute_ms: int = 0


@dataclass(frozen=True, slots=True)
class HangUp:
    """Close the connection that the request with this token came on; the driver logs why."""

    destination: Source
    token: Token
    reason: str


@dataclass(frozen=True, slots=True)
class SetTimer:
    """Wake me at `at`; a timer with the same token is replaced."""

    token: Token
    at: int


@dataclass(frozen=True, slots=True)
class CancelTimer:
    """Forget a timer; harmless if there is none."""

    token: Token


@dataclass(frozen=True, slots=True)
class Flush:
    """Make a file on the node's disk durable, then give `Flushed`."""

    path: str
    token: Token


@dataclass(frozen=True, slots=True)
class Trace:
    """One line of the story: what happened, where, by which rule, and why.

    `partition` is `topic-partition` or empty; `fields` are (name, value) pairs in order;
    `rule` is the dotted name of the method that acted, below `engine`.
    """

    kind: str
    partition: str
    fields: tuple[tuple[str, Any], ...]
    why: str
    rule: str

    def __str__(self) -> str:
        shown = " ".join(f"{name}={value}" for name, value in self.fields)
        return " ".join(filter(None, (self.kind, self.partition, shown)))


@dataclass(frozen=True, slots=True)
class Halt:
    """This node has shut itself down cleanly; the driver may drop it."""


Effect = Send | Reply | HangUp | SetTimer | CancelTimer | Flush | Trace | Halt


class Outbox:
    """Collects the effects of one step; the parts of a node share their node's outbox."""

    __slots__ = ("effects",)

    def __init__(self) -> None:
        self.effects: list[Effect] = []

    def send(
        self,
        destination: int,
        token: Token,
        body: RequestMessage[Message],
        timeout_us: int = 30_000_000,
        envelope: Envelope | None = None,
        connection: str | None = "",
        version_max: int | None = None,
    ) -> None:
        self.effects.append(
            Send(destination, token, body, timeout_us, envelope, connection, version_max)
        )

    def reply(self, request: AnyRequest, body: Message | None) -> None:
        self.effects.append(Reply(request.source, request.token, request.version, body, request))

    def hang_up(self, request: AnyRequest, reason: str) -> None:
        self.effects.append(HangUp(request.source, request.token, reason))

    def set_timer(self, token: Token, at: int) -> None:
        self.effects.append(SetTimer(token, at))

    def cancel_timer(self, token: Token) -> None:
        self.effects.append(CancelTimer(token))

    def flush(self, path: str, token: Token) -> None:
        self.effects.append(Flush(path, token))

    def halt(self) -> None:
        self.effects.append(Halt())

    def trace(
        self, rule: str, kind: str, partition: str = "", why: str = "", **fields: object
    ) -> None:
        self.effects.append(Trace(kind, partition, tuple(fields.items()), why, rule))

    def drain(self) -> list[Effect]:
        """The effects so far, leaving the outbox empty."""
        effects, self.effects = self.effects, []
        return effects


# -- between two parts of a node


class Stored(Protocol):
    """Hears how an append ended: replicated (NONE), timed out, or failed."""

    def stored(self, now: int, error: Errors) -> None: ...
