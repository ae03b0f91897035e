"""Reads what each replica of a real Kafka holds, broker by broker.

A client sees one log per partition.  A lesson on replication needs to see three, with
the uncommitted end of each.  The protocol reveals nearly all of it:

    log end offset     ListOffsets(latest) with replica id -2, answered by any replica
    high watermark     Fetch from that replica, beyond its end
    record values      Fetch with replica id -3 (a broker's own copier), beyond the watermark
    leader or not      DescribeTopicPartitions, as that broker believes
    epochs             the checkpoint file where we can read it, else OffsetForLeaderEpoch

A replica whose broker does not answer is shown from its files where this machine can
read them (`files.py`).
"""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from engine.wire import messages as m
from engine.wire.errors import Errors
from kit.clusters import files
from kit.clusters.connections import Address, Connections, Unreachable
from kit.clusters.interface import Node
from kit.clusters.topics import described

LATEST = -1
DEBUGGING_REPLICA = -2
LOCAL_COPY_REPLICA = -3
_BY_NAME = 12  # the last Fetch version that names topics instead of their ids
_READ_BYTES = 1 << 20

TopicPartition = tuple[str, int]
Log = dict[str, Any]


class ReplicaLogs:
    """Reads the replicas of one cluster."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def read(
        self, nodes: Mapping[int, Node], topics: dict[str, Any], *, values: bool, tail: int
    ) -> dict[TopicPartition, dict[int, Log]]:
        """Each replica's log, asked broker by broker."""
        hosted: dict[int, list[TopicPartition]] = defaultdict(list)
        partitions: dict[TopicPartition, Any] = {}
        for name, topic in topics.items():
            for p in topic.partitions:
                partitions[name, p.partition_index] = p
                for replica in p.replica_nodes:
                    hosted[replica].append((name, p.partition_index))
        logs: dict[TopicPartition, dict[int, Log]] = {key: {} for key in partitions}
        for broker, keys in sorted(hosted.items()):
            node = nodes.get(broker)
            read: dict[TopicPartition, Log] = {}
            if node is not None and node.state == "running" and node.address is not None:
                with contextlib.suppress(Unreachable):
                    read = self._read(node, keys, values, tail)
            for key in keys:
                logs[key][broker] = self._log(node, key, read.get(key), tail)
                if not values:
                    logs[key][broker].pop("batches", None)
        for key, partition in partitions.items():
            self._add_epochs(nodes, key, partition, logs[key])
        # In the order of assignment, the preferred leader first.
        return {key: {r: logs[key][r] for r in p.replica_nodes} for key, p in partitions.items()}

    def _log(self, node: Node | None, key: TopicPartition, read: Log | None, tail: int) -> Log:
        if read is None:
            stored = files.read_log(node.data_dir, key, tail) if node and node.data_dir else None
            return {**(stored or {}), "role": "offline"}
        return read

    def _read(
        self, node: Node, keys: list[TopicPartition], values: bool, tail: int
    ) -> dict[TopicPartition, Log]:
        """What one broker says about its replicas.

        The broker itself says whether it leads.  One that is cut off from the controller may
        still believe so after a new leader was elected.
        """
        address = node.address
        assert address is not None
        beliefs = {
            (topic.name, p.partition_index): (p.leader_id, p.leader_epoch)
            for topic in described(self._connections, [address])
            for p in topic.partitions
        }
        ends = self._log_ends(address, keys)
        watermarks = self._fetch(address, ends, LATEST, 1)
        logs: dict[TopicPartition, Log] = {}
        for key, data in watermarks.items():
            leader, epoch = beliefs.get(key, (-1, -1))
            logs[key] = {
                "role": "leader" if leader == node.id else "follower",
                "leader_epoch": epoch,
                "log_start_offset": data.log_start_offset,
                "log_end_offset": ends[key],
                "high_watermark": data.high_watermark,
            }
        if values:
            begins = {k: max(log["log_start_offset"], ends[k] - tail) for k, log in logs.items()}
            for key, data in self._fetch(address, begins, LOCAL_COPY_REPLICA, _READ_BYTES).items():
                logs[key]["batches"] = files.batches(data.records or b"", begins[key])
        return logs

    def _log_ends(self, address: Address, keys: list[TopicPartition]) -> dict[TopicPartition, int]:
        topics = [
            m.ListOffsetsRequest.ListOffsetsTopic(
                name,
                [m.ListOffsetsRequest.ListOffsetsPartition(i, timestamp=LATEST) for i in indexes],
            )
            for name, indexes in _by_topic(keys).items()
        ]
        request = m.ListOffsetsRequest(DEBUGGING_REPLICA, topics=topics)
        answer = self._connections.ask(address, request)
        return {
            (topic.name, p.partition_index): p.offset
            for topic in answer.topics
            for p in topic.partitions
            if p.error_code == Errors.NONE
        }

    def _fetch(
        self, address: Address, offsets: Mapping[TopicPartition, int], replica: int, size: int
    ) -> dict[TopicPartition, Any]:
        topics = [
            m.FetchRequest.FetchTopic(
                name,
                partitions=[
                    m.FetchRequest.FetchPartition(
                        i, fetch_offset=offsets[name, i], partition_max_bytes=size
                    )
                    for i in indexes
                ],
            )
            for name, indexes in _by_topic(offsets).items()
        ]
        if not topics:
            return {}
        request = m.FetchRequest(replica_id=replica, max_wait_ms=0, min_bytes=0, topics=topics)
        answer = self._connections.ask(address, request, highest=_BY_NAME)
        return {
            (topic.topic, p.partition_index): p
            for topic in answer.responses
            for p in topic.partitions
            if p.error_code == Errors.NONE
        }

    def _add_epochs(
        self, nodes: Mapping[int, Node], key: TopicPartition, partition: Any, logs: dict[int, Log]
    ) -> None:
        """Adds epochs from each replica's checkpoint file, or else from the leader's history."""
        leaders: list[list[int]] | None = None
        for broker, log in logs.items():
            node = nodes.get(broker)
            if node is None or "log_end_offset" not in log:
                continue
            if node.data_dir is not None:
                log["epochs"] = files.read_epochs(node.data_dir, key)
                continue
            if leaders is None:
                leaders = self._leaders_epochs(nodes, key, partition)
            log["epochs"] = [e for e in leaders if e[1] < log["log_end_offset"]]

    def _leaders_epochs(
        self, nodes: Mapping[int, Node], key: TopicPartition, partition: Any
    ) -> list[list[int]]:
        """Asks where each epoch ends; the next one starts there."""
        leader = nodes.get(partition.leader_id)
        if leader is None or leader.address is None or leader.state != "running":
            return []
        epochs: list[list[int]] = []
        start = 0
        for epoch in range(partition.leader_epoch + 1):
            ask = m.OffsetForLeaderEpochRequest.OffsetForLeaderPartition(key[1], -1, epoch)
            topic = m.OffsetForLeaderEpochRequest.OffsetForLeaderTopic(key[0], [ask])
            try:
                request = m.OffsetForLeaderEpochRequest(DEBUGGING_REPLICA, [topic])
                part = self._connections.ask(leader.address, request).topics[0].partitions[0]
            except Unreachable:
                return []
            if part.error_code == 0 and part.leader_epoch == epoch:
                epochs.append([epoch, start])
                start = part.end_offset
        return epochs


def _by_topic(keys: Iterable[TopicPartition]) -> dict[str, list[int]]:
    topics: dict[str, list[int]] = defaultdict(list)
    for name, index in sorted(keys):
        topics[name].append(index)
    return topics
