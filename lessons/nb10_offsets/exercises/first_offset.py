"""10-11: where a consumer starts, from the committed offset, the log's ends and the policy."""

from __future__ import annotations

from random import Random
from typing import Any

from kit.exercises.exercise import Exercise, cases, compare_results

STARTS = (
    (20, 0, 100, "latest"),
    (None, 0, 100, "latest"),
    (None, 30, 100, "earliest"),
    (20, 50, 100, "earliest"),
    (20, 50, 100, "latest"),
    (100, 0, 100, "earliest"),
    (120, 0, 100, "latest"),
    (50, 50, 100, "none"),
    (20, 50, 100, "none"),
    (None, 0, 0, "none"),
    (0, 0, 100, "latest"),
)


def starts(source: Random) -> tuple:
    start = source.choice([0, source.randrange(1, 50)])
    end = start + source.randrange(60)
    committed = source.choice(
        [None, start, end, source.randrange(120), source.randrange(start, end + 1)]
    )
    return committed, start, end, source.choice(["earliest", "latest", "none"])


def first_offset(committed: int | None, start: int, end: int, reset: str) -> int | str:
    if committed is not None and start <= committed <= end:
        return committed
    return {"earliest": start, "latest": end}.get(reset, "error")


def explain(arguments: tuple, expected: Any, seen: Any) -> str:
    committed, start, end, reset = arguments
    if seen != "error" and not isinstance(seen, int):
        return 'Give an offset, or the word "error".'
    if expected == committed:
        if committed == end:
            return (
                f"{committed} is the end of the log, and it is valid: the group is up to date, and "
                "waits for the next record."
            )
        if committed == start:
            return f"{committed} is the first offset in the log: it is still there."
        if committed == 0:
            return "0 is a committed offset like any other; None means that there is none."
        return (
            f"{committed} is committed and in the log, so auto.offset.reset={reset} does nothing."
        )
    if seen == committed and committed is not None:
        if committed > end:
            return f"{committed} is past the end of the log: it is out of range, too."
        return f"{committed} is committed, but the log starts at {start}: it is out of range."
    if expected == "error":
        return "There is no valid committed offset, and none means: do not choose one, fail."
    if reset == "earliest" and seen == 0:
        return f"The earliest offset is the first that is still there, {start}."
    if reset == "latest" and seen == end - 1:
        return f"The last record is {end - 1}, and latest starts behind it."
    return f"There is no valid committed offset, so {reset} decides."


EXERCISE = Exercise(
    "10-11",
    "Where does it start",
    (
        "One question comes before all others: is there a committed offset that can still be used?",
        "An offset can be used from the first one in the log up to the end, the end included: "
        "there the next record will be written. Only if it cannot be used does the policy count.",
        "Check that the committed offset is not None and is between start and end, both "
        "included; then it is the result. Otherwise look at the policy: the start of the log, its "
        "end, or the word for a failure.",
    ),
    lambda answer, context: compare_results(context.inputs, answer, first_offset, explain),
    {
        "the policy always": "def first_offset(committed, start, end, reset):\n"
        "    return {'earliest': start, 'latest': end}.get(reset, 'error')",
        "any committed offset": "def first_offset(committed, start, end, reset):\n"
        "    if committed is not None:\n"
        "        return committed\n"
        "    return {'earliest': start, 'latest': end}.get(reset, 'error')",
        "the end is out of range": "def first_offset(committed, start, end, reset):\n"
        "    if committed is not None and start <= committed < end:\n"
        "        return committed\n"
        "    return {'earliest': start, 'latest': end}.get(reset, 'error')",
        "the first offset is out of range": "def first_offset(committed, start, end, reset):\n"
        "    if committed is not None and (committed == 0 or start < committed <= end):\n"
        "        return committed\n"
        "    return {'earliest': start, 'latest': end}.get(reset, 'error')",
        "earliest is 0": "def first_offset(committed, start, end, reset):\n"
        "    if committed is not None and start <= committed <= end:\n"
        "        return committed\n"
        "    return {'earliest': 0, 'latest': end}.get(reset, 'error')",
    },
    cases(STARTS, starts, count=60),
    minutes=6,
)
