"""L2-7: an append that may come twice."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

from kit.exercises.cluster_log import Context
from kit.exercises.exercise import Exercise, Verdict, cases, compare_results


def some_batches(source: Random) -> tuple:
    """Two queries with equal numbers and one equal payment; two micro-batches come twice."""
    first, second = (f"query-{n}" for n in source.sample(range(100, 1000), k=2))
    same = f"{source.randrange(100, 900)} cents"
    batches = [
        [first, 0, [same, f"{source.randrange(1000, 9000)} cents"]],
        [first, 1, [same]],
        [second, 0, [f"{source.randrange(10_000, 90_000)} cents"]],
    ]
    return ([batches[0], batches[0], batches[1], batches[2], batches[1]],)


def write_once(batches: list[list]) -> list[str]:
    newest: dict[str, int] = {}
    table: list[str] = []
    for query, number, payments in batches:
        if number > newest.get(query, -1):
            newest[query] = number
            table += payments
    return sorted(table)


def every_batch(batches: list[list]) -> list[str]:
    """What the stub does."""
    return sorted(payment for _, _, payments in batches for payment in payments)


def explain_appends(arguments: tuple, expected: Any, seen: Any) -> str:
    (batches,) = arguments
    if not isinstance(seen, list) or not all(isinstance(row, str) for row in seen):
        return "Write to the Delta table at the path `table`; the judge reads it."
    found, wanted = Counter(seen), Counter(expected)
    other = batches[3]
    gone = sorted(set(wanted) - set(found))
    if gone and set(gone) <= set(other[2]):
        return (
            f"The payment of {other[0]} is missing: its micro-batch 0 was taken for the other "
            "query's. Both are named."
        )
    if gone:
        return f"A payment is missing, {gone[0]}: a later write has replaced or skipped it."
    if missing := wanted - found:
        payment = min(missing)
        return (
            f"“{payment}” was paid {wanted[payment]} times, and the table has {found[payment]} of "
            "them: two equal payments are two payments. Recognize the micro-batch, not its rows."
        )
    payment = min(found - wanted)
    return (
        f"“{payment}” is there {found[payment]} times: a micro-batch that came twice counts twice."
    )


def judge_appends(answer: Any, context: Context) -> Verdict:
    return compare_results(context.inputs, answer, write_once, explain_appends, stub=every_batch)


_APPEND = "    writer = batch.write.format('delta').mode('append')\n"
EXERCISE = Exercise(
    "L2-7",
    "An append that may come twice",
    (
        "What does a micro-batch have on its second attempt that no other micro-batch has?",
        "Delta's writer has two options for the name of an application and a version. A commit "
        "whose version is not higher than the application's last is skipped.",
        "Keep the append. Give the writer the query's id as the application, and the micro-batch's "
        "number as the version.",
    ),
    judge_appends,
    {
        "one name for both queries": (
            "def write_once(batch, number, query, table):\n"
            + _APPEND
            + "    writer.option('txnAppId', 'payments').option('txnVersion', number).save(table)"
        ),
        "rows compared": (
            "def write_once(batch, number, query, table):\n"
            "    import pathlib\n"
            "    if pathlib.Path(table, '_delta_log').exists():\n"
            "        there = spark.read.format('delta').load(table)\n"
            "        batch = batch.join(there, 'payment', 'left_anti')\n"
            "    batch.write.format('delta').mode('append').save(table)"
        ),
        "overwrite": (
            "def write_once(batch, number, query, table):\n"
            "    batch.write.format('delta').mode('overwrite').save(table)"
        ),
    },
    cases((), some_batches, count=1),
    minutes=8,
)
