"""09-9: who ends a membership, the coordinator or the worker itself, and when."""

from __future__ import annotations

from random import Random
from typing import Any

from kit.exercises.exercise import Exercise, cases, compare_results

INSTRUCTIVE = (
    (None, 10, 45, 300),
    (20, 10, 45, 300),
    (20, 10, 45, 30),
    (100, 10, 45, 30),
    (0, 0, 300, 45),
)


def moments(source: Random) -> tuple:
    polled_at, session_s = source.randrange(50), source.randrange(6, 60)
    interval_s = source.randrange(10, 400)
    by_itself = polled_at + interval_s
    shortly_before = max(polled_at + 1, by_itself - source.randrange(1, session_s))
    silent_at = source.choice([None, polled_at + source.randrange(1, 500), shortly_before])
    if silent_at == by_itself:
        silent_at += 1
    return silent_at, polled_at, session_s, interval_s


def who_ends_it(
    silent_at: int | None, polled_at: int, session_s: int, max_poll_interval_s: int
) -> list[Any]:
    by_itself = polled_at + max_poll_interval_s
    if silent_at is None or by_itself < silent_at:
        return ["worker", by_itself]
    return ["coordinator", silent_at + session_s]


def explain(arguments: tuple, expected: list[Any], seen: Any) -> str:
    silent_at, polled_at, session_s, interval_s = arguments
    if not isinstance(seen, list) or len(seen) != 2:
        return 'Return two values: "coordinator" or "worker", and the second.'
    if seen[0] == "coordinator" and expected[0] == "worker":
        if silent_at is None:
            return "Its heartbeats arrive, so its session never ends: the worker's own clock does."
        return f"At {expected[1]} s its heartbeat thread was still awake, and left the group."
    if seen[0] == "worker" and expected[0] == "coordinator":
        return (
            f"From {silent_at} s on the process is frozen, so it cannot leave at "
            f"{polled_at + interval_s} s: only the coordinator can act."
        )
    if seen[0] == "coordinator" and seen[1] == polled_at + session_s:
        return "The session begins again with each heartbeat, not with a poll."
    return f"The clock that ends it began at {silent_at if silent_at is not None else polled_at} s."


def _answer(*lines: str) -> str:
    head = "def who_ends_it(silent_at, polled_at, session_s, max_poll_interval_s):\n"
    return head + "\n".join(f"    {line}" for line in lines)


EXERCISE = Exercise(
    "09-9",
    "Which clock",
    (
        "Which of the two clocks needs a process that is awake?",
        "The session is measured by the coordinator, from the last heartbeat on. The poll interval "
        "is measured by the worker's heartbeat thread, from the last poll on.",
        "Work out when the poll interval would be over. If the worker is not silent by then, it "
        "leaves itself at that moment. Otherwise the coordinator removes it, one session after it "
        "became silent.",
    ),
    lambda answer, context: compare_results(context.inputs, answer, who_ends_it, explain),
    {
        "always the session": _answer('return "coordinator", (silent_at or polled_at) + session_s'),
        "the earlier clock": _answer(
            "by_itself = polled_at + max_poll_interval_s",
            "if silent_at is None or by_itself < silent_at + session_s:",
            '    return "worker", by_itself',
            'return "coordinator", silent_at + session_s',
        ),
        "the session from the last poll": _answer(
            "by_itself = polled_at + max_poll_interval_s",
            "if silent_at is None or by_itself < silent_at:",
            '    return "worker", by_itself',
            'return "coordinator", polled_at + session_s',
        ),
    },
    cases(INSTRUCTIVE, moments, count=40),
    minutes=7,
)
