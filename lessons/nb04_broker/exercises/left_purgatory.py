"""04-5: when a write with acks=all leaves purgatory, and the answer that it gets."""

from __future__ import annotations

from random import Random
from typing import Any

from kit.exercises.exercise import Exercise, cases, compare_results

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
    ([(2, 102, 5), (100, 103, 5)], [102, 103], 5, 100),
    ([(3, 102, 4)], [], 5, 100),
)


def situation(source: Random) -> tuple:
    """Followers that ask from further and further on, in the ISR or not, in time or not."""
    needed, timeout = source.randrange(3, 50), source.choice([50, 100, 200])
    brokers = [102, 103, 104]
    offsets = dict.fromkeys(brokers, needed - 2)
    times = sorted(source.sample(range(1, 2 * timeout), k=source.randrange(2, 7)))
    late = [place for place, at in enumerate(times) if at > timeout]
    if late and source.random() < 0.5:
        times[late[0]] = timeout
    fetches = []
    for at in sorted(set(times)):
        follower = source.choice(brokers)
        offsets[follower] += source.randrange(4)
        fetches.append((at, follower, offsets[follower]))
    followers = sorted({follower for _, follower, _ in fetches})
    isr = sorted(source.sample(followers, k=source.randrange(len(followers) + 1)))
    return fetches, isr, needed, timeout


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
    if not isinstance(seen, list) or len(seen) != 2:
        return "Give a list of two: a moment in ms, and NONE or REQUEST_TIMED_OUT."
    if not isr:
        return "With no follower in the ISR, the leader is the whole ISR: it answers at once."
    came: dict[int, int] = {}
    for at, follower, offset in fetches:
        if offset >= needed:
            came.setdefault(follower, at)
    if expected[1] != "NONE":
        late = next(each for each in isr if came.get(each, timeout + 1) > timeout)
        when = f" before {came[late]} ms" if late in came else ""
        return (
            f"{late} did not ask from {needed} or later{when}: after {timeout} ms the time is up."
        )
    last = max(isr, key=lambda each: came[each])
    if seen[1] != "NONE":
        return (
            f"All of {isr} asked from {needed} or later, {last} as the last at {came[last]} ms. "
            f"That is within {timeout} ms."
        )
    if isinstance(seen[0], int) and seen[0] > expected[0]:
        strangers = [each for each, at in came.items() if each not in isr and at == seen[0]]
        if strangers:
            return (
                f"The fetch at {seen[0]} ms is from {strangers[0]}, which is not in the ISR: the "
                "leader does not wait for it."
            )
        return f"At {expected[0]} ms all of {isr} had the write already."
    first = min(isr, key=lambda each: came[each])
    if seen[0] == came[first]:
        return f"At {seen[0]} ms {first} had the write, {last} had not: the ISR is {isr}."
    return f"At {seen[0]} ms {last} had not asked from {needed} yet, so it did not have the write."


EXERCISE = Exercise(
    "04-5",
    "Out of purgatory",
    (
        "What does a follower's fetch from offset 5 tell the leader about offsets 0 to 4?",
        "Every follower in the ISR must have asked from the needed offset or later, and in time. "
        "Which followers do not matter?",
        "Begin with the set of followers in the ISR; if it is empty, the answer comes at 0. Go "
        "through the fetches and stop at one that is past the timeout. A fetch from the needed "
        "offset or later takes its follower out of the set; the moment at which the set becomes "
        "empty is the answer. If it never does, the timeout is.",
    ),
    lambda answer, context: compare_results(context.inputs, answer, answered, explain),
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
        "any fetch will do": "def answered(fetches, isr, needed, timeout):\n"
        "    missing = set(isr)\n"
        "    for at, follower, offset in fetches:\n"
        "        missing.discard(follower)\n"
        "        if not missing:\n"
        "            return [at, 'NONE']\n"
        "    return [timeout, 'REQUEST_TIMED_OUT']",
    },
    cases(SITUATIONS, situation, count=40),
    minutes=10,
)
