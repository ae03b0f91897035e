"""What can be on the agenda: one class for each thing that can happen.

A request travels as `Arriving`, becomes `Received` when its broker has it, and is answered by
an `Answer`.  A timer is a `Ringing`.  A write becomes durable in two items, because a process
that stands still hears of it only when it goes on: `Flushing` ends on the disk, and `Durable` is
the word that its process gets.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from engine.cluster.channels import Channel
from engine.events import Disconnected, Envelope, Flushed, Request, Source, Token

NodeId = Source
"""A broker or the controller by its number, or a simulated client by its name."""


@dataclass(slots=True)
class Call:
    """A Send that awaits its answer, from the destination's process of this incarnation.

    `channel` is the connection that it takes; None if it has one to itself.
    """

    sender: NodeId
    destination: int
    incarnation: int
    token: Token
    client_id: str
    channel: Channel | None
    envelope: Envelope | None = None


@dataclass(slots=True)
class Arriving:
    """A request on its way to the node that a call names; `number` is the call's."""

    number: int
    version: int
    body: Any


@dataclass(slots=True)
class Received:
    """A request that is in its broker's buffer, whether or not the sender still waits."""

    number: int
    version: int
    body: Any
    call: Call


@dataclass(slots=True)
class Repeated:
    """A request that reaches a node a second time, on a connection that nobody reads."""

    node: NodeId
    version: int
    body: Any
    sender: NodeId


@dataclass(slots=True)
class Answer:
    """The answer to a call; a body of None is the end of the connection, or of the patience."""

    number: int
    body: Any


@dataclass(slots=True)
class Unmute:
    """A connection's next request may be taken up, by the process of this incarnation."""

    node: NodeId
    incarnation: int
    channel: Channel


@dataclass(slots=True)
class Ringing:
    """A timer runs out; `is_late` if that was while its process stood still."""

    node: NodeId
    token: Token
    is_late: bool = False


@dataclass(slots=True)
class Flushing:
    """A file of a node's disk becomes durable."""

    node: int
    incarnation: int
    path: str
    token: Token


@dataclass(slots=True)
class Durable:
    """The process of this incarnation hears that a flush is done."""

    node: int
    incarnation: int
    token: Token


@dataclass(slots=True)
class FromOutside:
    """Something reaches a node that no other node sent: from a client of the driver's."""

    node: int
    event: Request | Disconnected | Flushed


Message = Arriving | Answer
"""What travels over a link."""
Item = Arriving | Received | Repeated | Answer | Unmute | Ringing | Flushing | Durable | FromOutside
