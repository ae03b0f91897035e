"""The table is the database's, in whatever micro-batches the changes come, and how often."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from kit.probes import cleaner
from labs.L5_changelog_and_compaction import connector, upserts
from labs.L5_changelog_and_compaction.connector import Record
from labs.L5_changelog_and_compaction.database import Database, Morning, run
from labs.L5_changelog_and_compaction.upserts import Place

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]
COMPACTED = {
    "cleanup.policy": "compact",
    "internal.segment.bytes": 10_000,
    "min.cleanable.dirty.ratio": 1,
}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def take(spark: Any, place: Place, feed: Sequence[Record], columns: str = upserts.COLUMNS) -> None:
    upserts.merge(
        upserts.newest(upserts.changes(upserts.as_records(spark, feed), columns)), place.orders
    )


def test_a_stream_a_restart_and_the_cleaner_give_the_databases_table(
    spark: Any, engine_cluster: Any, place: Place, tmp_path: Path
) -> None:
    database = run(Morning(400, 7))
    feed = list(connector.records(database, database.log[40].lsn, restarts={150: 60}))
    engine_cluster.create_topic("changes", partitions=2, config=COMPACTED)
    assert connector.write(engine_cluster, "changes", feed) == len(feed)
    query = upserts.start(spark, engine_cluster.bootstrap, "changes", place, batch_records=300)
    query.awaitTermination()
    merges = upserts.history(spark, place.orders)
    assert len(merges) > 1
    assert upserts.differences(upserts.rows(spark, place.orders), database.table()) == []
    lsn, table = upserts.as_of(spark, place.orders, merges[-1]["version"])
    assert (lsn, table) == (database.lsn, database.table())
    lsn, table = upserts.as_of(spark, place.orders, merges[0]["version"])
    assert lsn < database.lsn
    assert table != database.table()
    cleaner.clean(engine_cluster, "changes")
    again = Place(tmp_path / "again")
    read = upserts.rebuild(spark, engine_cluster.bootstrap, "changes", again)
    assert 0 < read < len(feed)
    assert upserts.differences(upserts.rows(spark, again.orders), database.table()) == []


@pytest.mark.full
def test_old_batches_and_repeated_ones_change_nothing(spark: Any, place: Place) -> None:
    database = Database("orders")
    for order_id in (1, 2, 3):
        database.insert(order_id, truck="truck-01", status="placed", cents=500)
    database.update(1, status="loaded")
    database.update(2, status="loaded")
    database.delete(2)
    database.rekey(3, 4)
    feed = list(connector.records(database))
    old, new = feed[:5], feed[5:]
    upserts.create(spark, place.orders)
    take(spark, place, new)  # the deletes come before the rows that they delete
    take(spark, place, old)
    assert upserts.differences(upserts.rows(spark, place.orders), database.table()) == []
    take(spark, place, old)
    take(spark, place, new)
    changed = [m["inserted"] + m["updated"] for m in upserts.history(spark, place.orders)]
    assert changed[2:] == [0, 0]
    assert upserts.differences(upserts.rows(spark, place.orders), database.table()) == []


@pytest.mark.full
def test_a_tombstone_that_the_cleaner_left_alone_deletes(spark: Any, place: Place) -> None:
    database = Database("orders")
    database.insert(1, truck="truck-01", status="placed", cents=500)
    database.insert(2, truck="truck-02", status="placed", cents=700)
    upserts.create(spark, place.orders)
    take(spark, place, list(connector.records(database)))
    take(spark, place, [Record(connector.key(1), None), Record(connector.key(3), None)])
    assert set(upserts.rows(spark, place.orders)) == {2}


@pytest.mark.full
def test_a_new_column_widens_the_table(spark: Any, place: Place) -> None:
    database = run(Morning(60, 2, priority_from=30))
    feed = list(connector.records(database))
    upserts.create(spark, place.orders)
    take(spark, place, feed[:40])
    take(spark, place, feed[40:], upserts.WITH_PRIORITY)
    columns = spark.sql(f"SELECT * FROM delta.`{place.orders}`").columns
    assert columns[-1] == "priority"
    wrong = upserts.differences(upserts.rows(spark, place.orders), database.table())
    assert all("priority is None" in line for line in wrong), wrong


@pytest.mark.full
def test_an_envelope_that_cannot_be_read_stops_the_query(spark: Any) -> None:
    from py4j.protocol import Py4JJavaError

    broken = [Record(connector.key(1), b'{"before": null, "after": {"order_id": "one"')]
    with pytest.raises(Py4JJavaError, match=r"(?i)malformed"):
        upserts.changes(upserts.as_records(spark, broken)).collect()


def test_each_difference_is_named() -> None:
    truth = {1: {"order_id": 1, "cents": 5}, 2: {"order_id": 2, "cents": 6}}
    found = {2: {"order_id": 2, "cents": 7}, 3: {"order_id": 3, "cents": 8}}
    assert upserts.differences(found, truth) == [
        "order 1 is missing", "order 2: cents is 7, not 6", "order 3 is not in the database",
    ]  # fmt: skip
