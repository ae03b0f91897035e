"""The database's memory and the connector's records agree, and are the same for a seed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from labs.L5_changelog_and_compaction import connector
from labs.L5_changelog_and_compaction.connector import Record
from labs.L5_changelog_and_compaction.database import Database, Morning, Table, run


def envelopes(feed: Sequence[Record]) -> list[dict[str, Any]]:
    return [json.loads(record.value) for record in feed if record.value is not None]


def folded(feed: Sequence[Record]) -> Table:
    """The table that a reader builds who applies each record as it comes."""
    found: Table = {}
    for record in feed:
        order_id = json.loads(record.key)["order_id"]
        if record.value is None:
            found.pop(order_id, None)
        elif (row := json.loads(record.value)["after"]) is not None:
            found[order_id] = row
    return found


def test_a_seed_decides_the_log() -> None:
    assert run(Morning(300, 5)).log == run(Morning(300, 5)).log
    assert run(Morning(300, 5)).log != run(Morning(300, 6)).log


def test_the_log_up_to_any_lsn_gives_the_table_at_that_lsn() -> None:
    database = run(Morning(400, 3, priority_from=200))
    rows: Table = {}
    for number, change in enumerate(database.log):
        if change.after is None:
            del rows[change.order_id]
        else:
            rows[change.order_id] = change.after
        next_lsn = database.log[number + 1].lsn if number + 1 < len(database.log) else 0
        if next_lsn != change.lsn:  # a change of key is two changes with one LSN
            assert database.table(change.lsn) == rows
    assert database.table() == rows
    assert database.table(0) == {}


def test_every_kind_of_statement_happens_and_a_new_column_comes_half_way() -> None:
    database = run(Morning(400, 3, priority_from=200))
    ops = [envelope["op"] for envelope in envelopes(list(connector.records(database)))]
    assert {"c", "u", "d"} == set(ops)
    lsns = [change.lsn for change in database.log]
    assert len(lsns) > len(set(lsns)), "no order got another id"
    assert min(lsns) > 2**32
    late = [c for c in database.log if c.after and "priority" in c.after]
    assert late
    assert late[0].transaction > 200


def test_each_delete_is_followed_by_its_tombstone() -> None:
    feed = list(connector.records(run(Morning(300, 4))))
    for record, following in zip(feed, [*feed[1:], None], strict=True):
        if record.value is not None and json.loads(record.value)["op"] == "d":
            assert following == Record(record.key, None)
    assert sum(r.value is None for r in feed) == sum(e["op"] == "d" for e in envelopes(feed))


def test_a_change_of_key_is_a_delete_and_an_insert_with_one_lsn() -> None:
    database = Database("orders")
    database.insert(7, truck="truck-01", status="placed", cents=500)
    database.rekey(7, 9)
    first, *others = connector.records(database)
    gone, tombstone, came = others
    assert [json.loads(r.key)["order_id"] for r in (gone, tombstone, came)] == [7, 7, 9]
    assert [e["op"] for e in envelopes([first, gone, came])] == ["c", "d", "c"]
    assert len({e["source"]["lsn"] for e in envelopes([gone, came])}) == 1
    assert database.table() == folded([first, *others])


def test_a_snapshot_and_what_follows_it_give_the_same_table() -> None:
    database = run(Morning(500, 8))
    half = database.log[250].lsn
    feed = list(connector.records(database, snapshot_lsn=half))
    read = [envelope for envelope in envelopes(feed) if envelope["op"] == "r"]
    assert len(read) == len(database.table(half))
    assert {envelope["source"]["lsn"] for envelope in read} == {half}
    assert folded(feed) == database.table()


def test_after_a_restart_changes_come_again_with_their_lsn_and_a_later_clock() -> None:
    database = run(Morning(200, 9))
    changes = database.log
    plain = envelopes(list(connector.records(database)))
    feed = envelopes(list(connector.records(database, restarts={100: 30})))
    assert len(feed) == len(plain) + 30
    again, first = feed[100:130], feed[70:100]
    assert [e["source"]["lsn"] for e in again] == [c.lsn for c in changes[70:100]]
    for repeated, once in zip(again, first, strict=True):
        assert repeated["after"] == once["after"]
        assert repeated["ts_ms"] > once["ts_ms"]
        assert repeated["source"]["ts_ms"] == once["source"]["ts_ms"]


@pytest.mark.parametrize("statement", ["insert", "rekey"])
def test_an_id_that_is_taken_is_refused(statement: str) -> None:
    database = Database("orders")
    for order_id in (1, 2):
        database.insert(order_id, truck="truck-01", status="placed", cents=500)
    arguments: dict[str, Any] = {"order_id": 1}
    if statement == "rekey":
        arguments["other"] = 2
    with pytest.raises(KeyError, match="is there already"):
        getattr(database, statement)(**arguments)
