"""11-9: who is fenced, when instances with the same transactional.id follow each other."""

from __future__ import annotations

from random import Random
from typing import Any

from kit.exercises.exercise import Exercise, cases, compare_results

Call = tuple[Any, ...]

INSTRUCTIVE: list[tuple[Any, ...]] = [
    ([("init", "till")],),
    ([("init", "till"), ("write", "till", 0)],),
    ([("write", "till", 0)],),
    ([("init", "till"), ("init", "till")],),
    ([("init", "till"), ("init", "desk")],),
    ([("init", "till"), ("init", "till"), ("write", "till", 0)],),
    ([("init", "till"), ("init", "till"), ("write", "till", 1)],),
    ([("init", "till"), ("init", "till"), ("init", "desk"), ("write", "desk", 0)],),
]


def calls(source: Random) -> tuple[Any, ...]:
    found: list[Call] = []
    given: dict[str, int] = {}
    for _ in range(source.randrange(1, 8)):
        name = source.choice(["till", "desk"])
        if source.random() < 0.5:
            given[name] = given.get(name, -1) + 1
            found.append(("init", name))
        else:
            found.append(("write", name, source.randrange(given.get(name, 0) + 1)))
    return (found,)


def fencing(calls: list[Call]) -> list[int | str]:
    epochs: dict[str, int] = {}
    results: list[int | str] = []
    for kind, name, *epoch in calls:
        if kind == "init":
            epochs[name] = epochs.get(name, -1) + 1
            results.append(epochs[name])
        elif name not in epochs:
            results.append("unknown")
        else:
            results.append("ok" if epoch[0] == epochs[name] else "fenced")
    return results


def explain(arguments: tuple[Any, ...], expected: Any, seen: Any) -> str:
    (asked,) = arguments
    if not isinstance(seen, list) or len(seen) != len(asked):
        return "Give a list with one result for each call."
    for call, right, given in zip(asked, expected, seen, strict=True):
        if given == right:
            continue
        if right == "unknown":
            return f"{call[1]} was not initialized before this write."
        if call[0] == "init":
            return f"This init of {call[1]} gives epoch {right}: each name has its own epochs."
        if right == "fenced":
            return f"Epoch {call[2]} of {call[1]} is old: a later instance has a higher one."
        return f"Epoch {call[2]} is the current one of {call[1]}: this instance is not fenced."
    return "The results have another type: numbers for init, words for write."


HEAD = "def fencing(calls):\n    epochs, results = {}, []\n    for kind, name, *epoch in calls:\n"
INIT = (
    "        if kind == 'init':\n"
    "            epochs[name] = epochs.get(name, -1) + 1\n"
    "            results.append(epochs[name])\n"
)

EXERCISE = Exercise(
    "11-9",
    "Fencing",
    (
        "What must the brokers remember between two calls?",
        "One number for each name: its current epoch. An init raises it, a write is compared "
        "with it.",
        "Keep a dictionary from a name to its epoch. At init store 0, or one more than before, and "
        "give that. At a write look the name up: missing, equal, or older.",
    ),
    lambda answer, context: compare_results(context.inputs, answer, fencing, explain),
    {
        "no fencing": HEAD
        + INIT
        + "        else:\n            results.append('ok' if name in epochs else 'unknown')\n"
        + "    return results",
        "one epoch for all names": HEAD
        + INIT.replace("[name]", "['']").replace("get(name", "get(''")
        + "        elif '' not in epochs:\n            results.append('unknown')\n"
        + "        else:\n"
        + "            results.append('ok' if epoch[0] == epochs[''] else 'fenced')\n"
        + "    return results",
        "an unknown name is fenced": HEAD
        + INIT
        + "        else:\n"
        + "            results.append('ok' if epochs.get(name) == epoch[0] else 'fenced')\n"
        + "    return results",
    },
    cases(INSTRUCTIVE, calls, count=60),
    minutes=8,
)
