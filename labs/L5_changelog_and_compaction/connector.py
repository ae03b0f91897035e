"""Turns the database's log into the records that a Debezium connector writes.

    key    {"order_id": 7}
    value  {"before": {…}, "after": {…}, "op": "u", "ts_ms": 1772438400300,
            "source": {"lsn": 24023128960, "ts_ms": 1772438400250, "txId": 12, "snapshot": "false"}}

* `op` is `c` for an insert, `u` for an update, `d` for a delete, and `r` for a row that the
  connector *read*: it begins with a snapshot, and then follows the log from the snapshot's LSN.
* A delete is two records: the envelope with `op: d`, then a **tombstone**, the same key without a
  value, which tells the topic's cleaner that the key may go.
* `source.ts_ms` is when the database committed, `ts_ms` when the connector handled the change.
* After a **restart** the connector goes on from the last position that it had noted, so it
  delivers some changes a second time: the same LSN, a later `ts_ms`.

The key decides the partition, so the changes of one order are in one partition, in order; those
of different orders are not.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from confluent_kafka import Producer
from confluent_kafka.admin import NewPartitions

from kit.clusters.interface import Cluster
from kit.probes import clients
from labs.L5_changelog_and_compaction.database import START_MS, Change, Database

CONNECTOR = {"connector": "postgresql", "name": "fleet", "db": "fleet"}
_BEHIND_MS = 40
"""How far the connector is behind the database."""


class Record(NamedTuple):
    """A record of the topic; `value` is None for a tombstone."""

    key: bytes
    value: bytes | None


class Connector:
    """Follows a database into a topic: `send()` writes what the log has since the last time."""

    def __init__(self, cluster: Cluster, topic: str, database: Database) -> None:
        self.cluster, self.topic, self.database = cluster, topic, database
        self._handled = 0

    def send(self, batch_records: int = 1) -> int:
        """How many records were written."""
        more = self.database.log[self._handled :]
        self._handled += len(more)
        feed = (r for change in more for r in of_change(change, change.committed_ms + _BEHIND_MS))
        return write(self.cluster, self.topic, feed, batch_records)


def records(
    database: Database, snapshot_lsn: int = 0, restarts: Mapping[int, int] | None = None
) -> Iterator[Record]:
    """A snapshot at `snapshot_lsn` (0: of an empty table), then each change after it.

    `restarts[n] = m`: after n changes the connector crashes, and the last m of them come again.
    """
    clock = START_MS
    taken = sorted(database.table(snapshot_lsn).items())
    for number, (order_id, row) in enumerate(taken):
        place = "last" if number == len(taken) - 1 else "first" if number == 0 else "true"
        source = {"table": database.table_name, "lsn": snapshot_lsn, "ts_ms": clock, "txId": None}
        source["snapshot"] = place
        yield _record(order_id, None, row, "r", clock, source)
    changes = [change for change in database.log if change.lsn > snapshot_lsn]
    for change, is_again in delivered(changes, restarts or {}):
        clock = max(clock, change.committed_ms + _BEHIND_MS) + (5_000 if is_again else 0)
        yield from of_change(change, clock)


def delivered(
    changes: Sequence[Change], restarts: Mapping[int, int]
) -> Iterator[tuple[Change, bool]]:
    """Each change in the order of delivery; True for the first one after a restart."""
    for number, change in enumerate(changes, 1):
        yield change, False
        again = changes[number - restarts[number] : number] if number in restarts else ()
        for place, repeated in enumerate(again):
            yield repeated, place == 0


def of_change(change: Change, at_ms: int) -> Iterator[Record]:
    """The record of one change; for a delete the tombstone as well."""
    source = {
        "table": change.table, "lsn": change.lsn, "ts_ms": change.committed_ms,
        "txId": change.transaction, "snapshot": "false",
    }  # fmt: skip
    op = "c" if change.before is None else "d" if change.after is None else "u"
    yield _record(change.order_id, change.before, change.after, op, at_ms, source)
    if change.after is None:
        yield Record(key(change.order_id), None)


def key(order_id: int) -> bytes:
    return json.dumps({"order_id": order_id}).encode()


def write(cluster: Cluster, topic: str, feed: Iterable[Record], batch_records: int = 20) -> int:
    """Produces the feed in order, at most `batch_records` in a batch; returns how many.

    The cleaner works on closed segments, and a segment ends at a batch: so batches are small.
    RuntimeError if the cluster refused a record.
    """
    refused: list[str] = []
    count = 0

    def on_delivery(error: Any, _: Any) -> None:
        if error is not None:
            refused.append(error.str())

    settings = {"bootstrap.servers": cluster.bootstrap, "enable.idempotence": True}
    limits = {"linger.ms": 5, "batch.num.messages": batch_records, "log_level": 0}
    producer = Producer({**settings, **limits})
    for each in feed:
        while True:
            try:
                producer.produce(topic, each.value, each.key, on_delivery=on_delivery)
                break
            except BufferError:  # the queue is full: let deliveries happen
                producer.poll(0.1)
        count += 1
    producer.flush()
    if refused:
        raise RuntimeError(f"{len(refused)} records were refused, the first with: {refused[0]}")
    return count


def add_partitions(cluster: Cluster, topic: str, added: int) -> None:
    """Gives a topic of one partition so many more, and waits until each has a leader."""
    if not added:
        return
    admin = clients.admin(cluster)
    admin.create_partitions([NewPartitions(topic, 1 + added)])[topic].result(clients.ANSWER_S)
    cluster.wait_until(
        lambda c: all(c.leader(topic, partition) != -1 for partition in range(1 + added))
    )


def _record(
    order_id: int, before: Any, after: Any, op: str, at_ms: int, source: Mapping[str, Any]
) -> Record:
    envelope = {"before": before, "after": after, "op": op, "ts_ms": at_ms}
    envelope["source"] = {**CONNECTOR, **source}
    return Record(key(order_id), json.dumps(envelope).encode())
