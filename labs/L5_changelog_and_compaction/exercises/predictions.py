"""The predictions of lab L5: what each key run observes, and what it makes right."""

from __future__ import annotations

from kit.exercises.exercise import Observed, Prediction


def merged_as_it_came(seen: Observed) -> str:
    """L5-1."""
    if seen["error"]:
        return "c"
    if len(seen["statuses"]) > 1:
        return "d"
    return "a" if seen["statuses"] == [seen["newest"]] else "b"


def explain_status(answer: str, seen: Observed) -> str:
    """L5-2."""
    return (
        f"The table has {seen['in the table']}, the database {seen['in the database']}. By "
        f"{seen['newest by']} the newest of the {seen['records taken']} records is LSN "
        f"{seen['lsn taken']}; the highest LSN is {seen['highest lsn']}."
    )


def after_a_compaction(seen: Observed) -> str:
    """L5-12: by the two starts after OPTIMIZE."""
    first, second = seen["rows by start"][1:]
    if not first and not second:
        return "a"
    if sum(first):
        return "b"
    return {(True, False): "c", (True, True): "d"}.get(tuple(seen["failed"][1:]), "")


def after_the_replay(seen: Observed) -> str:
    """L5-3."""
    return "b" if seen["orders"] else "d" if seen["rows with deleted"] else "a"


def versions_that_are_right(seen: Observed) -> str:
    """L5-4."""
    if seen["rows that differ at the end"]:
        return "c"
    return "a" if seen["versions like the database"] == seen["versions"] else "b"


def a_rebuild(seen: Observed) -> str:
    """L5-5."""
    if seen["rows that differ, compacted"]:
        return "c"
    return "a" if seen["records after the cleaner"] < seen["records before"] else "b"


def back_after_a_while(seen: Observed) -> str:
    """L5-6."""
    if seen["orders in memory"] != seen["orders in the database"]:
        return "d"
    return "c" if "tombstone" in seen["left of the deleted order"] else "a"


def with_more_partitions(seen: Observed) -> str:
    """L5-7."""
    if seen["deleted order, rebuilt"] == "there":
        return "b"
    return "a" if seen["changed order, rebuilt"] == "loaded" else "c"


