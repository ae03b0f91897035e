"""A node's own clock, which may be wrong.

    shows
      |            jumped ahead  _/
      |            ____________/
      |          /                     runs fast: the distance to the true time grows
      |       _/
      +-------------------------------- true time

A timer runs at the speed that the node's clock has when the timer is set, and a jump does not
move it.  So after a jump back, a node may be woken before the time that it waits for; after a
jump ahead, it may find many things overdue at once.

Simplified: a node has one clock, for timestamps, for lags and for sessions.  Kafka has two: it
stamps records and judges a follower's lag by the wall clock, which jumps; it measures sessions
and waiting requests by a monotonic clock, which does not.
"""

from __future__ import annotations

from dataclasses import dataclass

MILLION = 1_000_000


@dataclass(slots=True)
class Clock:
    """A clock `ahead_us` ahead at `since_us` that gains `ppm` microseconds a second since."""

    since_us: int
    ahead_us: int = 0
    ppm: int = 0

    def shows(self, now: int) -> int:
        """The time that it shows at the true time `now`."""
        return now + self.ahead_us + (now - self.since_us) * self.ppm // MILLION

    def rings(self, now: int, at: int) -> int:
        """The true time at which a timer set now for `at` runs out."""
        wait = at - self.shows(now)
        return now + max(0, -(-wait * MILLION // (MILLION + self.ppm)))

    def change(self, now: int, by_us: int = 0, ppm: int | None = None) -> None:
        """Jumps by `by_us`; with `ppm`, also changes its speed, but never stands still."""
        if ppm is not None and ppm <= -MILLION:
            raise ValueError(f"A clock that gains {ppm} µs a second never reaches a timer's time.")
        self.ahead_us = self.shows(now) - now + by_us
        self.since_us = now
        self.ppm = self.ppm if ppm is None else ppm
