"""Settles a prediction by what a run has shown.  Judge side only.

A run is settled on each side by itself: the engine, Kafka, or the simulator.  A prediction
was right if it is right on every side that ran.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kit.exercises.exercise import Observed, Prediction

WORD = re.compile(r"[\w.+-]+")
FITS_NONE = "The choices are for the values in the question; this run shows something else."


class Unsettled(Exception):
    """The run reported too little to settle the prediction; one sentence for the author."""


class NoAnswer(Exception):
    """The learner's answer is none; one sentence says what is wanted."""


@dataclass(frozen=True, slots=True)
class Settled:
    """`right` by side: a letter, the words of a free answer, or "" where no choice fits."""

    right: Mapping[str, str]
    passed: bool | None
    """None if there is no answer yet, or no choice fits what a side has shown."""
    because: str = ""
    """For a wrong answer: the sentence that names the mistake, with what was seen.  Where no choice
    fits: why none does."""
    tempting: str = ""
    """For a right answer: a wrong one that many would give, if this run shows why it is wrong."""
    why_not: str = ""


def answer_of(prediction: Prediction, given: Any) -> str:
    """The learner's answer as it is kept.  Raises NoAnswer."""
    answer = words(given)
    if prediction.choices:
        answer = answer.casefold()
    if prediction.choices and answer not in prediction.letters():
        wanted = ", ".join(prediction.letters())
        raise NoAnswer(f"Choose one of {wanted}; there is no {str(given)!r}.")
    if not answer:
        raise NoAnswer(f"Give {prediction.form or 'an answer'}.")
    return answer


def words(value: Any) -> str:
    """Numbers and words, one space between them: `[101, 103]` and `101, 103` are the same."""
    if isinstance(value, list | tuple):
        return " ".join(filter(None, map(words, value)))
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return " ".join(WORD.findall(str(value)))


def settle(prediction: Prediction, answer: str, sides: Mapping[str, Observed]) -> Settled:
    """`answer` as `answer_of` gave it, or "" without one.  Raises Unsettled."""
    right = {side: _right(prediction, seen) for side, seen in sides.items()}
    for side, seen in sides.items():
        if prediction.choices and not right[side]:
            return Settled(right, None, _because(prediction, "", seen))
    if not answer or "" in right.values():
        return Settled(right, None)
    for side, seen in sides.items():
        if answer.casefold() != right[side].casefold():
            return Settled(right, False, _because(prediction, answer, seen))
    tempting = words(prediction.tempting)
    if not tempting or tempting.casefold() in [found.casefold() for found in right.values()]:
        return Settled(right, True)
    seen = next(iter(sides.values()))
    return Settled(right, True, tempting=tempting, why_not=_because(prediction, tempting, seen))


def _right(prediction: Prediction, seen: Observed) -> str:
    try:
        found = words(prediction.settle(seen))
    except KeyError as missing:
        raise Unsettled(
            f"The run must report {missing} to settle {prediction.id}; it reported "
            f"{', '.join(map(repr, seen)) or 'nothing'}."
        ) from missing
    if found and prediction.choices and found not in prediction.letters():
        raise Unsettled(f"{prediction.id} settles to {found!r}, which is none of its choices.")
    return found


def _because(prediction: Prediction, answer: str, seen: Observed) -> str:
    if not prediction.choices:
        return prediction.explain(answer.casefold(), seen)
    template = prediction.because.get(answer, "" if answer else FITS_NONE)
    if callable(template):
        return template(seen)
    try:
        return template.format_map({name: _readable(value) for name, value in seen.items()})
    except KeyError as missing:
        raise Unsettled(
            f"The sentence for choice {answer} of {prediction.id} needs {missing}, which the run "
            "did not report."
        ) from missing


def _readable(value: Any) -> Any:
    return ", ".join(map(str, value)) if isinstance(value, list) else value
