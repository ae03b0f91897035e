"""L5-9: a MERGE with deletes and an LSN guard, which may be repeated."""

from __future__ import annotations

from random import Random
from typing import Any

from kit.exercises.cluster_log import Context
from kit.exercises.exercise import Exercise, Verdict, cases, compare_results

Change = list[Any]
"""order_id, lsn, deleted, status."""
Batches = list[list[Change]]
STATUSES = ("placed", "loaded", "under way", "delivered")

INSTRUCTIVE: tuple[tuple[Batches], ...] = (
    (
        [
            [[1, 20, False, "loaded"], [2, 10, False, "placed"], [3, 30, True, None]],
            [[1, 10, False, "placed"], [2, 40, True, None], [3, 10, False, "placed"]],
            [[2, 10, False, "placed"], [4, 50, False, "placed"]],
        ],
    ),
)
MERGE = (
    "def merge(batch, path):\n"
    "    batch.createOrReplaceTempView('found')\n"
    "    batch.sparkSession.sql(f'MERGE INTO delta.`{{path}}` AS kept USING found '\n"
    "        'ON kept.order_id = found.order_id {rules}')"
)
GUARDED = "WHEN MATCHED AND found.lsn > kept.lsn THEN UPDATE SET * "
INSERT = "WHEN NOT MATCHED THEN INSERT *"


def some_batches(source: Random) -> tuple[Batches]:
    """Two batches of up to five orders, the newer one first."""
    older, newer = [], []
    for order_id in source.sample(range(1, 20), k=5):
        older.append([order_id, source.randrange(1, 1_000), False, source.choice(STATUSES)])
        if source.random() < 0.8:
            deleted = source.random() < 0.4
            status = None if deleted else source.choice(STATUSES)
            newer.append([order_id, source.randrange(1_000, 2_000), deleted, status])
    order_id = source.randrange(20, 30)
    newer.append([order_id, source.randrange(1_000, 2_000), True, None])
    return ([newer, [*older, [order_id, source.randrange(1, 1_000), False, "placed"]]],)


def merged(batches: Batches) -> list[Change]:
    table: dict[int, Change] = {}
    for change in (change for batch in batches for change in batch):
        if change[0] not in table or change[1] > table[change[0]][1]:
            table[change[0]] = change
    return [table[order_id] for order_id in sorted(table)]


def explain(arguments: tuple[Batches], expected: Any, seen: Any) -> str:
    (batches,) = arguments
    if not isinstance(seen, list) or not all(isinstance(r, list) and len(r) == 4 for r in seen):
        return "The table's rows are judged: merge the batch into the table at `path`."
    if not seen:
        return "The table is empty: nothing was merged into it."
    found = {row[0]: row for row in seen}
    changes = [change for batch in batches for change in batch]
    for right in expected:
        order_id = right[0]
        row = found.get(order_id)
        if row == right:
            continue
        if row is None and right[2]:
            return (
                f"Order {order_id} has no row, and should have one with deleted: its LSN is what "
                "an older change will be compared with."
            )
        if row is None:
            return f"Order {order_id} is missing: a change without a row in the table is inserted."
        if right[2] and not row[2] and row[1] < right[1]:
            return (
                f"Order {order_id} was deleted at LSN {right[1]}, and your table has it as "
                f"{row[3]} from LSN {row[1]}: {_why_it_is_there(changes, right, row)}."
            )
        if row[1] < right[1]:
            return (
                f"Order {order_id} is {row[3]} from LSN {row[1]}, and LSN {right[1]} came as well: "
                "either an old change replaced the new one, or the new one was not taken."
            )
        return f"Order {order_id} has LSN {row[1]}, and deleted or status of another change."
    return "There is a row of an order that no batch had."


def _why_it_is_there(changes: list[Change], delete: Change, old: list[Any]) -> str:
    of_order = [change for change in changes if change[0] == delete[0]]
    if of_order[0] == delete:
        return "the delete came first, found no row, and left none that could stop an old change"
    if old in of_order[of_order.index(delete) :]:
        return "the delete took the row and its LSN away, so an old change could be inserted again"
    return "the delete did not reach the row"


def judge(answer: Any, context: Context) -> Verdict:
    return compare_results(context.inputs, answer, merged, explain, stub=lambda batches: [])


EXERCISE = Exercise(
    "L5-9",
    "A MERGE that may be repeated",
    (
        "What must the table know when an old change comes after the delete?",
        "A delete is a change like any other: it sets all columns, the flag among them. Then one "
        "comparison of LSNs serves every case.",
        "Match on the id. If a row matches and the change's LSN is above the row's, set all its "
        "columns. If none matches, insert all columns, those of a deleted order, too.",
    ),
    judge,
    {
        "no guard": MERGE.format(rules=f"WHEN MATCHED THEN UPDATE SET * {INSERT}"),
        "the row is removed": MERGE.format(
            rules=f"WHEN MATCHED AND found.deleted AND found.lsn > kept.lsn THEN DELETE {GUARDED}"
            "WHEN NOT MATCHED AND NOT found.deleted THEN INSERT *"
        ),
        "deletes are not inserted": MERGE.format(
            rules=f"{GUARDED}WHEN NOT MATCHED AND NOT found.deleted THEN INSERT *"
        ),
    },
    cases(INSTRUCTIVE, some_batches, count=2),
    minutes=12,
)
