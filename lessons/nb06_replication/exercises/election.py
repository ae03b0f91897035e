"""06-5: choose the next leader from the ISR or the eligible leader replicas."""

from __future__ import annotations

from typing import Any

from kit.exercises.exercise import Exercise, compare_results

ELECTIONS: tuple[tuple, ...] = (
    ([101], [101], [], [101]),
    ([101, 102], [102], [], [101, 102]),
    ([101, 102, 103], [103, 102], [], [102, 103]),
    ([101, 102, 103], [101], [], [102, 103]),
    ([101, 102, 103], [], [102], [102, 103]),
    ([101, 102, 103], [], [], [101, 102, 103]),
    ([103, 101, 102], [101, 103], [], [101, 103]),
    ([101, 102, 103], [101], [102], [102, 103]),
)


def elect(replicas: list, isr: list, elr: list, alive: list) -> int:
    candidates = isr or elr
    able = [broker for broker in replicas if broker in candidates and broker in alive]
    return able[0] if able else -1


def explain_election(arguments: tuple, expected: int, seen: Any) -> str:
    _, isr, elr, alive = arguments
    if expected == -1 and seen in alive:
        if seen in elr:
            return "The ELR counts only when the ISR is empty."
        return (
            f"{seen} is alive, but neither in the ISR nor eligible: electing it would be unclean."
        )
    if seen == -1 and elr:
        return "With an empty ISR an eligible leader replica may lead, and it is a clean election."
    if isr and seen == isr[0]:
        return "Both could lead. Kafka takes the first in the order of the replica list."
    if isinstance(seen, int) and seen not in alive:
        return f"{seen} is not alive."
    return f"{seen} has no place in the ISR." if isr and seen not in isr else ""


EXERCISE = Exercise(
    "06-5",
    "Who leads next",
    (
        "A leader must be alive, and that is not enough.",
        "The ISR first; the ELR only when the ISR is empty; the order is that of replicas.",
        "candidates = isr or elr, then the first of replicas that is in it and alive.",
    ),
    lambda answer, context: compare_results(ELECTIONS, answer, elect, explain_election),
    {
        "anyone alive": "def elect(replicas, isr, elr, alive):\n"
        "    return next((b for b in replicas if b in alive), -1)",
        "order of the ISR": "def elect(replicas, isr, elr, alive):\n"
        "    return next((b for b in isr or elr if b in alive), -1)",
        "no ELR": "def elect(replicas, isr, elr, alive):\n"
        "    return next((b for b in replicas if b in isr and b in alive), -1)",
        "ISR and ELR alike": "def elect(replicas, isr, elr, alive):\n"
        "    return next((b for b in replicas if b in isr + elr and b in alive), -1)",
    },
    ELECTIONS,
)
