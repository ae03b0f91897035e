"""A node's own clock, which need not show the right time.

    shows
      |            jumped ahead  _/
      |            ____________/
      |          /                     runs fast: the distance to the true time grows
      |       _/
      +-------------------------------- true time

A timer is measured with the node's clock at the speed that it has now, and a jump does not
move a timer that is already set.  So after a jump back a node may be woken before what it
believes to be the time, and after a jump ahead it may find that much is overdue at once.

Simplified: a node has one clock, for time stamps, for lags and for sessions.  Kafka stamps
records and judges how far a follower lags by the wall clock, which jumps, and measures
sessions and waiting requests by a monotonic one, which does not.
"""

from __future__ import annotations

from dataclasses import dataclass

MILLION = 1_000_000


@dataclass(slots=True)
class Clock:
    """Ahead by `ahead_us` at `since_us`, and gaining `ppm` microseconds each second since."""

    since_us: int
    ahead_us: int = 0
    ppm: int = 0

    def shows(self, now: int) -> int:
        """What it shows at the true time `now`."""
        return now + self.ahead_us + (now - self.since_us) * self.ppm // MILLION

    def rings(self, now: int, at: int) -> int:
        """The true time at which a timer set now for `at` runs out."""
        wait = at - self.shows(now)
        return now + max(0, -(-wait * MILLION // (MILLION + self.ppm)))

    def change(self, now: int, by_us: int = 0, ppm: int | None = None) -> None:
        """Jumps; with `ppm`, runs at another speed from now on, but never stands still."""
        if ppm is not None and ppm <= -MILLION:
            raise ValueError(f"A clock that gains {ppm} µs a second never comes to a timer's time.")
        self.ahead_us = self.shows(now) - now + by_us
        self.since_us = now
        self.ppm = self.ppm if ppm is None else ppm
