"""A step: one fact about two neighboring frames.

It has a short label for the timeline, a sentence for the caption, and a weight: a process's
death weighs more than a write.  Words in `**` are stressed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

MINOR, NOTABLE, MAJOR = 0, 1, 2


@dataclass(frozen=True)
class Step:
    """One thing that happened; `label` for the timeline, `sentence` for the caption."""

    weight: int
    label: str
    sentence: str


def plain(sentence: str) -> str:
    """A sentence without its `**`."""
    return sentence.replace("**", "")


def together(cause: Sequence[Step], later: Sequence[Step]) -> str:
    """At most two sentences: the weightiest, in the order they happened."""
    notable = [step for step in later if step.weight > MINOR or not cause]
    found = [*cause, *notable]
    chosen = sorted(found, key=lambda step: -step.weight)[:2]
    if notable and cause and not any(step in chosen for step in notable):
        chosen = [chosen[-1], notable[-1]]  # the newest event is never left out
    return " ".join(step.sentence for step in found if step in chosen)
