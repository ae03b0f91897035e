"""Axes of a chart: from numbers to pixels, ticks at round numbers, and numbers as words.

    Axis(low, high, first_pixel, last_pixel).at(value)     where a value is
    .ticks(5)                                              about five round values

A logarithmic axis goes from one power of ten to another; 2 and 5 times a power of ten are
ticks too where there is room.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

ROUND = (1.0, 2.0, 5.0, 10.0)
MILLION = 1e6


@dataclass(frozen=True)
class Axis:
    """Maps `low`..`high` to pixels `start`..`end`; `start` may be the larger one (for y)."""

    low: float
    high: float
    start: float
    end: float
    logarithmic: bool = False
    whole: bool = False
    """All values are whole numbers, so no tick is between two of them."""

    def at(self, value: float) -> float:
        low, high = self.low, self.high
        if self.logarithmic:
            low, high, value = math.log10(low), math.log10(high), math.log10(value)
        return round(self.start + (value - low) / (high - low) * (self.end - self.start), 1)

    def to_ticks(self, about: int) -> Axis:
        """The same, made longer so that it begins and ends with a tick."""
        if self.logarithmic:
            return self
        ticks = self.ticks(about)
        step = ticks[1] - ticks[0] if len(ticks) > 1 else 1.0
        low = math.floor(self.low / step + 1e-9) * step
        return replace(self, low=low, high=math.ceil(self.high / step - 1e-9) * step)

    def ticks(self, about: int) -> list[float]:
        if self.logarithmic:
            return self._powers(about)
        step = nice_step((self.high - self.low) / about)
        step = max(1.0, step) if self.whole else step
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [round(place * step, 12) for place in range(first, last + 1)]

    def _powers(self, about: int) -> list[float]:
        first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
        between = (1.0, 2.0, 5.0) if last - first <= about / 2 else (1.0,)
        every = max(1, math.ceil((last - first) / (2 * about)))
        found = [
            factor * 10.0**power for power in range(first, last + 1, every) for factor in between
        ]
        return [tick for tick in found if self.low <= tick * (1 + 1e-9) and tick <= self.high]


def span(values: Iterable[float], *, from_zero: bool, logarithmic: bool) -> tuple[float, float]:
    """The lowest and highest value to show; never the same number twice.

    Zero belongs to the picture if `from_zero`, or if it is no farther from the lowest value
    than the highest one is.
    """
    known = [value for value in values if math.isfinite(value)]
    if not known:
        return (1.0, 10.0) if logarithmic else (0.0, 1.0)
    low, high = min(known), max(known)
    if logarithmic:
        low, high = (10.0 ** round_to(math.log10(each))
                     for each, round_to in ((low, math.floor), (high, math.ceil)))  # fmt: skip
        return (low, high) if low < high else (low, high * 10)
    if from_zero or 0 <= low <= high / 2:
        low, high = min(low, 0.0), max(high, 0.0)
    return (low, high) if low < high else (low - 1.0, high + 1.0)


def nice_step(rough: float) -> float:
    """The smallest of 1, 2, 5, 10, … times a power of ten that is not below `rough`."""
    power = 10.0 ** math.floor(math.log10(rough))
    return next(each * power for each in ROUND if each * power >= rough * (1 - 1e-9))


def labels(ticks: Sequence[float]) -> list[str]:
    """The ticks as text, all with as many decimals as one of them needs."""
    if not ticks:
        return []
    if min(ticks) > 0 and max(ticks) >= 100 * min(ticks):  # a logarithmic axis
        return [spoken(tick) for tick in ticks]
    unit, letter = (MILLION, " M") if max(map(abs, ticks)) >= MILLION else (1.0, "")
    scaled = [tick / unit for tick in ticks]
    decimals = next((n for n in range(10) if all(abs(t - round(t, n)) < 1e-9 for t in scaled)), 9)
    return [f"{tick + 0.0:,.{decimals}f}{letter if tick else ''}" for tick in scaled]


def spoken(value: float) -> str:
    """A value in a sentence: whole numbers as they are, others with three digits that count."""
    if not math.isfinite(value):
        return "nothing"
    if value == round(value) or abs(value) >= 100:
        return f"{value + 0.0:,.0f}"
    decimals = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:.{decimals}f}".rstrip("0").rstrip(".")
