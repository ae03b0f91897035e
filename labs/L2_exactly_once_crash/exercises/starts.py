"""L2-9: a query that can be killed and started again."""

from __future__ import annotations

from random import Random
from typing import Any

from kit.exercises.cluster_log import Context
from kit.exercises.exercise import Exercise, Verdict, cases, compare_results


def some_waves(source: Random) -> tuple:
    """Payments that arrive before the first start, and before the second."""
    payments = [f"{cents} cents" for cents in source.sample(range(100, 90_000), k=5)]
    return ([payments[:3], payments[3:]],)


def start(waves: list[list[str]]) -> list[dict[str, Any]]:
    there: list[str] = []
    found = []
    for wave in waves:
        there = there + wave
        found.append({"ended": True, "rows": sorted([payment] for payment in there)})
    return found


def written_nowhere(waves: list[list[str]]) -> list[dict[str, Any]]:
    """What the stub does."""
    return [{"ended": True, "rows": []} for _ in waves]


def explain_starts(arguments: tuple, expected: Any, seen: Any) -> str:
    if (
        not isinstance(seen, list)
        or len(seen) != len(expected)
        or not all(isinstance(each, dict) and {"ended", "rows"} <= each.keys() for each in seen)
    ):
        return "Return the query that you started."
    for number, (wanted, found) in enumerate(zip(expected, seen, strict=True), 1):
        if not found["ended"]:
            return (
                f"Start {number}: the query has everything and waits for more. A trigger takes "
                "what is there, in micro-batches, and ends."
            )
        missing, again = (len(wanted["rows"]) - len(found["rows"])), len(found["rows"])
        if missing > 0:
            return (
                f"After start {number} the table has {again} rows of {len(wanted['rows'])}: what "
                "was there before must stay, and what is new must come."
            )
        if missing < 0:
            return (
                f"After start {number} the table has {again} rows of {len(wanted['rows'])}: the "
                "query began at the beginning again. Its memory has to be in `folder`."
            )
    return "The table has other payments than those of the stream."


def judge_starts(answer: Any, context: Context) -> Verdict:
    return compare_results(context.inputs, answer, start, explain_starts, stub=written_nowhere)


_WRITER = "    writer = payments.writeStream.format('delta')"
EXERCISE = Exercise(
    "L2-9",
    "A query that can be killed",
    (
        "What must a query find after a crash so that it goes on, and where can it be?",
        "Two things make the difference: an option of the writer that names a directory, the same "
        "for each start, and a trigger that ends when it has taken what was there.",
        "Write the stream in Delta's format, with the trigger for what is available now, and with "
        "a checkpoint location inside of the folder. Start it at the table's path.",
    ),
    judge_starts,
    {
        "a new checkpoint each time": (
            "def start(payments, folder):\n" + _WRITER + ".trigger(availableNow=True)\n"
            "    writer = writer.option('checkpointLocation', str(temporary()))\n"
            "    return writer.start(f'{folder}/table')"
        ),
        "it waits for more": (
            "def start(payments, folder):\n" + _WRITER + "\n"
            "    writer = writer.option('checkpointLocation', f'{folder}/checkpoint')\n"
            "    return writer.start(f'{folder}/table')"
        ),
        "no checkpoint": (
            "def start(payments, folder):\n" + _WRITER + ".trigger(availableNow=True)\n"
            "    return writer.start(f'{folder}/table')"
        ),
    },
    cases((), some_waves, count=1),
    minutes=8,
)
