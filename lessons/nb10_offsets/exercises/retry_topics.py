"""10-15: where a record goes that could not be processed."""

from __future__ import annotations

from random import Random
from typing import Any

from kit.exercises.exercise import Exercise, cases, compare_results

ORDERS, RETRY, DEAD = "orders", "orders-retry", "orders-dlq"
PASSING = ("Timeout", "ServiceUnavailable", "VersionConflict")
FINAL = ("CannotDecode", "BrokenRule")
CAP = 3
ROUTES: tuple[tuple, ...] = (
    (ORDERS, "anna", None, 0, []),
    (ORDERS, "anna", None, 0, ["anna"]),
    (RETRY, "anna", None, 1, ["anna"]),
    (ORDERS, None, None, 0, ["anna", None]),
    (ORDERS, "bert", "Timeout", 1, []),
    (RETRY, "bert", "Timeout", 3, ["bert"]),
    (ORDERS, "bert", "CannotDecode", 1, []),
    (RETRY, "bert", "VersionConflict", 2, ["bert"]),
)


def routes(source: Random) -> tuple:
    topic = source.choice([ORDERS, ORDERS, RETRY])
    key = source.choice(["anna", "bert", "carl", None])
    error = source.choice([None, None, *PASSING, *FINAL])
    attempts = source.randrange(1, CAP + 2) if error or topic == RETRY else 0
    waiting = source.sample(["anna", "bert", "carl", None], source.randrange(4))
    return topic, key, error, attempts, waiting


def route(topic: str, key: str | None, error: str | None, attempts: int, waiting: list) -> str:
    if error is None:
        comes_later = topic == ORDERS and key is not None and key in waiting
        return RETRY if comes_later else "handle"
    return RETRY if error in PASSING and attempts < CAP else DEAD


def explain(arguments: tuple, expected: str, seen: Any) -> str:
    topic, key, error, attempts, _ = arguments
    if seen not in ("handle", RETRY, DEAD):
        return f'Give "handle", "{RETRY}" or "{DEAD}".'
    if error is None and expected == RETRY:
        return (
            f"An earlier record of {key} waits in the retry topic. If this one is handled now, it "
            "overtakes that one."
        )
    if error is None and topic == RETRY:
        return (
            "This record comes from the retry topic. Sent there again without an attempt, it "
            "goes round in circles."
        )
    if error is None:
        why = (
            "has no key, so it has no order" if key is None else "has no earlier record that waits"
        )
        return f"No attempt has failed, and the record {why}: handle it."
    if seen == "handle":
        return (
            f"The handler has just failed with {error}. A loop that calls it again at once waits."
        )
    if error in FINAL:
        return f"{error} fails at each attempt, and each attempt costs the others time."
    if expected == RETRY:
        return f"{error} may pass, and {attempts} of {CAP} attempts are used."
    return f"{attempts} attempts have failed, and {CAP} is the cap: a person must look at it."


HEAD = "def route(topic, key, error, attempts, waiting):\n"
PASSES = f"error in {PASSING}"

EXERCISE = Exercise(
    "10-15",
    "Retries and dead letters",
    (
        "Two questions, one after the other: may the handler try this record now? And if it has "
        "failed: can another attempt help?",
        "A record must not overtake an earlier one of its key, and that one waits in the retry "
        "topic. Records without a key have no order. What comes from the retry topic is the one "
        "that waits.",
        "Without an error: the retry topic for a record of orders whose key is waiting and not "
        "None, otherwise handle. With an error: the retry topic if it is one of the three that may "
        "pass and fewer than three attempts were made, otherwise the dead-letter topic.",
    ),
    lambda answer, context: compare_results(context.inputs, answer, route, explain),
    {
        "order is forgotten": HEAD + "    if error is None:\n        return 'handle'\n"
        f"    return '{RETRY}' if {PASSES} and attempts < 3 else '{DEAD}'",
        "in circles": HEAD + "    if error is None:\n"
        f"        return '{RETRY}' if key in waiting else 'handle'\n"
        f"    return '{RETRY}' if {PASSES} and attempts < 3 else '{DEAD}'",
        "everything again": HEAD + "    if error is None:\n"
        f"        late = topic == '{ORDERS}' and key is not None and key in waiting\n"
        f"        return '{RETRY}' if late else 'handle'\n"
        f"    return '{RETRY}' if attempts < 3 else '{DEAD}'",
        "one attempt too many": HEAD + "    if error is None:\n"
        f"        late = topic == '{ORDERS}' and key is not None and key in waiting\n"
        f"        return '{RETRY}' if late else 'handle'\n"
        f"    return '{RETRY}' if {PASSES} and attempts <= 3 else '{DEAD}'",
    },
    cases(ROUTES, routes, count=60),
    minutes=8,
)
