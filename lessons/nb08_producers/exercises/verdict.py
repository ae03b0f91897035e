"""08-4: what a producer may say about a record, from the answers to its attempts."""

from __future__ import annotations

from random import Random
from typing import Any

from kit.exercises.exercise import Exercise, cases, compare_results

STORED = ("NONE", "DUPLICATE_SEQUENCE_NUMBER")
MAYBE = (
    "REQUEST_TIMED_OUT", "NETWORK_EXCEPTION", "NOT_ENOUGH_REPLICAS_AFTER_APPEND",
    "NOT_LEADER_OR_FOLLOWER", "UNKNOWN_TOPIC_OR_PARTITION", "KAFKA_STORAGE_ERROR",
)  # fmt: skip
REFUSED = ("NOT_ENOUGH_REPLICAS", "MESSAGE_TOO_LARGE", "INVALID_RECORD")
WORDS = ("acknowledged", "refused", "unknown")
ATTEMPTS: tuple[tuple[list[str]], ...] = (
    (["NONE"],),
    (["NOT_ENOUGH_REPLICAS"],),
    (["REQUEST_TIMED_OUT"],),
    (["NOT_LEADER_OR_FOLLOWER", "NONE"],),
    (["NETWORK_EXCEPTION", "NOT_LEADER_OR_FOLLOWER", "NOT_ENOUGH_REPLICAS"],),
    (["NOT_ENOUGH_REPLICAS_AFTER_APPEND"],),
    (["NOT_LEADER_OR_FOLLOWER", "NOT_ENOUGH_REPLICAS"],),
    (["REQUEST_TIMED_OUT", "DUPLICATE_SEQUENCE_NUMBER"],),
    (["MESSAGE_TOO_LARGE"],),
    ([],),
)


def attempts(source: Random) -> tuple:
    """Attempts without doubt, or with some; the last may be a success or a final refusal."""
    errors = source.choice([REFUSED[:1], (*REFUSED[:1], *MAYBE)])
    answers = [source.choice(errors) for _ in range(source.randrange(6))]
    return ([*answers, source.choice([*STORED, *REFUSED, *REFUSED, *errors])],)


def verdict(answers: list[str]) -> str:
    if answers and answers[-1] in STORED:
        return "acknowledged"
    return "unknown" if any(each in MAYBE for each in answers) else "refused"


def explain(arguments: tuple, expected: str, seen: Any) -> str:
    (answers,) = arguments
    if seen not in WORDS:
        return f"Give one of {', '.join(WORDS)}."
    if not answers:
        return "It was never sent, so it is certainly not in the log: that is refused."
    last = answers[-1]
    if last == "NONE":
        return 'NONE is the protocol\'s word for "no error": the record is in the log.'
    if last == "DUPLICATE_SEQUENCE_NUMBER":
        return (
            f"{last} is a success: the record is in the log already, and only its offset is lost."
        )
    if seen == "acknowledged":
        return f"The last attempt ended with {last}: no broker acknowledged the record."
    if expected == "refused":
        return f"None of these attempts can have stored the record; after {last} you may say so."
    doubtful = next(place for place, each in enumerate(answers) if each in MAYBE)
    if doubtful < len(answers) - 1 and last not in MAYBE:
        return (
            f"The last attempt was refused. But attempt {doubtful + 1} ended with "
            f"{answers[doubtful]}, so the record may have been stored then."
        )
    return f"After {answers[doubtful]} the record may be in the log: you cannot rule it out."


EXERCISE = Exercise(
    "08-4",
    "Three verdicts",
    (
        "Only the last attempt decides about success. Which attempts decide about doubt?",
        "Two errors come from the client itself (no answer, no connection), four from a broker "
        "that may have appended: the text above the exercise names all six.",
        "First look at the last answer: two of the names mean that the record is in the log. If it "
        "is neither, go through all answers and look for one of the six errors after which the "
        "record may be in the log. If there is none, the record was refused; that is also so if "
        "there was no attempt.",
    ),
    lambda answer, context: compare_results(context.inputs, answer, verdict, explain),
    {
        "success is called success": "def verdict(answers):\n"
        "    return 'acknowledged' if answers[-1] == 'success' else 'refused'",
        "an error is a no": "def verdict(answers):\n"
        "    return 'acknowledged' if answers and answers[-1] == 'NONE' else 'refused'",
        "only the last attempt": "def verdict(answers):\n"
        f"    maybe = {MAYBE}\n"
        "    if answers and answers[-1] in ('NONE', 'DUPLICATE_SEQUENCE_NUMBER'):\n"
        "        return 'acknowledged'\n"
        "    return 'unknown' if answers and answers[-1] in maybe else 'refused'",
        "every error is a doubt": "def verdict(answers):\n"
        "    if answers and answers[-1] in ('NONE', 'DUPLICATE_SEQUENCE_NUMBER'):\n"
        "        return 'acknowledged'\n"
        "    return 'unknown'",
        "a duplicate is an error": "def verdict(answers):\n"
        f"    maybe = {MAYBE}\n"
        "    if answers and answers[-1] == 'NONE':\n"
        "        return 'acknowledged'\n"
        "    return 'unknown' if any(each in maybe for each in answers) else 'refused'",
    },
    cases(ATTEMPTS, attempts, count=60),
    minutes=8,
)
