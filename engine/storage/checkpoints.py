"""The small text files in which a broker writes down what it must not forget.

    replication-offset-checkpoint      high watermark of each partition
    recovery-point-offset-checkpoint   offset up to which each log is flushed
    log-start-offset-checkpoint        where each log begins, if not at a segment's start
    leader-epoch-checkpoint            per log: epoch and first offset
    partition.metadata                 per log: the id of the topic it belongs to
    meta.properties                    which cluster, node and directory this is
    .kafka_cleanshutdown               there only after a clean stop; names the broker epoch

All are in Kafka's own formats.  All but `partition.metadata` are replaced as a whole and durably,
so that a reader finds the old or the new contents and nothing between.  `partition.metadata` is
written once, with its log, and becomes durable before the log's first record, as in Kafka: a topic
of a thousand empty partitions need not wait for as many flushes.  The offset files look like this:

    0                  version
    2                  number of lines that follow
    orders 0 1234
    payments 3 77

The high watermark on disk is a few seconds old, and that is fine: a replica learns the true one
from its leader.  The clean-shutdown file is deleted at the start, so a crash leaves none behind.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from engine.storage.disk import Disk
from engine.wire import uuids
from engine.wire.errors import Errors, KafkaError
from engine.wire.uuids import ZERO

HIGH_WATERMARKS = "replication-offset-checkpoint"
RECOVERY_POINTS = "recovery-point-offset-checkpoint"
LOG_STARTS = "log-start-offset-checkpoint"
META_PROPERTIES = "meta.properties"
CLEAN_SHUTDOWN = ".kafka_cleanshutdown"
PARTITION_METADATA = "partition.metadata"

_VERSION = 0

Offsets = dict[tuple[str, int], int]


@dataclass(frozen=True, slots=True)
class MetaProperties:
    """Whose data this is; ids in Kafka's base64 spelling."""

    cluster_id: str
    node_id: int
    directory_id: str


# -- offsets of partitions, and epochs of one


def read_offsets(disk: Disk, path: str) -> Offsets:
    """By (topic, partition); empty if there is no such file."""
    return {
        (topic, int(partition)): int(offset)
        for topic, partition, offset in _read_rows(disk, path, 3)
    }


def write_offsets(disk: Disk, path: str, offsets: Mapping[tuple[str, int], int]) -> None:
    rows = [f"{topic} {index} {offset}" for (topic, index), offset in sorted(offsets.items())]
    _write_rows(disk, path, rows)


def read_epochs(disk: Disk, path: str) -> list[tuple[int, int]]:
    """(epoch, start offset) in the file's order; empty if there is no such file."""
    return [(int(epoch), int(offset)) for epoch, offset in _read_rows(disk, path, 2)]


def write_epochs(disk: Disk, path: str, entries: list[tuple[int, int]]) -> None:
    _write_rows(disk, path, [f"{epoch} {offset}" for epoch, offset in entries])


def _write_rows(disk: Disk, path: str, rows: list[str]) -> None:
    lines = [str(_VERSION), str(len(rows)), *rows]
    disk.replace(path, "".join(line + "\n" for line in lines).encode())


def _read_rows(disk: Disk, path: str, columns: int) -> list[list[str]]:
    lines = _read_lines(disk, path)
    if not lines:
        return []
    rows = [line.split() for line in lines[2:]]
    well_formed = (
        len(lines) >= 2
        and lines[0] == str(_VERSION)
        and lines[1] == str(len(rows))
        and all(len(row) == columns and all(map(_is_number, row[columns - 2 :])) for row in rows)
    )
    if not well_formed:
        raise _malformed(path)
    return rows


def _is_number(text: str) -> bool:
    return text.removeprefix("-").isdigit()


# -- what a log and a disk belong to


def read_topic_id(disk: Disk, directory: str) -> bytes | None:
    """The 16 bytes of the topic's id in `partition.metadata`; None if there is no such file.

    One that a power loss cut short counts as none: it had not become durable.
    """
    path = f"{directory}/{PARTITION_METADATA}"
    lines = _read_lines(disk, path)
    if len("\n".join(lines).rstrip("\0")) < len(_topic_id_text(ZERO)):
        return None
    try:
        return uuids.from_text(_properties(lines, ":")["topic_id"])
    except (KeyError, ValueError):
        raise _malformed(path) from None


def write_topic_id(disk: Disk, directory: str, topic_id: bytes) -> None:
    path = f"{directory}/{PARTITION_METADATA}"
    disk.delete(path)
    disk.append(path, _topic_id_text(topic_id).encode())


def flush_topic_id(disk: Disk, directory: str) -> None:
    """Makes `partition.metadata` durable, if there is one."""
    path = f"{directory}/{PARTITION_METADATA}"
    if disk.exists(path):
        disk.flush(path)


def _topic_id_text(topic_id: bytes) -> str:
    return f"version: 0\ntopic_id: {uuids.to_text(topic_id)}"


def read_meta_properties(disk: Disk) -> MetaProperties | None:
    lines = _read_lines(disk, META_PROPERTIES)
    if not lines:
        return None
    found = _properties(lines, "=")
    try:
        return MetaProperties(found["cluster.id"], int(found["node.id"]), found["directory.id"])
    except (KeyError, ValueError):
        raise _malformed(META_PROPERTIES) from None


def write_meta_properties(disk: Disk, properties: MetaProperties) -> None:
    text = (
        f"cluster.id={properties.cluster_id}\n"
        f"directory.id={properties.directory_id}\n"
        f"node.id={properties.node_id}\n"
        "version=1\n"
    )
    disk.replace(META_PROPERTIES, text.encode())


def _properties(lines: list[str], separator: str) -> dict[str, str]:
    """Lines of `name SEPARATOR value`; `#` begins a comment, a backslash escapes."""
    found = {}
    for line in lines:
        name, _, value = line.partition(separator)
        if not line.startswith("#"):
            found[name.strip()] = value.strip().replace("\\", "")
    return found


# -- was the last stop a clean one


def write_clean_shutdown(disk: Disk, broker_epoch: int) -> None:
    """The last thing that a clean stop writes."""
    content = json.dumps({"version": 0, "brokerEpoch": broker_epoch}, separators=(",", ":"))
    disk.replace(CLEAN_SHUTDOWN, content.encode())


def take_clean_shutdown(disk: Disk) -> int | None:
    """Deletes the file; gives the broker epoch of a clean stop, None after an unclean one.

    -1 for a file that names no epoch, as brokers before KIP-966 wrote it.
    """
    if not disk.exists(CLEAN_SHUTDOWN):
        return None
    text = "\n".join(_read_lines(disk, CLEAN_SHUTDOWN))
    disk.delete(CLEAN_SHUTDOWN)
    try:
        return int(json.loads(text)["brokerEpoch"])
    except (KeyError, TypeError, ValueError):
        return -1


def _read_lines(disk: Disk, path: str) -> list[str]:
    if not disk.exists(path):
        return []
    try:
        return disk.read(path, 0, disk.size(path)).decode().splitlines()
    except UnicodeDecodeError:
        raise _malformed(path) from None


def _malformed(path: str) -> KafkaError:
    return KafkaError(
        Errors.KAFKA_STORAGE_ERROR,
        f"{path} is not readable as a checkpoint: restore it, or delete it to rebuild it",
    )
