"""Transactions in the data directories of brokers: of the engine, and of a real Kafka.

    of_cluster(cluster, topics, folders, words, before)      a moment of a running cluster
    of_folder("/var/lib/kafka/data", topics)                 what one broker's directory says

A snapshot tells who leads and how far a log is committed, but it has no batches, and it leaves
internal topics out.  The files have both.  A partition is read from its leader's directory.  Of an
internal one the longest replica is shown, and what every replica has counts as replicated.

A real Kafka's snapshot has no transactional ids.  Then they are taken from `__transaction_state`:
the newest record of an id holds, and a partition lacks its marker as long as its log has the
transaction open.  One directory alone shows only what its broker stores; its high watermark is the
checkpoint's, which Kafka writes every five seconds and when it stops.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from engine.coordinators.offsets_topic import OFFSETS_TOPIC
from engine.coordinators.transactions.transaction_records import TRANSACTIONS_TOPIC
from engine.storage import file_names
from kit.clusters.data_dirs import data_dir
from kit.clusters.interface import ClusterError
from kit.film.source import Snapshot
from kit.segment_panel.files import Folder
from kit.segment_panel.folder import Replica, Vanished, look
from kit.transaction_panel import logs
from kit.transaction_panel.view import (
    NOT_KNOWN,
    LeadersLog,
    Word,
    is_internal,
    of_transactions,
)

OFFSETS_MOST = 2_000
"""Of each log the last so many offsets are read."""
RUNNING = ("running", "paused")
METADATA_S = 2.0


@dataclass(frozen=True)
class Stored:
    """A replica's log as it was read: its batches, or the records of `__transaction_state`."""

    topic: str
    index: int
    start: int
    end: int
    checkpointed: int | None
    batches: Sequence[logs.Stored]
    records: Sequence[Mapping[str, Any]]


class Folders:
    """Reads replicas out of data directories, each again only when its files have grown."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], tuple[Any, Stored]] = {}

    def read(self, root: Path, topic: str, index: int) -> Stored | None:
        """A replica's log; None if it is not in this directory, or changes too fast."""
        directory = f"{topic}-{index}"
        folder = Folder(root)
        sizes = tuple(_sizes(folder, directory))
        if not sizes:
            return None
        key = str(root), directory
        known = self._known.get(key)
        if known is None or known[0] != sizes:
            try:
                known = sizes, _stored(look(folder, directory), topic, index)
            except (Vanished, OSError):
                return known[1] if known else None
            self._known[key] = known
        return known[1]

    def indexes(self, root: Path, topic: str) -> list[int]:
        """The partitions of a topic that this directory has, those with records only."""
        found = (_parted(name) for name in _names(root))
        folder = Folder(root)
        return sorted(
            index for name, index in found
            if name == topic and any(size for _, size in _sizes(folder, f"{name}-{index}"))
        )  # fmt: skip

    def topics(self, root: Path) -> list[str]:
        """The users' topics of which this directory has a partition."""
        found = {name for name, _ in map(_parted, _names(root))}
        return sorted(name for name in found if name and not is_internal(name))


def _names(root: Path) -> list[str]:
    try:
        return [each.name for each in os.scandir(root) if each.is_dir()]
    except (FileNotFoundError, NotADirectoryError):
        return []


def _parted(directory: str) -> tuple[str, int]:
    """`orders-0`; a name that is no partition's has no topic."""
    topic, _, index = directory.rpartition("-")
    return (topic, int(index)) if index.isdigit() else ("", -1)


def _sizes(folder: Folder, directory: str) -> Iterator[tuple[str, int]]:
    for name in folder.list(directory):
        if name.endswith(file_names.LOG):
            try:
                yield name, folder.size(f"{directory}/{name}")
            except FileNotFoundError:
                continue


def _stored(replica: Replica, topic: str, index: int) -> Stored:
    start, end = max(replica.log_start, replica.log_end - OFFSETS_MOST), replica.log_end
    is_state = topic == TRANSACTIONS_TOPIC
    return Stored(
        topic,
        index,
        start,
        end,
        replica.high_watermark,
        () if is_state else logs.read(replica.log, topic, start, end),
        logs.state_records(replica.log, index, start, end) if is_state else (),
    )


# -- a running cluster


def of_cluster(
    cluster: Any,
    whole: Snapshot,
    topics: Sequence[str],
    folders: Folders,
    words: Mapping[str, Word],
    before: Snapshot | None,
) -> dict[str, Any]:
    """A moment of a running cluster; without `topics`, all that users have."""
    roots = {
        broker: data_dir(cluster, broker)
        for broker, each in whole["brokers"].items()
        if each["state"] in RUNNING
    }
    shown = [name for name in whole["topics"] if not topics or name in topics]
    partitions = list(_led(whole, shown, folders, roots))
    partitions += [each for each in _internal(OFFSETS_TOPIC, folders, roots) if each.batches
                   and any(stored["is_transactional"] for stored in each.batches)]  # fmt: skip
    records = list(_records(folders, roots))
    if "transactions" not in whole:
        leaders = _internal_leaders(cluster)
        partitions = [replace(each, leader=leaders.get(each.name, each.leader))
                      for each in partitions]  # fmt: skip
        whole = {**whole, "transactions": ids(records, partitions, leaders)}
    return of_transactions(whole, partitions, records, words, before)


