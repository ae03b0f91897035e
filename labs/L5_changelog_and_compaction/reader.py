"""A service that keeps the database's orders in memory, from the topic, with a plain consumer.

    service = Reader(cluster, "orders")
    service.read_on()          from the beginning to the end of the topic
    service.read_on()          later: what has come since, from the offsets where it stopped

A tombstone or an envelope with `op: d` removes the order.  With `guarded`, an old change never
replaces a newer one: the service compares LSNs, and remembers those of orders that are gone.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from confluent_kafka import Consumer, KafkaError, TopicPartition

from kit.clusters.interface import Cluster, ClusterError
from kit.probes import clients
from labs.L5_changelog_and_compaction.database import Table

PATIENCE_S = 60.0


class Reader:
    """`records_read` counts; `table` has the orders by id."""

    def __init__(self, cluster: Cluster, topic: str, *, guarded: bool = False) -> None:
        self.cluster, self.topic, self.guarded = cluster, topic, guarded
        self.table: Table = {}
        self.records_read = 0
        self._offsets: dict[int, int] = {}
        self._lsns: dict[int, int] = {}

    def read_on(self, partitions: Sequence[int] = (0,)) -> Table:
        """Reads these partitions to their ends, one after the other in this order."""
        for partition in partitions:
            for message in self._messages(partition):
                self.records_read += 1
                self._offsets[partition] = message.offset() + 1
                self._apply(json.loads(message.key())["order_id"], message.value())
        return dict(self.table)

    def _apply(self, order_id: int, value: bytes | None) -> None:
        envelope: dict[str, Any] = {} if value is None else json.loads(value)
        lsn = envelope["source"]["lsn"] if envelope else self._lsns.get(order_id, 0)
        if self.guarded and lsn < self._lsns.get(order_id, 0):
            return
        self._lsns[order_id] = lsn
        if row := envelope.get("after"):
            self.table[order_id] = row
        else:
            self.table.pop(order_id, None)

    def _messages(self, partition: int) -> Iterator[Any]:
        settings = {**clients.READER, "bootstrap.servers": self.cluster.bootstrap}
        consumer = Consumer({**settings, "auto.offset.reset": "error"})
        start = self._offsets.get(partition, 0)
        consumer.assign([TopicPartition(self.topic, partition, start)])
        try:
            while True:
                message = consumer.poll(PATIENCE_S)
                if message is None:
                    raise ClusterError(f"{self.topic} cannot be read now: does it have a leader?")
                error = message.error()
                if error is None:
                    yield message
                elif error.code() == KafkaError._PARTITION_EOF:
                    return
                elif not error.retriable() and error.code() != KafkaError._TRANSPORT:
                    raise ClusterError(f"{self.topic}-{partition}: {error.str()}")
        finally:
            consumer.close()


def left(
    cluster: Cluster, topic: str, order_id: int, partitions: Sequence[int] = (0,)
) -> list[str]:
    """What a reader from the beginning finds of one order: `c`, `u`, `d`, or `tombstone`."""
    found = []
    reader = Reader(cluster, topic)
    for partition in partitions:
        for message in reader._messages(partition):
            if json.loads(message.key())["order_id"] == order_id:
                value = message.value()
                found.append("tombstone" if value is None else json.loads(value)["op"])
    return found
