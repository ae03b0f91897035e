"""L4-9: the options of a Kafka source that bound a micro-batch."""

from __future__ import annotations

from random import Random
from typing import Any

from kit.exercises.cluster_log import Context
from kit.exercises.exercise import Exercise, Verdict, cases, compare_results

INSTRUCTIVE = ((500, 6), (20_000, 12))


def some_bounds(source: Random) -> tuple:
    return source.randrange(100, 100_000), source.randrange(2, 64)


def options(records: int, tasks: int) -> dict[str, str]:
    return {
        "startingoffsets": "earliest",
        "failondataloss": "true",
        "maxoffsetspertrigger": str(records),
        "minpartitions": str(tasks),
    }


def explain(arguments: tuple, expected: Any, seen: Any) -> str:
    records, tasks = arguments
    if not isinstance(seen, dict):
        return "Give a dict of options."
    if wrong_place := next((name for name in seen if name.startswith("kafka.")), None):
        return (
            f"{wrong_place} is a setting of Kafka's consumer. What a micro-batch takes is "
            "decided by Spark's own options."
        )
    if seen.get("maxoffsetspertrigger") == str(tasks):
        return "maxOffsetsPerTrigger counts records, and minPartitions tasks: they are swapped."
    for name, meaning in (
        ("maxoffsetspertrigger", f"at most {records} records in a micro-batch"),
        ("minpartitions", f"at least {tasks} tasks"),
        ("startingoffsets", "the oldest record first: a stream's default is the latest"),
        ("failondataloss", "a stop when records are gone"),
    ):
        if seen.get(name) != expected[name]:
            return f"No option here, or another value, says: {meaning}."
    return f"Leave out {min(seen.keys() - expected.keys())}: the task does not ask for it."


def normal(result: Any) -> Any:
    """Spark's options have no case, and their values are text."""
    if not isinstance(result, dict) or result.keys() == {"raised"}:
        return result
    return {str(name).lower(): str(value).lower() for name, value in result.items()}


def judge(answer: Any, context: Context) -> Verdict:
    results = [normal(each) for each in answer] if isinstance(answer, list) else answer
    return compare_results(context.inputs, results, options, explain, stub=lambda *_: {})


def _answer(text: str) -> str:
    return f"def options(records, tasks):\n    return {{{text}}}"


EXERCISE = Exercise(
    "L4-9",
    "Options of a source",
    (
        "Three of them are in this notebook. What does a source do when its offsets are gone?",
        "Spark's guide to its Kafka source lists the options: where a query begins, what a trigger "
        "takes, how many Spark partitions there are at least, and what it does on data loss.",
        "Name the start, earliest; the most offsets of a trigger, which is the records; the least "
        "number of partitions, which is the tasks; and that it fails when data is lost.",
    ),
    judge,
    {
        "consumer's setting": _answer("'kafka.max.poll.records': records, 'minPartitions': tasks"),
        "swapped": _answer("'maxOffsetsPerTrigger': tasks, 'minPartitions': records"),
        "latest": _answer(
            "'failOnDataLoss': 'true', 'maxOffsetsPerTrigger': records, 'minPartitions': tasks"
        ),
        "goes on in silence": _answer(
            "'startingOffsets': 'earliest', 'failOnDataLoss': 'false', "
            "'maxOffsetsPerTrigger': records, 'minPartitions': tasks"
        ),
    },
    cases(INSTRUCTIVE, some_bounds, count=4),
    minutes=5,
)