def _led(
    whole: Snapshot, topics: Sequence[str], folders: Folders, roots: Mapping[int, Path]
) -> Iterator[LeadersLog]:
    for topic in topics:
        for index, partition in whole["topics"][topic]["partitions"].items():
            leader = partition["leader"]
            known = partition["logs"].get(leader, {}).get("high_watermark")
            stored = folders.read(roots[leader], topic, index) if leader in roots else None
            if stored is not None:
                yield _log(stored, leader, 0 if known is None else known)


def _internal(topic: str, folders: Folders, roots: Mapping[int, Path]) -> Iterator[LeadersLog]:
    for replicas in _replicas(topic, folders, roots).values():
        longest = max(replicas, key=lambda each: each.end)
        yield _log(longest, NOT_KNOWN, min(each.end for each in replicas))


def _internal_leaders(cluster: Any) -> dict[str, int]:
    """The leaders of internal topics' partitions, as any client hears of them; empty if unknown."""
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
    try:
        topics = admin.list_topics(timeout=METADATA_S).topics
    except KafkaException:
        return {}
    return {
        f"{name}-{index}": each.leader
        for name, topic in topics.items()
        if is_internal(name)
        for index, each in topic.partitions.items()
    }


def _replicas(
    topic: str, folders: Folders, roots: Mapping[int, Path]
) -> dict[int, list[Stored]]:  # fmt: skip
    found: dict[int, list[Stored]] = {}
    for root in roots.values():
        for index in folders.indexes(root, topic):
            stored = folders.read(root, topic, index)
            if stored is not None:
                found.setdefault(index, []).append(stored)
    return dict(sorted(found.items()))


def _records(folders: Folders, roots: Mapping[int, Path]) -> list[Mapping[str, Any]]:
    found = []
    for replicas in _replicas(TRANSACTIONS_TOPIC, folders, roots).values():
        longest = max(replicas, key=lambda each: each.end)
        everywhere = min(each.end for each in replicas)
        found += [{**each, "is_replicated": each["offset"] < everywhere}
                  for each in longest.records]  # fmt: skip
    return sorted(found, key=lambda each: (each["time_ms"], each["partition"], each["offset"]))


def _log(stored: Stored, leader: int, high_watermark: int) -> LeadersLog:
    return LeadersLog(
        stored.topic,
        stored.index,
        leader,
        stored.start,
        stored.end,
        min(high_watermark, stored.end),
        stored.batches,
    )


# -- one broker's directory


def of_folder(root: str | Path, topics: Sequence[str] = ()) -> dict[str, Any]:
    """What one data directory says; without `topics`, all that it has."""
    folders, path = Folders(), Path(root)
    if not path.is_dir():
        raise ClusterError(f"There is no folder {path}: name a broker's data directory.")
    wanted = [*(topics or folders.topics(path)), OFFSETS_TOPIC]
    partitions = []
    for topic in wanted:
        for index in folders.indexes(path, topic):
            stored = folders.read(path, topic, index)
            if stored is None:
                continue
            is_transactional = any(each["is_transactional"] for each in stored.batches)
            if topic != OFFSETS_TOPIC or is_transactional:
                known = stored.checkpointed
                partitions.append(_log(stored, NOT_KNOWN, stored.end if known is None else known))
    records = _records(folders, {0: path})
    times = [each["time_ms"] for each in records]
    whole = {"time_us": max(times, default=0) * 1000, "transactions": ids(records, partitions)}
    return of_transactions(whole, partitions, records, {})


# -- transactional ids without a snapshot


def ids(
    records: Sequence[Mapping[str, Any]],
    partitions: Sequence[LeadersLog],
    leaders: Mapping[str, int] | None = None,
) -> dict[str, dict[str, Any]]:
    """What the newest record of each transactional id says, in the shape of a snapshot."""
    newest = {each["id"]: each for each in records}
    opened = {
        (each.name, transaction.producer_id)
        for each in partitions
        for transaction in logs.transactions(each.batches)
        if transaction.fate == logs.OPEN
    }
    known = {each.name for each in partitions}
    found = {}
    for name, each in sorted(newest.items()):
        if each["state"] == "Dead":
            continue
        parts, place = each["partitions"], f"{TRANSACTIONS_TOPIC}-{each['partition']}"
        decided = each["state"].startswith("Prepare")
        missing = [part for part in parts if decided and (
            part not in known or (part, each["producer_id"]) in opened)]  # fmt: skip
        found[name] = {
            "coordinator": (leaders or {}).get(place, NOT_KNOWN),
            "coordinator_epoch": NOT_KNOWN,
            "state": each["state"],
            "pending": None,
            "producer_id": each["producer_id"],
            "producer_epoch": each["epoch"],
            "next_producer_id": -1,
            "timeout_ms": each["timeout_ms"],
            "start_ms": each["start_ms"],
            "version": each.get("version", 0),
            "partitions": _by_topic(parts),
            "awaiting_markers": _by_topic(missing),
        }
    return found


def _by_topic(parts: Sequence[str]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for topic, index in map(_parted, parts):
        found.setdefault(topic, []).append(index)
    return found
