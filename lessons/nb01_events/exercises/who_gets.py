"""01-8: a queue, a pub/sub topic and a log, each with readers that come and read."""

from __future__ import annotations

from random import Random
from typing import Any

from kit.exercises.exercise import Exercise, cases, compare_results

KINDS = ("queue", "pub/sub", "log")
STEPS = [
    ("joins", "ann"),
    ("publishes", "A"),
    ("joins", "bob"),
    ("publishes", "B"),
    ("reads", "bob"),
    ("reads", "ann"),
]
TWO_READS = [
    ("joins", "ann"),
    ("publishes", "A"),
    ("reads", "ann"),
    ("publishes", "B"),
    ("reads", "ann"),
]
INSTRUCTIVE = [(kind, steps) for steps in (STEPS, TWO_READS) for kind in KINDS]


def made(source: Random) -> tuple:
    names, steps = ["ann", "bob", "cleo"], []
    there: list[str] = []
    for number in range(source.randrange(5, 14)):
        absent = [name for name in names if name not in there]
        choice = source.random()
        if absent and (choice < 0.3 or not there):
            there.append(absent[0])
            steps.append(("joins", absent[0]))
        elif choice < 0.65:
            steps.append(("publishes", f"e{number}"))
        else:
            steps.append(("reads", source.choice(there)))
    return source.choice(KINDS), steps


def who_gets(kind: str, steps: list) -> dict[str, list[str]]:
    published: list[str] = []
    taken = 0
    position: dict[str, int] = {}
    got: dict[str, list[str]] = {}
    for step, name in steps:
        if step == "joins":
            got[name] = []
            position[name] = len(published) if kind == "pub/sub" else 0
        elif step == "publishes":
            published.append(name)
        else:
            start = taken if kind == "queue" else position[name]
            got[name] += published[start:]
            taken = position[name] = len(published)
    return got


def explain(arguments: tuple, expected: dict, seen: Any) -> str:
    kind, steps = arguments
    if not isinstance(seen, dict) or set(seen) != set(expected):
        return f"Return a list for each reader that joined: {', '.join(expected) or 'none'}."
    reader = next(name for name in expected if seen[name] != expected[name])
    right, wrong = expected[reader], seen[reader]
    published = [name for step, name in steps if step == "publishes"]
    if not isinstance(wrong, list):
        return f"{reader} needs a list of events."
    more = [each for each in wrong if each not in right]
    if len(wrong) != len(set(wrong)):
        return f"{reader} got {wrong}: an event comes to a reader once."
    if kind == "queue" and more:
        return f"In a queue {more[0]} was taken by another reader before {reader} read."
    if kind == "pub/sub" and more:
        return f"{more[0]} was published before {reader} joined: pub/sub had kept nothing."
    if kind == "log" and len(wrong) < len(right) and wrong == right[-len(wrong) :]:
        return f"{reader} joined late and still gets {right[0]}: a log has kept it."
    if len(wrong) < len(right):
        return f"{kind}: {reader} gets {right}; other readers take nothing away from it."
    return f"{kind}: of {published}, {reader} gets {right} at its own reads."


EXERCISE = Exercise(
    "01-8",
    "Who gets what",
    (
        "Ask for each of the three: what is kept, and who removes it?",
        "The queue has one list for all readers. Pub/sub has a list for each reader, which begins "
        "when it joins. The log has one list that is never shortened.",
        "Keep all published events in one list. A reader of the log is a position that begins at "
        "0. A subscriber is a position that begins at the end of the list when it joins. The queue "
        "is one position that all readers share. A read takes everything from the position on, and "
        "moves it to the end.",
    ),
    lambda answer, context: compare_results(context.inputs, answer, who_gets, explain),
    {
        "a queue that copies": "def who_gets(kind, steps):\n"
        "    out, got, at = [], {}, {}\n"
        "    for s, n in steps:\n"
        "        if s == 'joins':\n"
        "            got[n], at[n] = [], len(out) if kind == 'pub/sub' else 0\n"
        "        elif s == 'publishes':\n"
        "            out.append(n)\n"
        "        else:\n"
        "            got[n] += out[at[n]:]\n"
        "            at[n] = len(out)\n"
        "    return got",
        "pub/sub that keeps": "def who_gets(kind, steps):\n"
        "    out, got, at, taken = [], {}, {}, 0\n"
        "    for s, n in steps:\n"
        "        if s == 'joins':\n"
        "            got[n], at[n] = [], 0\n"
        "        elif s == 'publishes':\n"
        "            out.append(n)\n"
        "        else:\n"
        "            got[n] += out[taken if kind == 'queue' else at[n]:]\n"
        "            taken = at[n] = len(out)\n"
        "    return got",
        "a log that forgets": "def who_gets(kind, steps):\n"
        "    out, got, at, taken = [], {}, {}, 0\n"
        "    for s, n in steps:\n"
        "        if s == 'joins':\n"
        "            got[n], at[n] = [], len(out)\n"
        "        elif s == 'publishes':\n"
        "            out.append(n)\n"
        "        else:\n"
        "            got[n] += out[taken if kind == 'queue' else at[n]:]\n"
        "            taken = at[n] = len(out)\n"
        "    return got",
        "no position": "def who_gets(kind, steps):\n"
        "    out, got, since, taken = [], {}, {}, 0\n"
        "    for s, n in steps:\n"
        "        if s == 'joins':\n"
        "            got[n], since[n] = [], len(out) if kind == 'pub/sub' else 0\n"
        "        elif s == 'publishes':\n"
        "            out.append(n)\n"
        "        elif kind == 'queue':\n"
        "            got[n] += out[taken:]\n"
        "            taken = len(out)\n"
        "        else:\n"
        "            got[n] += out[since[n]:]\n"
        "    return got",
    },
    cases(INSTRUCTIVE, made, count=40),
    minutes=10,
)
