"""How long to wait before the next attempt: longer each time, and never quite the same (KIP-580).

    wait = initial * 2^failures, at most `max`, times a random factor between 0.8 and 1.2;
           and then at most `max`, so the jitter only shortens the longest wait

Doubling gives a struggling broker time.  The jitter keeps a thousand clients that lost the same
broker at the same moment from coming back at the same moment.  Until Kafka 3.7 the producer waited
retry.backoff.ms each time.  If `initial` is `max` or more, nothing is left to double: every wait is
`max`, without jitter.

Simplified: the Java client draws the jitter again whenever it looks; here it is drawn once per
attempt, so that a run shows one number.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

MULTIPLIER = 2
JITTER = 0.2


@dataclass(slots=True)
class ExponentialBackoff:
    """Waits in microseconds; `chance` is the client's own seeded source."""

    initial_us: int
    max_us: int
    chance: Random

    def wait_us(self, failures: int) -> int:
        """The wait after `failures` failed attempts before this one, so 0 for the first."""
        if self.initial_us >= self.max_us:
            return self.max_us
        bare_us = min(self.initial_us * MULTIPLIER ** min(failures, 32), self.max_us)
        factor = 1 + JITTER * (2 * self.chance.random() - 1)
        return min(int(bare_us * factor), self.max_us)
