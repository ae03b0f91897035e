"""04-5: when a write with acks=all leaves purgatory, and the answer that it gets."""

from __future__ import annotations

from typing import Any

from kit.exercises.exercise import Exercise, compare_results

# Fetches that reach the leader: (ms, follower, from offset); the ISR's followers; the offset
# after the write; the write's timeout in ms.
Fetch = tuple[int, int, int]
SITUATIONS: tuple[tuple[list[Fetch], list[int], int, int], ...] = (
    ([(2, 102, 5)], [102], 5, 100),
    ([(2, 102, 4), (6, 102, 5)], [102], 5, 100),
    ([(2, 102, 5), (9, 103, 5)], [102, 103], 5, 100),
    ([(2, 102, 7), (9, 103, 6)], [102, 103], 5, 100),
    ([(2, 102, 5), (9, 103, 5)], [102], 5, 100),
    ([(2, 102, 5), (5, 103, 4)], [102, 103], 5, 100),
    ([(2, 102, 5), (150, 103, 5)], [102, 103], 5, 100),
    ([(3, 102, 4)], [], 5, 100),
)


def answered(fetches: list[Fetch], isr: list[int], needed: int, timeout: int) -> list[Any]:
    missing = dict.fromkeys(isr)
    if not missing:
        return [0, "NONE"]
    for at, follower, offset in fetches:
        if at > timeout:
            break
        if offset >= needed:
            missing.pop(follower, None)
        if not missing:
            return [at, "NONE"]
    return [timeout, "REQUEST_TIMED_OUT"]


def explain(arguments: tuple, expected: list[Any], seen: Any) -> str:
    fetches, isr, needed, timeout = arguments
    if not isr:
        return "With no follower in the ISR, the leader is the whole ISR: it answers at once."
    if expected[1] != "NONE":
        return f"Not all of the ISR had asked from {needed} within {timeout} ms: the time is up."
    first = next((at for at, _, offset in fetches if offset >= needed), None)
    if isinstance(seen, list) and seen and seen[0] == first:
        return "One follower is not all of the ISR: the slowest member decides."
    if any(follower not in isr for _, follower, _ in fetches):
        return "A follower outside the ISR is not waited for."
    return f"A fetch from offset {needed} or more says that everything below it has been copied."


EXERCISE = Exercise(
    "04-5",
    "Out of purgatory",
    (
        "What does a follower's fetch from offset 5 tell the leader about offsets 0 to 4?",
        "Every follower in the ISR must have asked from `needed` or later, and in time.",
        "Keep those of the ISR that have not; take one out when its fetch has offset >= needed; "
        "when none is left, that is the moment. Past the timeout: [timeout, 'REQUEST_TIMED_OUT'].",
    ),
    lambda answer, context: compare_results(SITUATIONS, answer, answered, explain),
    {
        "the first follower is enough": "def answered(fetches, isr, needed, timeout):\n"
        "    for at, follower, offset in fetches:\n"
        "        if offset >= needed and at <= timeout:\n"
        "            return [at, 'NONE']\n"
        "    return [timeout, 'REQUEST_TIMED_OUT'] if isr else [0, 'NONE']",
        "no timeout": "def answered(fetches, isr, needed, timeout):\n"
        "    times = [min((a for a, f, o in fetches if f == b and o >= needed), default=0)"
        " for b in isr]\n"
        "    return [max(times, default=0), 'NONE']",
        "strangers count": "def answered(fetches, isr, needed, timeout):\n"
        "    times = [at for at, _, offset in fetches if offset >= needed]\n"
        "    last = max(times, default=0)\n"
        "    return [last, 'NONE'] if last <= timeout else [timeout, 'REQUEST_TIMED_OUT']",
    },
    SITUATIONS,
)
