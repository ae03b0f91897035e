"""When a session is over: what the leader of the ensemble knows of all clients.

A session is a client's life as the ensemble sees it.  Any request renews it, and an idle client
pings.  A member reports to its leader which clients it has heard; only the leader says that a
session is over, so no member needs to know of another's clients.

    heard at 3.2 s, timeout 3 s          over at the next tick after 6.2 s

Ends are looked for once a tick (tickTime).  A new leader knows nothing of the past and gives every
session its full time: a change of leaders ends none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping


class Sessions:
    """When each session was last heard of, in microseconds."""

    def __init__(self, tick_us: int) -> None:
        self.tick_us = tick_us
        self.heard: dict[int, int] = {}

    def restart(self, now: int, known: Iterable[int]) -> None:
        """A new leader: each session has its full time."""
        self.heard = dict.fromkeys(known, now)

    def touch(self, now: int, session: int) -> None:
        self.heard[session] = now

    def over(self, now: int, timeouts_ms: Mapping[int, int]) -> list[int]:
        """The sessions whose time is up; each once, unless it is heard of again."""
        ended = [
            session
            for session, timeout_ms in timeouts_ms.items()
            if session in self.heard and now >= self._ends_at(session, timeout_ms)
        ]
        for session in ended:
            del self.heard[session]
        return ended

    def _ends_at(self, session: int, timeout_ms: int) -> int:
        due = self.heard[session] + timeout_ms * 1000
        return (due // self.tick_us + 1) * self.tick_us
