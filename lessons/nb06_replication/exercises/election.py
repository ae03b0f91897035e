"""06-5: choose the next leader from the ISR or the eligible leader replicas."""

from __future__ import annotations

from random import Random
from typing import Any

from kit.exercises.exercise import Exercise, cases, compare_results

ELECTIONS: tuple[tuple, ...] = (
    ([101], [101], [], [101]),
    ([101, 102], [102], [], [101, 102]),
    ([101, 102, 103], [103, 102], [], [102, 103]),
    ([101, 102, 103], [101], [], [102, 103]),
    ([101, 102, 103], [], [102], [102, 103]),
    ([101, 102, 103], [], [], [101, 102, 103]),
    ([103, 101, 102], [101, 103], [], [101, 103]),
    ([101, 102, 103], [101], [102], [102, 103]),
    ([101, 102, 103], [103], [102], [102, 103]),
)


def election(source: Random) -> tuple:
    """Replicas of one partition.  Some left the ISR, of these some are eligible; some are down."""
    replicas = source.sample([101, 102, 103, 104, 105], k=source.randrange(3, 6))
    shuffled = source.sample(replicas, k=len(replicas))
    in_sync = source.randrange(len(replicas) - 1)
    eligible = source.randrange(in_sync, len(replicas) + 1)
    isr, elr = shuffled[:in_sync], sorted(shuffled[in_sync:eligible])
    return replicas, isr, elr, sorted(source.sample(replicas, k=source.randrange(1, len(replicas))))


def elect(replicas: list, isr: list, elr: list, alive: list) -> int:
    in_sync = [broker for broker in isr if broker in alive]
    candidates = in_sync or [broker for broker in elr if broker in alive]
    return next((broker for broker in replicas if broker in candidates), -1)


def explain_election(arguments: tuple, expected: int, seen: Any) -> str:
    _, isr, elr, alive = arguments
    if not isinstance(seen, int):
        return "Give the number of a broker, or -1."
    if seen == -1 and isr and expected in elr:
        return (
            f"A fenced broker leaves the ISR. None of {isr} is alive, so the ISR becomes empty; "
            f"then {expected} of the ELR may lead, and the election is clean."
        )
    if seen == -1 and expected in elr:
        return f"The ISR is empty, and {expected} of the ELR is alive: it may lead, cleanly."
    if seen == -1:
        return f"{expected} is alive and in the ISR, so there is a leader."
    if seen not in alive:
        return f"{seen} is not alive."
    if expected == -1:
        return f"{seen} is alive, but neither in the ISR nor in the ELR: that would be unclean."
    if expected in isr and seen not in isr:
        return f"{seen} is not in the ISR. {expected} is, and it is alive: the ISR comes first."
    if seen not in isr and seen not in elr:
        return f"{seen} is neither in the ISR nor in the ELR, and {expected} is in the ELR."
    return (
        f"{seen} and {expected} may both lead. Kafka takes the first in the order of the replica "
        f"list, and {expected} comes before {seen} there."
    )


EXERCISE = Exercise(
    "06-5",
    "Who leads next",
    (
        "A leader must be alive, and that is not enough.",
        "There are two lists of candidates, and the order of a third list decides between equals.",
        "Take the members of the ISR that are alive. If there are none, take those of the ELR that "
        "are alive. Then go through the replica list and choose the first one that you took; if "
        "you took none, no broker leads.",
    ),
    lambda answer, context: compare_results(context.inputs, answer, elect, explain_election),
    {
        "anyone alive": "def elect(replicas, isr, elr, alive):\n"
        "    return next((b for b in replicas if b in alive), -1)",
        "order of the ISR": "def elect(replicas, isr, elr, alive):\n"
        "    return next((b for b in isr or elr if b in alive), -1)",
        "no ELR": "def elect(replicas, isr, elr, alive):\n"
        "    return next((b for b in replicas if b in isr and b in alive), -1)",
        "a dead member keeps the ISR": "def elect(replicas, isr, elr, alive):\n"
        "    return next((b for b in replicas if b in (isr or elr) and b in alive), -1)",
        "ISR and ELR alike": "def elect(replicas, isr, elr, alive):\n"
        "    return next((b for b in replicas if b in isr + elr and b in alive), -1)",
        "alive or not": "def elect(replicas, isr, elr, alive):\n"
        "    return next((b for b in replicas if b in (isr or elr)), -1)",
    },
    cases(ELECTIONS, election, count=60),
    minutes=6,
)
