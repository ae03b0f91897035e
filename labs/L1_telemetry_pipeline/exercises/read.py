"""L1-2: a topic as a stream, with the options that a production job sets."""

from __future__ import annotations

from random import Random
from typing import Any

from kit.exercises.cluster_log import Context
from kit.exercises.exercise import Exercise, Verdict, cases, compare_results

LIMIT = 20
"""Records in a micro-batch, at most."""
TASKS = 4


def some_texts(source: Random) -> tuple:
    """Between two and three micro-batches; the partitions get the same number each."""
    return ([f"{source.randrange(10**6)}" for _ in range(2 * source.randrange(21, 30))],)


def read(texts: list[str]) -> dict[str, Any]:
    return {
        "read": sorted(texts),
        "micro-batches": -(-len(texts) // LIMIT),
        "tasks of the first": TASKS,
        "after the loss": "stopped with an error",
    }


def explain_read(arguments: tuple, expected: Any, seen: Any) -> str:
    (texts,) = arguments
    if not isinstance(seen, dict) or seen.keys() != expected.keys():
        return "Return the stream itself: spark.readStream with its options, and load()."
    if seen["read"] != expected["read"]:
        count = len(seen["read"]) if isinstance(seen["read"], list) else 0
        return (
            f"The topic had {len(texts)} records before the query's first start, and it read "
            f"{count} of them: without startingOffsets a new stream begins at the end."
        )
    if seen["micro-batches"] != expected["micro-batches"]:
        return (
            f"The query took {seen['micro-batches']} micro-batches for {len(texts)} records. "
            f"With at most {LIMIT} in each there are {expected['micro-batches']}; without a limit, "
            "a query that stood still for a day takes the whole day in one."
        )
    if seen["after the loss"] != expected["after the loss"]:
        return (
            "Records were deleted before the query read them, and it went on as if nothing were "
            "missing: failOnDataLoss must be true, which is also what Spark does by default."
        )
    return (
        f"The first micro-batch ran in {seen['tasks of the first']} tasks. The topic has two "
        f"partitions, and minPartitions splits their offsets among {TASKS}."
    )


def judge_read(answer: Any, context: Context) -> Verdict:
    return compare_results(context.inputs, answer, read, explain_read)


def _answer(*options: str) -> str:
    lines = [
        'spark.readStream.format("kafka")',
        '.option("kafka.bootstrap.servers", bootstrap)',
        '.option("subscribe", topic)',
        *options,
        ".load()",
    ]
    return "def source(bootstrap, topic):\n    return (" + "\n        ".join(lines) + "\n    )"


_EARLIEST = '.option("startingOffsets", "earliest")'
_LIMITED = f'.option("maxOffsetsPerTrigger", {LIMIT})'
_SPLIT = f'.option("minPartitions", {TASKS})'

EXERCISE = Exercise(
    "L1-2",
    "Read a topic as production does",
    (
        "What does a stream read that was never started before: all of the topic, or what comes "
        "from now on? And how much of it at once?",
        "Spark's page “Structured Streaming + Kafka Integration Guide” has a table of options. You "
        "need those for the start, for the size of a micro-batch, for lost data, and for tasks.",
        "Begin with the bootstrap servers and the topic. Set where a new query starts, the "
        "largest number of offsets for each trigger, that a loss fails the query, and the least "
        "number of partitions that Spark makes of the topic's two.",
    ),
    judge_read,
    {
        "from now on": _answer(_LIMITED, _SPLIT),
        "all at once": _answer(_EARLIEST, _SPLIT),
        "losses ignored": _answer(
            _EARLIEST, _LIMITED, _SPLIT, '.option("failOnDataLoss", "false")'
        ),
        "a task for each partition": _answer(_EARLIEST, _LIMITED),
    },
    cases((), some_texts, count=2),
    minutes=8,
)
