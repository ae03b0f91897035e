"""01-10: the state that a log gives a reader at an offset."""

from __future__ import annotations

from random import Random
from typing import Any

from kit.exercises.exercise import Exercise, cases, compare_results

LOG = [("ann", 10), ("bob", 5), ("ann", -3), ("cleo", 7)]
INSTRUCTIVE = [(LOG, 4), (LOG, 2), (LOG, 0), (LOG, 1)]


def made(source: Random) -> tuple:
    names = ["ann", "bob", "cleo"]
    log = [(source.choice(names), source.randrange(-9, 20)) for _ in range(source.randrange(4, 12))]
    return log, source.randrange(len(log) + 1)


def balances(log: list, offset: int) -> dict[str, int]:
    state: dict[str, int] = {}
    for account, change in log[:offset]:
        state[account] = state.get(account, 0) + change
    return state


def explain(arguments: tuple, expected: dict, seen: Any) -> str:
    log, offset = arguments
    if not isinstance(seen, dict):
        return "Return a dictionary: account -> balance."
    if seen == balances(log, offset + 1):
        return f"A next offset of {offset} means that the record at {offset} has not been read."
    if seen == balances(log, len(log)):
        return "These are the balances at the end of the log, not at the offset."
    if set(seen) == set(expected) and seen == dict(log[:offset]):
        return "These are the last changes. A balance is the sum of all changes."
    if set(seen) > set(expected):
        return "An account that no record before the offset names is not known yet."
    return "Each record before the offset adds its change to its account, once."


EXERCISE = Exercise(
    "01-10",
    "The state at an offset",
    (
        "Which records has a reader read whose next offset is 2?",
        "The state is the sum of the changes: begin with nothing, and apply one after another.",
        "Go through the records from offset 0 up to the one before the given offset. Add each "
        "change to the balance of its account, which is 0 when the account is seen for the first "
        "time.",
    ),
    lambda answer, context: compare_results(context.inputs, answer, balances, explain),
    {
        "one too many": "def balances(log, offset):\n    s = {}\n"
        "    for a, c in log[:offset + 1]:\n        s[a] = s.get(a, 0) + c\n    return s",
        "the whole log": "def balances(log, offset):\n    s = {}\n"
        "    for a, c in log:\n        s[a] = s.get(a, 0) + c\n    return s",
        "the last change": "def balances(log, offset):\n    return dict(log[:offset])",
        "every account": "def balances(log, offset):\n    s = {a: 0 for a, _ in log}\n"
        "    for a, c in log[:offset]:\n        s[a] += c\n    return s",
    },
    cases(INSTRUCTIVE, made, count=30),
    minutes=5,
)
