"""Rates as Kafka's quotas measure them: sums over small windows, and a bucket of tokens.

A byte quota is a rate over `quota.window.num` samples of `quota.window.size.seconds` each
(11 of one second: ten full ones and the one that is filling):

    samples   |  0 |  0 | 90k| 60k|  0 | …  | 40k|   sum 190k over 10.4 s = 18.3 kB/s
              oldest                        current

A new list of samples counts as ten full windows too; otherwise the first batch of a new client
would look like an enormous rate.  So ten times the quota may pass in one burst before anyone is
throttled.

Over the limit, the time to wait is the one that would bring the rate down again if nothing
more came: observed O, allowed T, window W; O * W / (W + X) = T, so X = (O - T) / T * W.

A mutation quota is a bucket of tokens instead (KIP-599): it is refilled all the time and holds at
most samples * seconds * rate.  A client that finds it below zero waits until it is back at zero.
Source: Rate, SampledStat, TokenBucket and QuotaUtils of Kafka 4.3.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field


@dataclass(slots=True)
class Sample:
    """What was counted in one window."""

    start_ms: int
    last_ms: int
    value: float = 0.0


@dataclass(slots=True)
class WindowedRate:
    """A rate per second over `samples` windows of `window_ms`."""

    samples: int
    window_ms: int
    kept: deque[Sample] = field(default_factory=deque)

    def record(self, value: float, now_ms: int) -> None:
        """Counts `value`; a negative one takes back what was counted."""
        if not self.kept or now_ms - self.kept[-1].start_ms >= self.window_ms:
            self.kept.append(Sample(now_ms, now_ms))
            # One more than the windows: the oldest may overlap the time that counts.
            if len(self.kept) > self.samples + 1:
                self.kept.popleft()
        self.kept[-1].value += value
        self.kept[-1].last_ms = now_ms

    def elapsed_ms(self, now_ms: int) -> int:
        """The time that the rate is measured over."""
        self._forget_old(now_ms)
        elapsed = now_ms - self.kept[0].start_ms if self.kept else 0
        missing = self.samples - 1 - elapsed // self.window_ms
        return max(elapsed + max(missing, 0) * self.window_ms, 1)

    def measure(self, now_ms: int) -> float:
        """The rate per second."""
        self._forget_old(now_ms)
        return sum(each.value for each in self.kept) * 1000 / self.elapsed_ms(now_ms)

    def throttle_ms(self, bound: float, now_ms: int) -> int:
        """How long to wait until the rate is `bound` again; 0 if it is not above."""
        rate = self.measure(now_ms)
        if rate <= bound:
            return 0
        return int((rate - bound) / bound * self.elapsed_ms(now_ms) + 0.5)

    def _forget_old(self, now_ms: int) -> None:
        while self.kept and now_ms - self.kept[0].last_ms >= self.samples * self.window_ms:
            self.kept.popleft()


@dataclass(slots=True)
class TokenBucket:
    """Tokens that come back at a rate, at most `samples` windows' worth of them."""

    samples: int
    window_ms: int
    tokens: float = 0.0
    refilled_ms: int = 0

    def measure(self, bound: float, now_ms: int) -> float:
        """The tokens in it now; below zero, there is a debt to wait for."""
        burst = bound * self.samples * self.window_ms / 1000
        earned = bound * (now_ms - self.refilled_ms) / 1000
        self.tokens = min(burst, self.tokens + earned)
        self.refilled_ms = now_ms
        return self.tokens

    def take(self, count: float, bound: float, now_ms: int) -> None:
        self.tokens = self.measure(bound, now_ms) - count

    def throttle_ms(self, bound: float, now_ms: int) -> int:
        """How long until the debt is paid."""
        tokens = self.measure(bound, now_ms)
        return 0 if tokens >= 0 else int(-tokens / bound * 1000 + 0.5)
