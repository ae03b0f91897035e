"""L5-8: from the records of a micro-batch to the newest change of each order."""

from __future__ import annotations

import json
from collections import Counter
from random import Random
from typing import Any

from kit.exercises.cluster_log import Context
from kit.exercises.exercise import Exercise, Verdict, cases, compare_results
from labs.L5_changelog_and_compaction import connector
from labs.L5_changelog_and_compaction.database import Database

Records = list[list[str | None]]
RANKED = (
    "    newest = Window.partitionBy('order_id').orderBy(F.desc_nulls_last({by}))\n"
    "    found = found.withColumn('rank', F.{rank}().over(newest)).where('rank = 1')\n"
    "    return found.select('order_id', 'lsn', 'deleted', 'status')"
)
PARSED = (
    "def newest(records):\n"
    "    row = 'STRUCT<order_id INT, status STRING>'\n"
    "    schema = f'after {{row}}, op STRING, ts_ms BIGINT, source STRUCT<lsn {lsn}>'\n"
    "    key = F.from_json(F.col('key').cast('string'), 'order_id INT').alias('key')\n"
    "    value = F.from_json(F.col('value').cast('string'), schema).alias('value')\n"
    "    found = records.select(key, value){where}.select({id}, 'value.source.lsn',\n"
    "        \"value.ts_ms\", F.expr(\"value IS NULL OR value.op = 'd'\").alias('deleted'),\n"
    "        'value.after.status')\n"
)


def code(
    by: str = "'lsn'", rank: str = "row_number", lsn: str = "BIGINT",
    where: str = "", id: str = "'key.order_id'",
) -> str:  # fmt: skip
    return PARSED.format(lsn=lsn, where=where, id=id) + RANKED.format(by=by, rank=rank)


def records_of(database: Database, restarts: dict[int, int] | None = None) -> Records:
    return [
        [record.key.decode(), None if record.value is None else record.value.decode()]
        for record in connector.records(database, restarts=restarts)
    ]


def _orders(*statuses: str) -> Database:
    database = Database("orders")
    database.insert(1, truck="truck-01", status=statuses[0], cents=500)
    for status in statuses[1:]:
        database.update(1, status=status)
    return database


def _deleted() -> Database:
    database = _orders("placed")
    database.delete(1)
    return database


INSTRUCTIVE: tuple[tuple[Records], ...] = (
    (records_of(_orders("placed", "loaded")),),
    (records_of(_orders("placed", "loaded", "under way"), {3: 2})[:4],),
    (records_of(_deleted()),),
    (records_of(_deleted())[-1:],),
)


def some_records(source: Random) -> tuple[Records]:
    """Three orders, some of them deleted, a restart, and a micro-batch that ends in it."""
    database = Database("orders")
    for order_id in (1, 2, 3):
        database.insert(order_id, truck="truck-01", status="placed", cents=500)
    for _ in range(6):
        order_id = source.choice(list(database.rows))
        database.update(order_id, status=source.choice(("loaded", "under way", "delivered")))
    database.delete(source.choice((1, 2, 3)))
    feed = records_of(database, {len(database.log): source.randrange(3, 8)})
    return ([*feed[: -source.randrange(1, 3)], [connector.key(9).decode(), None]],)


def newest(records: Records) -> list[list[Any]]:
    best: dict[int, list[Any]] = {}
    for key, value in records:
        assert key is not None
        order_id = json.loads(key)["order_id"]
        best.setdefault(order_id, [order_id, None, True, None])
        if value is None:
            continue
        envelope = json.loads(value)
        lsn, row = envelope["source"]["lsn"], envelope["after"]
        if lsn > (best[order_id][1] or 0):
            best[order_id] = [order_id, lsn, row is None, row and row["status"]]
    return [best[order_id] for order_id in sorted(best)]


def explain(arguments: tuple[Records], expected: Any, seen: Any) -> str:
    if not isinstance(seen, list) or not all(isinstance(r, list) and len(r) == 4 for r in seen):
        return "Give a DataFrame with order_id, lsn, deleted and status."
    if any(row[0] is None for row in seen):
        return (
            "A row has no order_id: in the envelope of a delete, `after` is null. The key has "
            "the id in each record, the tombstone too."
        )
    counted = Counter(row[0] for row in seen)
    if twice := [order_id for order_id, count in counted.items() if count > 1]:
        return (
            f"Order {twice[0]} is there {counted[twice[0]]} times, and MERGE wants one row for "
            "each. A change that was delivered twice has one LSN: a rank gives both the first "
            "place, a row number gives it to one."
        )
    found = {row[0]: row for row in seen}
    if gone := [row[0] for row in expected if row[0] not in found]:
        return (
            f"Order {gone[0]} is gone. Its only record here is a tombstone: the cleaner has "
            "removed the envelope of the delete. So the tombstone must delete."
        )
    row, right = next((found[r[0]], r) for r in expected if found.get(r[0]) != r)
    if row[1] is None and right[1] is not None:
        return (
            f"The LSN of order {row[0]} is null, and the record has {right[1]}: what does not fit "
            "the type of the schema becomes null. How many bits does it need?"
        )
    if row[1] != right[1]:
        return (
            f"Of order {row[0]} you kept the change with LSN {row[1]}; its newest has {right[1]}. "
            "After a restart, an old change comes again with a new ts_ms."
        )
    return f"Order {row[0]} is {row[1:]} here: deleted is true for op d and for a tombstone."


def judge(answer: Any, context: Context) -> Verdict:
    return compare_results(context.inputs, answer, newest, explain, stub=lambda records: [])


EXERCISE = Exercise(
    "L5-8",
    "The newest change of each order",
    (
        "Which part of a record tells you the order in a delete and in a tombstone?",
        "Two schemas: one of the key, one of the value with only the fields that you need. An LSN "
        "is a byte position, so count its bits. A value that is null stays null when parsed.",
        "Parse key and value, take id, LSN, a flag for delete or tombstone, and the status after "
        "the change. Number the rows of each order by falling LSN with nulls last, and keep the "
        "first ones.",
    ),
    judge,
    {
        "the connector's clock": code(by="'ts_ms'"),
        "both deliveries": code(rank="rank"),
        "an LSN of 32 bits": code(lsn="INT"),
        "tombstones left out": code(where=".where('value IS NOT NULL')"),
        "the id of after": code(id="'value.after.order_id'"),
    },
    cases(INSTRUCTIVE, some_records, count=2),
    minutes=15,
)
