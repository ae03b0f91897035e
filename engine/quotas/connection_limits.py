"""How many connections a broker accepts: from one address, and altogether.

    max.connections                   one too many waits, unread, until another one closes
    max.connections.per.ip            one too many from an address is closed
    max.connections.per.ip.overrides  other numbers for single addresses: host:number,…

The broker checks in this order.  When it is full it does not look at addresses, so one too many
from an address waits like the others and is closed when its turn comes.

So a flood from one machine is closed, and clients from many machines wait.  Kafka does not even
accept a connection that has to wait; the operating system's backlog holds it.  For the client that
is the same: it is connected and gets no answer.

Simplified: brokers' own connections do not come in here (they are in memory), so nothing is
reserved for them, and no idle connection of another listener is closed to make room.  An
override names an address; Kafka also takes a host name and looks its address up.
"""

from __future__ import annotations

from collections.abc import Iterable

from engine.settings import Settings

CLOSE, WAIT, SERVE = "close", "wait", "serve"


def admit(settings: Settings, address: str, served: Iterable[str]) -> str:
    """What to do with a new connection; `served` are the addresses of the others."""
    present = list(served)
    if len(present) >= settings["max.connections"]:
        return WAIT
    return CLOSE if present.count(address) >= per_address(settings, address) else SERVE


def per_address(settings: Settings, address: str) -> int:
    """The limit for one address."""
    for each in (settings["max.connections.per.ip.overrides"] or "").split(","):
        host, _, number = each.strip().rpartition(":")
        if host == address:
            return int(number)
    limit: int = settings["max.connections.per.ip"]
    return limit
