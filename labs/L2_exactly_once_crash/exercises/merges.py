"""L2-8: a MERGE of order states that may come twice, and late."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

from kit.exercises.cluster_log import Context
from kit.exercises.exercise import Exercise, Verdict, cases, compare_results

STATUSES = ("placed", "loaded", "delivered")


def some_batches(source: Random) -> tuple:
    """One order in three micro-batches, of which the second comes again after the third."""
    one, other, third = (f"order-{n}" for n in source.sample(range(100, 1000), k=3))

    def state(order: str, revision: int) -> list:
        return [order, revision, STATUSES[revision - 1]]

    early = [state(one, 2)]
    late = [state(third, 2), state(third, 1), state(one, 3)]
    return ([[state(one, 1), state(other, 1)], early, late, early],)


def merge_states(batches: list[list[list]]) -> list[list]:
    newest: dict[str, list] = {}
    for states in batches:
        for state in states:
            if state[0] not in newest or state[1] > newest[state[0]][1]:
                newest[state[0]] = state
    return sorted(newest.values())


def nothing(batches: list[list[list]]) -> list[list]:
    """What the stub does."""
    return []


def explain_merges(arguments: tuple, expected: Any, seen: Any) -> str:
    if not isinstance(seen, list) or not all(isinstance(row, list) for row in seen):
        return "Change the Delta table at the path `table`; the judge reads it."
    rows = Counter(row[0] for row in seen)
    if twice := [order for order, number in rows.items() if number > 1]:
        return f"{twice[0]} has {rows[twice[0]]} rows: the table keeps one for each order."
    if missing := [row[0] for row in expected if row[0] not in rows]:
        return f"{missing[0]} is not in the table: insert an order that it does not have."
    wanted = {row[0]: row for row in expected}
    row = next(row for row in seen if row != wanted.get(row[0]))
    if row[0] not in wanted:
        return f"There is no order {row[0]}."
    if row[1] == wanted[row[0]][1]:
        return f"{row[0]} has the status of another revision: take both from one row."
    if row[1] == 1 and row[0] in (state[0] for state in arguments[0][0]):
        return f"{row[0]} stays at revision {row[1]}: update an order that the table has."
    return (
        f"{row[0]} is at revision {row[1]} and was at {wanted[row[0]][1]}: an old micro-batch came "
        "again, or an older state of the same one. Update only if the new revision is higher."
    )


def judge_merges(answer: Any, context: Context) -> Verdict:
    return compare_results(context.inputs, answer, merge_states, explain_merges, stub=nothing)


_NEWEST = (
    "    newest = batch.groupBy('order_id').agg(F.max('revision').alias('revision'), "
    "F.max_by('status', 'revision').alias('status'))\n"
    "    newest.createOrReplaceTempView('newest')\n"
)
_MERGE = (
    "    batch.sparkSession.sql(f'MERGE INTO delta.`{table}` AS kept USING newest '\n"
    "        'ON kept.order_id = newest.order_id '\n"
)
EXERCISE = Exercise(
    "L2-8",
    "A MERGE that may come twice, and late",
    (
        "Three things can happen to a state: its order is new, it is newer than what the table "
        "has, or it is not newer. What has the table to do in each case?",
        "A MERGE refuses two source rows that match one row, and inserts both where none matches. "
        "So reduce the micro-batch to one row for each order first. A condition can come after "
        "WHEN MATCHED.",
        "Group by the order: the highest revision, and the status that belongs to it. MERGE on the "
        "order: update the row where the revision is higher than the table's, insert one where the "
        "table has none, and leave the others alone.",
    ),
    judge_merges,
    {
        "an old one overwrites": (
            "def merge_states(batch, table):\n" + _NEWEST + _MERGE
            + "        'WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *')"
        ),
        "only new orders": (
            "def merge_states(batch, table):\n" + _NEWEST + _MERGE
            + "        'WHEN NOT MATCHED THEN INSERT *')"
        ),
        "an append": (
            "def merge_states(batch, table):\n"
            "    batch.write.format('delta').mode('append').save(table)"
        ),
    },
    cases((), some_batches, count=1),
    minutes=12,
)  # fmt: skip
