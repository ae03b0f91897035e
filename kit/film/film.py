"""A recorded story for a browser: one timeline or two, and the sentences of their steps."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from kit.film.moments import Moment, new_steps, sentences
from kit.film.source import Frame


@dataclass(frozen=True)
class Told:
    """A step's sentence, its name on the timeline, and how much it weighs among the others."""

    sentence: str
    label: str = ""
    weight: int = field(default=0, kw_only=True)


FORK = Told("Timeline 2 begins: the same past, and another future.", "fork")


@dataclass
class Film:
    """One take or two, with the moments they make together.

    A take is a timeline: it has `frames`, and a caption for each of them.
    """

    takes: list[Any]
    moments: list[Moment]
    forked_at: int = -1

    def frame(self, moment: Moment, take: int) -> Frame:
        """What a take shows at a moment."""
        shown, step = moment.shows(take)
        frame: Frame = self.takes[shown].frames[step]
        return frame

    def told(self, place: int) -> list[tuple[int, Any]]:
        """The steps that are new at a moment, each with its take."""
        return [
            (take, self.takes[take].told[step]) for take, step in new_steps(self.moments, place)
        ]

    def weight(self, told: Any) -> int:
        """How much a step weighs among the others."""
        return int(told.weight)

    def captions(self, place: int) -> list[str]:
        """What is new at a moment, in words."""
        told = [(take, each.sentence, each.label == "fork") for take, each in self.told(place)]
        return sentences(self.moments[place], told)
