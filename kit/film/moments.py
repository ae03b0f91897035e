"""The positions of a timeline's slider: the steps of one timeline or of two.

A *moment* is a step of the first recording, of the second, or of both at the same virtual
time.  Up to the fork the two are one.  From there on each moment shows both; a timeline
without a step at that time stays as it was:

    first     0  1  2  3  4  5     6     7
                       |
    second             0     1  2     3  4        branched off at step 3
    moments   0  1  2  3  4  5  6  7  8  9  …
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kit.film.source import Frame

BEFORE = -1


@dataclass(frozen=True)
class Moment:
    """A step of each timeline; `second` is BEFORE where the timelines are still one."""

    first: int
    second: int = BEFORE

    @property
    def active(self) -> int:
        """The take that buttons and trace belong to: the second where there is one."""
        return 0 if self.second == BEFORE else 1

    def shows(self, take: int) -> tuple[int, int]:
        """The take and its step that stand for a take; before the fork both are the first."""
        return (1, self.second) if take and self.active else (0, self.first)


def merge(first: Sequence[Frame], second: Sequence[Frame] = (), at: int = 0) -> list[Moment]:
    """The moments of one timeline, or of two if a second one branched off at step `at`."""
    if not second:
        return [Moment(place) for place in range(len(first))]
    moments = [*(Moment(place) for place in range(at + 1)), Moment(at, 0)]
    one, other = at, 0
    while one + 1 < len(first) or other + 1 < len(second):
        times = [
            frames[place + 1].time_us
            for frames, place in ((first, one), (second, other))
            if place + 1 < len(frames)
        ]
        now = min(times)
        if one + 1 < len(first) and first[one + 1].time_us == now:
            one += 1
            both = other + 1 < len(second) and second[other + 1].time_us == now
            other += both
        else:
            other += 1
        moments.append(Moment(one, other))
    return moments


def within(moments: Sequence[Moment], place: int) -> int:
    """The nearest place that the timeline has."""
    return max(0, min(place, len(moments) - 1))


def new_steps(moments: Sequence[Moment], place: int) -> list[tuple[int, int]]:
    """The steps that are new at a moment, each behind its take."""
    moment = moments[place]
    before = moments[place - 1] if place else Moment(-1)
    steps = [(0, moment.first)] if moment.first != before.first else []
    return [*steps, (1, moment.second)] if moment.second != before.second else steps


def sentences(moment: Moment, steps: Sequence[tuple[int, str, bool]]) -> list[str]:
    """What is new at a moment; the sentences name the timeline if it matters.

    `steps` has the take of each new step, its sentence, and whether it is the fork.
    """
    said = [sentence for _, sentence, _ in steps]
    if not moment.active or len(set(said)) < len(said):
        return said[:1]  # one timeline, or the same step in both
    return [
        sentence if is_fork else f"Timeline {take + 1}: {sentence}"
        for take, sentence, is_fork in steps
    ]
