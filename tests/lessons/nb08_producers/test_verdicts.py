"""The verdicts of notebook 08 come from what its runs observe."""

from __future__ import annotations

from typing import Any

import pytest

from engine.client.completion import Completion
from engine.storage.producer_states import ProducerStates
from kit.exercises import settling
from lessons.nb08_producers.exercises.predictions import PREDICTIONS
from tests.lessons.verdicts import seen_by, settled

DEFINED = {each.id: each for each in PREDICTIONS}


def six(log: str, errors: int = 0) -> dict[str, Any]:
    """What the run of 08-11 observes with six requests in flight."""
    return {
        "the log": log,
        "sent": "A B C D E F",
        "errors that the application saw": errors,
        "first answer to a repeat": "success",
        "epoch": 0,
    }


def test_a_producer_that_does_not_send_again_changes_the_verdict(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Completion, "_may_retry", lambda *arguments: False)
    assert settled("08-1", seen_by("08", "lost-answer")) == "a b c"


def test_a_leader_that_forgets_at_once_stores_the_repeat(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Idempotence is the leader's memory."""
    from lessons.nb08_producers import virtual_runs
    from lessons.nb08_producers.shop import Shop

    monkeypatch.setattr(ProducerStates, "find_duplicate", lambda *arguments: None)
    shop = Shop(virtual_runs.orders(), "orders")
    shop.lose_answers(1)
    shop.send("A")
    shop.wait()
    assert shop.log() == ["A", "A"]


SEEN: dict[str, list[tuple[dict[str, Any], str]]] = {
    "08-11": [
        (six("A B C D E F"), "a"),
        (six("A B C D E F A"), "c"),
        (six("A B C D E F", errors=1), "b"),
        (six("B A C D E F"), ""),
        (six("A B C D E") | {"sent": "A B C D E"}, ""),
    ],
    "08-12": [
        ({"A in the log": 0, "the callback": "TimeoutException"}, "a"),
        ({"A in the log": 2, "the callback": "TimeoutException"}, "b"),
        ({"A in the log": 1, "the callback": ""}, ""),
    ],
    "08-14": [
        ({"refused": 0, "acknowledged and missing": 0, "acknowledged after the election": 2}, "d"),
        ({"refused": 2, "acknowledged and missing": 0, "acknowledged after the election": 0}, "c"),
    ],
    "08-15": [({"gain": 1.9}, "b"), ({"gain": 4.4}, "c"), ({"gain": 0.5}, "d")],
}


@pytest.mark.parametrize(
    ("question", "seen", "letter"),
    [(question, *case) for question, cases in SEEN.items() for case in cases],
)
def test_a_changed_scenario_makes_another_choice_right(
    question: str, seen: dict[str, Any], letter: str
) -> None:
    assert settled(question, seen) == letter


@pytest.mark.parametrize(
    ("question", "answer", "seen", "says"),
    [
        ("08-1", "A B C", {"attempts to send the record": 2, "the log": "A B B C"}, "2 times"),
        ("08-1", "A C", {"attempts to send the record": 2, "the log": "A B B C"}, "can be read"),
        ("08-3", "A B C D", {"the log": "D C B A"}, "front of its queue"),
        ("08-3", "B C D A", {"the log": "D C B A"}, "D C B A"),
        ("08-3", "D C B A", {"the log": "A B C D", "most requests under way": 1}, "to overtake"),
        ("08-3", "D C B A", {"the log": "A B C D", "most requests under way": 4}, "a number"),
        ("08-13", "1",
         {"pay 10 in the log": 3, "calls of send()": 3, "requests": 5.0}, "called 3 times"),
        ("08-13", "2",
         {"pay 10 in the log": 3, "calls of send()": 3, "requests": 5.0}, "only their answers"),
        ("08-14", "a",
         {"refused": 0, "acknowledged and missing": 2, "acknowledged after the election": 0,
          "acknowledged before the death": ["A", "B", "C"]}, "A, B, C"),
    ],
)  # fmt: skip
def test_a_wrong_answer_hears_what_this_run_showed(
    question: str, answer: str, seen: dict[str, Any], says: str
) -> None:
    prediction = DEFINED[question]
    given = settling.answer_of(prediction, answer)
    assert says in settling.settle(prediction, given, {"": seen}).because
