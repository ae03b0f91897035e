"""How many connections a broker takes: from one address, and altogether.

    max.connections.per.ip            one too many from an address is closed at once
    max.connections.per.ip.overrides  other numbers for single addresses: host:number,…
    max.connections                   one too many waits, unread, until another one closes

A flood from one machine is cut off; a crowd from many waits at the door.  Kafka does not
even accept a connection that has to wait; the operating system's backlog holds it.  For
the client that is the same: it is connected, and nobody answers.

Simplified: brokers' own connections do not come in here (they are in memory), so nothing is
reserved for them, and no idle connection of another listener is closed to make room.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

CLOSE, WAIT, SERVE = "close", "wait", "serve"


def admit(settings: Any, address: str, served: Iterable[str]) -> str:
    """What to do with a new connection; `served` are the addresses of those that are served."""
    present = list(served)
    if present.count(address) >= per_address(settings, address):
        return CLOSE
    return WAIT if len(present) >= settings["max.connections"] else SERVE


def per_address(settings: Any, address: str) -> int:
    """The limit for one address."""
    for each in (settings["max.connections.per.ip.overrides"] or "").split(","):
        host, _, number = each.strip().rpartition(":")
        if host == address:
            return int(number)
    limit: int = settings["max.connections.per.ip"]
    return limit
