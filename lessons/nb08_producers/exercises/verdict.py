"""08-4: what a producer may say about a record, from the answers to its attempts."""

from __future__ import annotations

from typing import Any

from kit.exercises.exercise import Exercise, compare_results

MAYBE = (
    "REQUEST_TIMED_OUT", "NETWORK_EXCEPTION", "NOT_ENOUGH_REPLICAS_AFTER_APPEND",
    "NOT_LEADER_OR_FOLLOWER", "UNKNOWN_TOPIC_OR_PARTITION", "KAFKA_STORAGE_ERROR",
)  # fmt: skip
TRIES: tuple[tuple[list[str]], ...] = (
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


def verdict(answers: list[str]) -> str:
    if answers and answers[-1] in ("NONE", "DUPLICATE_SEQUENCE_NUMBER"):
        return "acknowledged"
    return "unknown" if any(each in MAYBE for each in answers) else "refused"


def explain(arguments: tuple, expected: str, seen: Any) -> str:
    (answers,) = arguments
    if not answers:
        return "It was never sent, so it is certainly not in the log."
    if answers[-1] == "NONE":
        return 'NONE is the protocol\'s word for "no error": the record is in the log.'
    if answers[-1] == "DUPLICATE_SEQUENCE_NUMBER" and seen != expected:
        return "A duplicate is good news: the record is in the log, only its offset is forgotten."
    if expected == "unknown" and answers[-1] not in MAYBE:
        return "The last try was refused, but an earlier one may have been stored."
    if expected == "unknown":
        return "After this error the record may be in the log: you cannot rule it out."
    if expected == "refused" and seen == "unknown":
        return "No try of this record can have been stored: you may say so."
    return ""


EXERCISE = Exercise(
    "08-4",
    "Three verdicts",
    (
        "Only the last try decides about success. Which tries decide about doubt?",
        "Two errors come from the client itself (no answer, no connection), four from a broker "
        "that may have appended: the last column of the table of errors names all six.",
        "acknowledged if the last answer is NONE or DUPLICATE_SEQUENCE_NUMBER; unknown if any "
        f"answer is one of {', '.join(MAYBE)}; else refused.",
    ),
    lambda answer, context: compare_results(TRIES, answer, verdict, explain),
    {
        "success is called success": "def verdict(answers):\n"
        "    return 'acknowledged' if answers[-1] == 'success' else 'refused'",
        "an error is a no": "def verdict(answers):\n"
        "    return 'acknowledged' if answers and answers[-1] == 'NONE' else 'refused'",
        "only the last try": "def verdict(answers):\n"
        f"    maybe = {MAYBE}\n"
        "    if answers and answers[-1] in ('NONE', 'DUPLICATE_SEQUENCE_NUMBER'):\n"
        "        return 'acknowledged'\n"
        "    return 'unknown' if answers and answers[-1] in maybe else 'refused'",
        "every error is a doubt": "def verdict(answers):\n"
        "    if answers and answers[-1] in ('NONE', 'DUPLICATE_SEQUENCE_NUMBER'):\n"
        "        return 'acknowledged'\n"
        "    return 'unknown'",
    },
    TRIES,
)