PREDICTIONS = (
    Prediction(
        "L5-1",
        "The table has order 1 as placed. The micro-batch has two more changes of it: loaded, "
        "then under way. MERGE takes them as they came. What happens?",
        (
            "the table says under way: the last change of the batch wins",
            "the table says loaded: an order is matched once in a MERGE",
            "the MERGE is refused",
            "the table has two rows of order 1",
        ),
        tempting="a",
        settle=merged_as_it_came,
        because={
            "a": "A DataFrame has no order, so there is no last row: {error}.",
            "b": "Delta does not choose one of several matching rows: {error}.",
            "c": "The table says {statuses}: no two changes of the batch matched one row.",
            "d": "Only rows that match nothing are inserted. The table says {statuses}.",
        },
    ),
    Prediction(
        "L5-2",
        "The micro-batch has placed, loaded, under way and, after the restart, loaded again. The "
        "query keeps the change with the highest ts_ms. Which status does the table show?",
        form="a status",
        tempting="under way",
        settle=lambda seen: seen["in the table"],
        explain=explain_status,
    ),
    Prediction(
        "L5-3",
        "Micro-batch 1 has an order's insert, 2 has its update and delete, and 3 has the "
        "update once more, with its old LSN. What does the table hold then?",
        (
            "no order: the guard refuses an old LSN",
            "the order, as the update left it",
            "nothing new: the query stops, because the row to update is not there",
            "no order, and a row that notes the delete",
        ),
        tempting="a",
        settle=after_the_replay,
        because={
            "a": "The table has {orders}. The guard compares with a row, and the row was gone.",
            "b": "The table has the orders {orders}, and {rows with deleted} row with deleted.",
            "c": "A change without a matching row is inserted. The table has {orders}.",
            "d": "The table has {orders}: DELETE left no row that could note anything.",
        },
    ),
    Prediction(
        "L5-4",
        "The topic has three partitions, and each micro-batch makes a version of the table. Which "
        "versions are equal to the database at the highest LSN that they know?",
        ("all of them", "the last one, and few of the others or none", "not even the last one"),
        tempting="a",
        settle=versions_that_are_right,
        because={
            "a": "{versions like the database} of {versions} versions are. A micro-batch cuts each "
            "partition somewhere else, so it knows changes without all the earlier ones.",
            "b": "{versions like the database} of {versions} versions are equal.",
            "c": "At the end {rows that differ at the end} rows differ: all changes were read, and "
            "of each order the newest counts.",
        },
    ),
    Prediction(
        "L5-5",
        "The change feed of a morning is in a compacted topic. You build a table from it before "
        "the cleaner has passed, and another one afterwards. What is the second one?",
        (
            "the same table, from fewer records",
            "the same table, from as many records: each LSN is a change of its own",
            "another table: what the cleaner removed is missing",
        ),
        tempting="c",
        settle=a_rebuild,
        because={
            "a": "{records before} records were read at first, and {records after the cleaner} "
            "afterwards; {rows that differ, compacted} rows differ from the database.",
            "b": "{records after the cleaner} of {records before} records were left: the cleaner "
            "looks at the key alone, and the key is the order.",
            "c": "{rows that differ, compacted} rows differ. Each envelope has the whole row, so "
            "the last one is enough.",
        },
    ),
    Prediction(
        "L5-6",
        "A service has orders 1, 2 and 3 in memory and is stopped. Order 2 is deleted; the "
        "cleaner passes twice. The service reads on from its offset. What does it find?",
        (
            "no order 2: the tombstone waits until each reader has passed it",
            "an error: the offset where it stopped has gone",
            "no order 2: the tombstone is still in the topic",
            "order 2, as before",
        ),
        tempting="c",
        settle=back_after_a_while,
        because={
            "a": "It has {orders in memory} in memory; of order 2 the topic has {left of the "
            "deleted order}. The cleaner knows no readers.",
            "b": "There was no error. Gaps are normal in a compacted log, "
            "and it went on behind them. It has {orders in memory} in memory.",
            "c": "Of order 2 the topic has {left of the deleted order}: delete.retention.ms was "
            "over before the second pass.",
            "d": "It has {orders in memory} in memory: the tombstone was there when it came back.",
        },
    ),
    Prediction(
        "L5-7",
        "Orders are written to a topic of one partition. It gets two more. Then one order is "
        "updated and another deleted, and both keys now belong to another partition. The cleaner "
        "passes twice. A service that compares LSNs rebuilds its table. What does it find?",
        (
            "the database's table: the LSN puts the changes in order",
            "the deleted order, and the updated one as it is in the database",
            "the updated order with its old status",
        ),
        tempting="a",
        settle=with_more_partitions,
        because={
            "a": "The deleted order is {deleted order, rebuilt}: its insert is in the old "
            "partition, and the cleaner works on each partition by itself.",
            "b": "The deleted order is {deleted order, rebuilt}, the other one "
            "{changed order, rebuilt}.",
            "c": "The updated order is {changed order, rebuilt}: there the LSN does decide.",
        },
    ),
    Prediction(
        "L5-12",
        "OPTIMIZE has written the table's four small files into one. No row has changed. What does "
        "the function get at the two starts that follow?",
        (
            "nothing: no row has changed, so there is no micro-batch",
            "every row once more: the file is new",
            "no rows: the query fails, and the second start begins behind that micro-batch",
            "no rows: the query fails, and the second start fails at the same micro-batch",
        ),
        tempting="a",
        settle=after_a_compaction,
        because=dict.fromkeys(
            "abcd",
            "The rows of each micro-batch, by start: {rows by start}. The start failed: {failed}.",
        ),
    ),
)
