"""12-9: the offsets that are left after the first pass."""

from __future__ import annotations

from random import Random
from typing import Any

from kit.exercises.exercise import Exercise, cases, compare_results

CASES: tuple[tuple, ...] = (
    ([[0, "a", "1"], [1, "b", "1"], [2, "c", "1"], [3, "c", "2"]], 2),
    ([[0, "a", "1"], [1, "a", "2"], [2, "b", "1"]], 2),
    ([[0, "a", "1"], [1, "b", "1"], [2, "a", "2"]], 2),
    ([[0, "a", "1"], [1, "a", None], [2, "b", "1"]], 2),
    ([[0, "a", "1"], [1, "b", "1"], [2, "b", "2"], [3, "b", "3"]], 2),
    ([[5, "a", "1"], [6, "a", "1"], [8, "b", "1"]], 8),
)


def made(source: Random) -> tuple:
    history, offset = [], source.randrange(50)
    for _ in range(source.randrange(2, 16)):
        value = None if source.random() < 0.2 else str(source.randrange(9))
        history.append([offset, source.choice("abcd"), value])
        offset += source.choice((1, 1, 1, 2))
    return history, source.choice(history)[0]


def left_by_a_pass(history: list[list[Any]], active: int) -> list[int]:
    latest = {key: offset for offset, key, _ in history if offset < active}
    return [offset for offset, key, _ in history if offset >= active or latest[key] == offset]


def explain(arguments: tuple, expected: list[int], seen: Any) -> str:
    history, active = arguments
    if not isinstance(seen, list) or not all(isinstance(each, int) for each in seen):
        return "A list of offsets is asked for."
    places = [history[each][0] for each in seen if 0 <= each < len(history)]
    if places == expected and len(seen) == len(expected):
        return "These are places in the list; the offsets at these places are asked for."
    if set(seen) - {offset for offset, _, _ in history}:
        return "There is no record with one of these offsets: compaction gives no new ones."
    if set(seen) - set(expected):
        return "Of each key only the last record below the active segment stays."
    missing = [each for each in expected if each not in seen]
    if any(value is None for offset, _, value in history if offset in missing and offset < active):
        return "The first pass keeps a tombstone, so that readers hear of the deletion."
    if any(offset >= active for offset in missing):
        return "The active segment is not cleaned: every record in it stays."
    if missing:
        return (
            "A record may be replaced only by one that the pass has seen, below the active segment."
        )
    return "The log keeps its order: give the offsets in that order."


EXERCISE = Exercise(
    "12-9",
    "What is left",
    (
        "The pass goes over the log twice. What does it want to know after the first time?",
        "Two things are special: what the pass never looks at, and what a missing value means.",
        "Note the last offset of each key, only from records below the active segment. Then keep "
        "the records of the active segment, and those whose offset is the one noted for their key.",
    ),
    lambda answer, context: compare_results(context.inputs, answer, left_by_a_pass, explain),
    {
        "the active segment counts": "def left_by_a_pass(history, active):\n"
        "    latest = {key: offset for offset, key, _ in history}\n"
        "    return [o for o, key, _ in history if o >= active or latest[key] == o]",
        "all of it is cleaned": "def left_by_a_pass(history, active):\n"
        "    latest = {key: offset for offset, key, _ in history}\n"
        "    return [o for o, key, _ in history if latest[key] == o]",
        "tombstones go": "def left_by_a_pass(history, active):\n"
        "    latest = {key: offset for offset, key, _ in history if offset < active}\n"
        "    return [o for o, key, value in history\n"
        "            if o >= active or (latest[key] == o and value is not None)]",
        "the first of each key": "def left_by_a_pass(history, active):\n"
        "    first = {}\n"
        "    for offset, key, _ in history:\n"
        "        first.setdefault(key, offset)\n"
        "    return [o for o, key, _ in history if o >= active or first[key] == o]",
        "new numbers": "def left_by_a_pass(history, active):\n"
        "    latest = {key: offset for offset, key, _ in history if offset < active}\n"
        "    kept = [o for o, key, _ in history if o >= active or latest[key] == o]\n"
        "    return list(range(1000, 1000 + len(kept)))",
    },
    cases(CASES, made, count=40),
    minutes=6,
)
