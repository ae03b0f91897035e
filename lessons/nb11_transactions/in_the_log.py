"""What transactions leave behind: the coordinator's records, batches by kind, indexes of aborts."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable
from typing import Any, NamedTuple

from confluent_kafka import KafkaError, TopicPartition

from engine.coordinators.offsets_topic import partition_for
from engine.coordinators.transactions.states import TransactionState
from engine.coordinators.transactions.transaction_records import TRANSACTIONS_TOPIC, decode_record
from engine.records import batch, control
from kit.clusters.data_dirs import data_dir
from kit.clusters.interface import Cluster, WaitTimeout
from kit.probes import clients
from lessons.nb11_transactions import bank

STATUS = re.compile(r'"transactionStatus":(\d+)')
ENTRY = struct.Struct(">hqqqq")
"""Of .txnindex: version, producer id, first offset, marker's offset, last stable offset then."""


class Aborted(NamedTuple):
    """An entry of .txnindex, without version and producer id."""

    first: int
    marker: int
    stable: int


def states(cluster: Cluster, name: str) -> list[str]:
    """What `__transaction_state` says of an id, record by record."""
    found: list[str] = []
    for key, value in _records(cluster, TRANSACTIONS_TOPIC):
        record = decode_record(key, value)
        if record is None or record.transactional_id != name or record.metadata is None:
            continue
        places = [f"{topic}-{partition}" for topic, partition in record.metadata.partitions]
        found.append(" ".join([str(record.metadata.state), *places]))
    return found


def decoded(lines: Iterable[str]) -> list[str]:
    """The names of the states that kafka-dump-log prints as numbers, one for each line."""
    numbers = [STATUS.search(line) for line in lines]
    return [str(list(TransactionState)[int(found[1])]) for found in numbers if found]


def wait_for_state(cluster: Cluster, name: str, state: str) -> list[str]:
    """All that the log says of an id, as soon as this is its last state."""
    found: list[list[str]] = []

    def is_there(now: Cluster) -> bool:
        found.append(states(now, name))
        return bool(found[-1]) and found[-1][-1].startswith(state)

    cluster.wait_until(is_there, bank.PATIENCE_S, f"{name} to be {state}")
    return found[-1]


def partition_of(cluster: Cluster, name: str) -> int:
    """The partition of `__transaction_state` that has an id, by the hash of its name."""
    return partition_for(name, len(partitions(cluster, TRANSACTIONS_TOPIC)))


def leader_of(cluster: Cluster, partition: int) -> int:
    """The broker that coordinates the ids of a partition."""
    return int(partitions(cluster, TRANSACTIONS_TOPIC)[partition].leader)


def coordinator_of(cluster: Cluster, name: str) -> int:
    """The broker that looks after a transactional.id."""
    return leader_of(cluster, partition_of(cluster, name))


def partitions(cluster: Cluster, topic: str) -> Any:
    """The partitions of any topic, by number; a cluster's snapshot has no internal ones."""
    return clients.admin(cluster).list_topics(topic, bank.PATIENCE_S).topics[topic].partitions


def _records(cluster: Cluster, topic: str) -> list[tuple[bytes | None, bytes | None]]:
    """Key and value of every record that is in all partitions of a topic now."""
    numbers = partitions(cluster, topic)
    reader = bank.consumer_of(cluster, "states", "read_uncommitted")
    reader.assign([TopicPartition(topic, each, 0) for each in numbers])
    found: list[tuple[bytes | None, bytes | None]] = []
    unread = set(numbers)
    try:
        while unread:
            message = reader.poll(bank.PATIENCE_S)
            if message is None:
                raise WaitTimeout(f"The end of {topic} was not reached.")
            error = message.error()
            if error is None:
                found.append((message.key(), message.value()))
            elif error.code() == KafkaError._PARTITION_EOF:
                unread.discard(message.partition())
    finally:
        reader.close()
    return found


def batches(cluster: Cluster, topic: str, partition: int = 0) -> list[str]:
    """The batches of a partition by their attributes: plain, transactional, or a marker."""
    found: list[str] = []
    data = bytes(bank.fetched(cluster, partition, topic).records or b"")
    for header, position in batch.iterate(data):
        kind = "transactional" if header.is_transactional else "plain"
        if header.is_control:
            (record,) = batch.decode(data, position)
            kind = f"{bank.MARKERS[control.control_type(record)]} marker"
        found.append(f"{kind}, attributes {header.attributes:06b}")
    return found


def aborted_index(
    cluster: Cluster, topic: str = bank.ACCOUNTS, partition: int = 0
) -> list[Aborted]:
    """The entries of the leader's .txnindex."""
    folder = data_dir(cluster, cluster.leader(topic, partition)) / f"{topic}-{partition}"
    found: list[Aborted] = []
    for path in sorted(folder.glob("*.txnindex")):
        found += [Aborted(*fields[2:]) for fields in ENTRY.iter_unpack(path.read_bytes())]
    return found
