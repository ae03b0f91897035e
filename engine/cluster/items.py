"""The items of the agenda: one class for each kind of event.

A request travels as `Arriving`, becomes `Received` when its broker has it, and is answered by
an `Answer`.  A timer is a `Ringing`.  A write becomes durable in two items, because a paused
process hears of it only when it resumes: `Flushing` ends on the disk, and `Durable` tells the
process.
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
    """A Send that awaits its answer from this incarnation of the destination.

    `channel` is its connection; None if it has one to itself.
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
    """A request on its way to its node; `number` is its call's."""

    number: int
    version: int
    body: Any


@dataclass(slots=True)
class Received:
    """A request in its broker's buffer; the sender may have given up."""

    number: int
    version: int
    body: Any
    call: Call


@dataclass(slots=True)
class Repeated:
    """A request that reaches a node a second time; its answer is discarded."""

    node: NodeId
    version: int
    body: Any
    sender: NodeId


@dataclass(slots=True)
class Answer:
    """The answer to a call; a body of None means a lost connection or a timeout."""

    number: int
    body: Any


@dataclass(slots=True)
class Unmute:
    """The process of this incarnation may handle its connection's next request."""

    node: NodeId
    incarnation: int
    channel: Channel


@dataclass(slots=True)
class Ringing:
    """A timer runs out; `is_late` if it did so while its process was paused."""

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
    """A request reaches a node from a client of the driver, not from another node."""

    node: int
    event: Request | Disconnected | Flushed


Message = Arriving | Answer
"""A message on a link."""
Item = Arriving | Received | Repeated | Answer | Unmute | Ringing | Flushing | Durable | FromOutside
