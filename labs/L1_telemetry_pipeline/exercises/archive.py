"""L1-4: a query that writes a table, ends, and goes on where it was."""

from __future__ import annotations

from random import Random
from typing import Any

from kit.exercises.cluster_log import Context
from kit.exercises.exercise import Exercise, Verdict, cases, compare_results

NAME = "archive"


def some_texts(source: Random) -> tuple:
    """The rows of the first start, and the rows that have come until the second."""
    numbers = source.sample(range(10_000), k=source.randrange(8, 14))
    texts = [f"row {number}" for number in numbers]
    return texts[:5], texts[5:]


def archive(first: list[str], second: list[str]) -> dict[str, Any]:
    return {
        "name": NAME,
        "rows": sorted(first + second),
        "ended by itself": True,
        "notes in the checkpoint": True,
    }


def explain_archive(arguments: tuple, expected: Any, seen: Any) -> str:
    first, second = arguments
    if not isinstance(seen, dict) or seen.keys() != expected.keys():
        return "Return the query: the result of start()."
    rows = seen["rows"] if isinstance(seen["rows"], list) else []
    if sorted(rows) == sorted(first + first + second):
        return (
            f"The {len(first)} rows of the first start are in the table twice. The second start "
            "did not know what the first had read: it needs the same checkpoint."
        )
    if sorted(rows) == sorted(second):
        return (
            f"The table has the {len(second)} rows of the second start, and those of the first are "
            "gone: a stream appends, and does not overwrite."
        )
    if sorted(rows) != expected["rows"]:
        return f"The table has {len(rows)} rows after two starts; {len(first + second)} came in."
    if seen["ended by itself"] is not True:
        return (
            "The query read everything and still runs: its trigger waits for more, and a "
            "scheduled job would never end. One trigger takes what is available, and ends."
        )
    if seen["notes in the checkpoint"] is not True:
        return "The folder that was given as checkpoint has no notes of the query."
    return f"The query has the name {seen['name']}: what watches it looks for {NAME}."


def judge_archive(answer: Any, context: Context) -> Verdict:
    return compare_results(context.inputs, answer, archive, explain_archive)


_START = """
def archive(rows, table, checkpoint):
    writer = rows.writeStream.{sink}.queryName("archive").option("checkpointLocation", {where})
    return writer{trigger}.start({table})
"""
_ONCE, _APPEND = ".trigger(availableNow=True)", 'format("parquet").outputMode("append")'

EXERCISE = Exercise(
    "L1-4",
    "A query that survives its restart",
    (
        "Where does the second start find what the first has read?",
        "Four things of a DataStreamWriter matter here besides the format: its name, its output "
        "mode, its checkpoint, its trigger.",
        "Write Parquet in append mode, under the query's name, with the checkpoint that you were "
        "given and the trigger that takes what is available now. Start it with the table's path "
        "and return the query, without waiting for it.",
    ),
    judge_archive,
    {
        "a checkpoint of its own": (
            "import tempfile\n"
            + _START.format(sink=_APPEND, where="tempfile.mkdtemp()", trigger=_ONCE, table="table")
        ),
        "it never ends": _START.format(sink=_APPEND, where="checkpoint", trigger="", table="table"),
        "each batch overwrites": _START.format(
            sink='foreachBatch(lambda batch, _: batch.write.mode("overwrite").parquet(table))',
            where="checkpoint",
            trigger=_ONCE,
            table="",
        ),
    },
    cases((), some_texts, count=2),
    minutes=8,
)
