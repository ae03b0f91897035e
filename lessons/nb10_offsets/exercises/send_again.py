"""10-12: which failed asynchronous commit may be sent again."""

from __future__ import annotations

from random import Random
from typing import Any

from kit.exercises.exercise import Exercise, cases, compare_results

PASSING = (
    "COORDINATOR_LOAD_IN_PROGRESS", "COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR",
    "REQUEST_TIMED_OUT", "NETWORK_EXCEPTION",
)  # fmt: skip
FINAL = (
    "ILLEGAL_GENERATION", "UNKNOWN_MEMBER_ID", "FENCED_INSTANCE_ID", "OFFSET_METADATA_TOO_LARGE",
    "GROUP_AUTHORIZATION_FAILED",
)  # fmt: skip
FAILURES = (
    (7, 7, "NOT_COORDINATOR"),
    (6, 7, "NOT_COORDINATOR"),
    (7, 7, "ILLEGAL_GENERATION"),
    (7, 7, "NETWORK_EXCEPTION"),
    (7, 7, "OFFSET_METADATA_TOO_LARGE"),
    (1, 9, "UNKNOWN_MEMBER_ID"),
)


def failures(source: Random) -> tuple:
    number = source.randrange(1, 100)
    newest = number + source.choice([0, 0, 1, source.randrange(1, 20)])
    return number, newest, source.choice([*PASSING, *PASSING, *FINAL])


def send_again(number: int, newest: int, error: str) -> bool:
    return number == newest and error in PASSING


def explain(arguments: tuple, expected: bool, seen: Any) -> str:
    number, newest, error = arguments
    if not isinstance(seen, bool):
        return "Give True or False."
    if expected:
        return f"{error} passes, and no newer commit was sent: nothing can be overwritten."
    if error in PASSING:
        return (
            f"Commit {newest} was sent after commit {number}. If the old one arrives later, the "
            "group goes back."
        )
    if error in ("OFFSET_METADATA_TOO_LARGE", "GROUP_AUTHORIZATION_FAILED"):
        return f"{error} will be the answer again, however often the commit is sent."
    return (
        f"{error}: the group has gone on without this member, and its partitions may belong to "
        "another one."
    )


HEAD = "def send_again(number, newest, error):\n"

EXERCISE = Exercise(
    "10-12",
    "Which commit may be sent again",
    (
        "Two conditions. One is about other commits, the other about the error.",
        "A newer commit contains all that the old one says. And some errors pass by themselves, "
        "while others will come again, or say that the group has gone on.",
        "Return True only if the failed commit is the newest one that was sent, and its error is "
        "one of the five that pass: the coordinator is loading, is not available, has moved, or no "
        "answer came in time or at all.",
    ),
    lambda answer, context: compare_results(context.inputs, answer, send_again, explain),
    {
        "the error alone": HEAD + f"    return error in {PASSING}",
        "the number alone": HEAD + "    return number == newest",
        "never": HEAD + "    return False",
    },
    cases(FAILURES, failures, count=60),
    minutes=5,
)
