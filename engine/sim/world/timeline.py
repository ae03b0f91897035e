"""Going back: checkpoints of a world, and where each event was.

A world is a function of its seed and of the tape, so any moment could be reached by starting
again.  That takes longer the later it is.  So every few hundred events the world's state is
pickled; to go to event n, take the last checkpoint at or below n and replay from there.

    events       0        500       1000       1500     1733 (now)
    checkpoint   *         *          *          *
    goto(1210)                        |--------->           210 events replayed

Checkpoints are bounded in number: when there are too many, every other one is dropped, and
from then on they are taken half as often.  A back step then costs a few more events to
replay; memory stays what it was.

The trace is not pickled with the state.  It only ever grows, so one list of lines and a
count per event say what it was at any event.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from dataclasses import dataclass, field
from typing import Any

SPACING = 500
CHECKPOINTS_MAX = 64


@dataclass
class Timeline:
    """The record of a world from its beginning to the last event that it ever reached.

    `at_us` and `traced` hold, by event number, the clock and the length of the trace after
    that event; `lines` is the longest trace so far; `checkpoints` is (event, state), sorted.
    """

    at_us: array[int] = field(default_factory=lambda: array("q"))
    traced: array[int] = field(default_factory=lambda: array("q"))
    lines: list[Any] = field(default_factory=list)
    checkpoints: list[tuple[int, bytes]] = field(default_factory=list)
    spacing: int = SPACING

    @property
    def last_event(self) -> int:
        return len(self.at_us) - 1

    def note(self, now_us: int, traced: int) -> None:
        """One more event has happened, for the first time."""
        self.at_us.append(now_us)
        self.traced.append(traced)

    def wants_checkpoint(self, event: int) -> bool:
        return event >= self.checkpoints[-1][0] + self.spacing

    def keep(self, event: int, state: bytes) -> None:
        self.checkpoints.append((event, state))
        if len(self.checkpoints) > CHECKPOINTS_MAX:
            self.checkpoints = self.checkpoints[::2]
            self.spacing *= 2

    def before(self, event: int) -> tuple[int, bytes]:
        """The last checkpoint at or below an event."""
        place = bisect_right(self.checkpoints, event, key=lambda each: each[0])
        return self.checkpoints[place - 1]

    def event_at(self, at_us: int) -> int:
        """The last event that had happened by then."""
        return max(0, bisect_right(self.at_us, at_us) - 1)

    def event_of_line(self, line: int) -> int:
        """The event that wrote the trace line with this index."""
        return bisect_right(self.traced, line)

    def cut(self, event: int) -> None:
        """Forgets what came after an event: something else will happen."""
        del self.at_us[event + 1 :]
        del self.traced[event + 1 :]
        del self.lines[self.traced[event] :]
        while self.checkpoints[-1][0] > event:
            self.checkpoints.pop()

    def fork(self) -> Timeline:
        return Timeline(
            self.at_us[:], self.traced[:], self.lines[:], self.checkpoints[:], self.spacing
        )
