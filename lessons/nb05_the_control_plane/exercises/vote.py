"""05-2: whether a voter grants its vote (KIP-595)."""

from __future__ import annotations

from random import Random
from typing import Any

from kit.exercises.exercise import Exercise, cases, compare_results

VOTERS = (100, 200, 300)


def case(epoch: int, last: tuple[int, int], own: int, voted: int | None,
         own_last: tuple[int, int], candidate: int = 200) -> tuple:  # fmt: skip
    return (
        {"epoch": epoch, "candidate": candidate, "last": last},
        {"epoch": own, "voted": voted, "last": own_last},
    )


CASES = (
    case(3, (2, 14), 2, None, (2, 11)),
    case(3, (2, 11), 2, None, (2, 14)),
    case(2, (1, 9), 3, None, (1, 9)),
    case(3, (2, 9), 3, 300, (2, 9)),
    case(3, (2, 9), 3, 200, (2, 9)),
    case(4, (2, 9), 3, 300, (2, 9)),
    case(4, (1, 20), 3, None, (2, 9)),
    case(4, (2, 9), 3, None, (1, 20)),
)


def made(source: Random) -> tuple:
    own = source.randrange(1, 6)
    epoch = max(1, own + source.choice((-1, 0, 0, 1, 1)))
    logs = [(source.randrange(1, min(own, epoch) + 1), source.randrange(1, 30)) for _ in range(2)]
    voted, candidate = source.choice((None, None, *VOTERS)), source.choice(VOTERS)
    if (epoch, candidate) == (own, voted):  # it got the vote, so its log was not behind
        logs.sort(reverse=True)
    return case(epoch, logs[0], own, voted, logs[1], candidate)


def grants(request: dict, voter: dict) -> bool:
    if request["epoch"] < voter["epoch"]:
        return False
    voted = voter["voted"] if request["epoch"] == voter["epoch"] else None
    return voted in (None, request["candidate"]) and request["last"] >= voter["last"]


def explain(arguments: tuple, expected: bool, seen: Any) -> str:
    request, voter = arguments
    if not isinstance(seen, bool):
        return "True or False is asked for."
    if request["epoch"] < voter["epoch"]:
        return f"Epoch {request['epoch']} is over: the voter is in epoch {voter['epoch']}."
    same = request["epoch"] == voter["epoch"]
    if same and voter["voted"] not in (None, request["candidate"]):
        return f"It voted for {voter['voted']} in epoch {voter['epoch']}, and has one vote."
    if not expected:
        return (
            f"The candidate's log ends at {tuple(request['last'])}, the voter's at "
            f"{tuple(voter['last'])}, which is later: a committed record could be lost."
        )
    if not same and voter["voted"] is not None:
        return f"Its vote was for epoch {voter['epoch']}. In epoch {request['epoch']} it has none."
    return "Nothing speaks against it: the epoch is not over, and the log is not behind."


EXERCISE = Exercise(
    "05-2",
    "A vote",
    (
        "Three questions, in this order: which epoch, which vote, whose log?",
        "A vote counts for one epoch. Of two logs, the epoch of the last record decides first, and "
        "only then the length. Python compares tuples in just this way.",
        "Refuse an earlier epoch. Forget the vote if the request is of a later one. Refuse if the "
        "vote went to another. Then compare the two values of last.",
    ),
    lambda answer, context: compare_results(context.inputs, answer, grants, explain),
    {
        "the log is not compared": "def grants(request, voter):\n"
        "    if request['epoch'] < voter['epoch']:\n"
        "        return False\n"
        "    voted = voter['voted'] if request['epoch'] == voter['epoch'] else None\n"
        "    return voted in (None, request['candidate'])",
        "only the length": "def grants(request, voter):\n"
        "    if request['epoch'] < voter['epoch']:\n"
        "        return False\n"
        "    voted = voter['voted'] if request['epoch'] == voter['epoch'] else None\n"
        "    return voted in (None, request['candidate']) "
        "and request['last'][1] >= voter['last'][1]",
        "a vote for good": "def grants(request, voter):\n"
        "    return (request['epoch'] >= voter['epoch'] "
        "and voter['voted'] in (None, request['candidate']) "
        "and request['last'] >= voter['last'])",
        "any epoch": "def grants(request, voter):\n"
        "    voted = voter['voted'] if request['epoch'] == voter['epoch'] else None\n"
        "    return voted in (None, request['candidate']) and request['last'] >= voter['last']",
    },
    inputs=cases(CASES, made, 80),
)
