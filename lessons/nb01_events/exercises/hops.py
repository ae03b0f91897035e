"""01-11: time and success of a chain of calls."""

from __future__ import annotations

from random import Random
from typing import Any

from kit.exercises.cluster_log import Context
from kit.exercises.exercise import Exercise, Verdict, cases, compare_results, right

FIVE_HOPS = [(50, 0.99)] * 5
INSTRUCTIVE = [
    ([(50, 0.5)],),
    ([(50, 0.9), (20, 0.5)],),
    (FIVE_HOPS,),
    ([],),
]


def made(source: Random) -> tuple:
    hops = [
        (source.randrange(5, 200), source.choice([1.0, 0.999, 0.99, 0.95, 0.9]))
        for _ in range(source.randrange(2, 8))
    ]
    return (hops,)


def chain(hops: list) -> tuple[int, float]:
    success = 1.0
    for _, each in hops:
        success *= each
    return sum(ms for ms, _ in hops), round(success, 4)


def explain(arguments: tuple, expected: Any, seen: Any) -> str:
    (hops,) = arguments
    if not isinstance(seen, list | tuple) or len(seen) != 2:
        return "Return two numbers: the milliseconds, and the share that succeeds."
    if seen[0] != expected[0]:
        if hops and seen[0] == max(ms for ms, _ in hops):
            return "The calls are made one after the other, so the slowest is not the whole time."
        return "The time of a request that succeeds is the sum of its hops; with no hop it is 0."
    if hops and seen[1] == round(min(each for _, each in hops), 4):
        return "The chain is weaker than its weakest hop: every hop must succeed."
    if hops and abs(seen[1] - round(1 - sum(1 - each for _, each in hops), 4)) < 1e-9:
        return (
            "Failures do not add up: a request that failed at the first hop makes no second call."
        )
    return "All hops must succeed: multiply their shares, and round to 4 digits."


def judge(answer: Any, context: Context) -> Verdict:
    """A right answer shows what the chain of the first hint comes to."""
    verdict = compare_results(context.inputs, answer, chain, explain)
    if not verdict.passed:
        return verdict
    ms, success = chain(FIVE_HOPS)
    return right(
        f"{verdict.message} Five hops of 50 ms and 99 % each: {ms} ms, and {success * 100:.1f} % "
        "of the requests succeed."
    )


EXERCISE = Exercise(
    "01-11",
    "The chain",
    (
        "Five hops of 99 % each: is the whole at 99 %, above, or below?",
        "Times add up. Shares of success multiply. A chain without a hop takes no time and always "
        "succeeds.",
        "Sum the milliseconds of all hops. Begin with a success of 1 and multiply it with that of "
        "each hop. Round the product to 4 digits.",
    ),
    judge,
    {
        "the slowest hop": "def chain(hops):\n    p = 1.0\n    for _, s in hops:\n        p *= s\n"
        "    return max((ms for ms, _ in hops), default=0), round(p, 4)",
        "the weakest hop": "def chain(hops):\n"
        "    return sum(ms for ms, _ in hops), round(min((s for _, s in hops), default=1.0), 4)",
        "failures add up": "def chain(hops):\n"
        "    return sum(ms for ms, _ in hops), round(1 - sum(1 - s for _, s in hops), 4)",
        "the average": "def chain(hops):\n    shares = [s for _, s in hops] or [1.0]\n"
        "    return sum(ms for ms, _ in hops), round(sum(shares) / len(shares), 4)",
    },
    cases(INSTRUCTIVE, made, count=24),
    minutes=4,
)
