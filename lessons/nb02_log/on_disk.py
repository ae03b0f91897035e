"""A partition's files as they are on its leader's disk.

    replica(cluster, "orders").segments[0].batches       what is in the folder
    log_bytes(cluster, "orders")                         the bytes of its .log files

A broker goes on writing while they are read.  What is acknowledged is there: a broker answers after
it has handed the bytes to the operating system.
"""

from __future__ import annotations

from pathlib import Path

from engine.records.batch import HEADER_SIZE, BatchHeader, CorruptBatch, read_header, validate
from engine.storage import checkpoints
from kit.clusters.data_dirs import data_dir
from kit.clusters.interface import Cluster
from kit.segment_panel.files import Folder
from kit.segment_panel.folder import Replica, look

FIELDS = (
    ("base offset", 0, 8), ("length", 8, 12), ("leader epoch", 12, 16), ("magic", 16, 17),
    ("checksum", 17, 21), ("attributes", 21, 23), ("last offset delta", 23, 27),
    ("timestamps", 27, 43), ("producer", 43, 57), ("count", 57, HEADER_SIZE),
)  # fmt: skip


def replica(cluster: Cluster, topic: str, partition: int = 0) -> Replica:
    """The leader's folder of a partition at this moment."""
    root = data_dir(cluster, cluster.leader(topic, partition))
    return look(Folder(root), f"{topic}-{partition}")


def folder(cluster: Cluster, topic: str, partition: int = 0) -> Path:
    return data_dir(cluster, cluster.leader(topic, partition)) / f"{topic}-{partition}"


def log_bytes(cluster: Cluster, topic: str, partition: int = 0) -> bytes:
    """The bytes of all segments, the oldest first."""
    found = sorted(folder(cluster, topic, partition).glob("*.log"))
    return b"".join(each.read_bytes() for each in found)


def segments(cluster: Cluster, topic: str, partition: int = 0) -> list[int]:
    """The base offsets that the names of the .log files give."""
    found = folder(cluster, topic, partition).glob("*.log")
    return sorted(int(each.stem) for each in found)


def entries(cluster: Cluster, topic: str, partition: int = 0) -> tuple[int, int]:
    """How many entries the .index and the .timeindex files of a partition have together."""
    log = replica(cluster, topic, partition).log
    return sum(s.offset_index.entries for s in log), sum(s.time_index.entries for s in log)


def looked_up(cluster: Cluster, topic: str, offset: int) -> str:
    """Where the .index says that a scan for an offset begins, and what the scan finds."""
    segment = next(s for s in reversed(replica(cluster, topic).log) if s.base_offset <= offset)
    known, start = segment.offset_index.lookup(offset)
    found, _ = segment.find(offset)
    return f"{known} is at {start}; the scan finds {offset} at {found}"


def headers(cluster: Cluster, topic: str, partition: int = 0) -> list[BatchHeader]:
    found = replica(cluster, topic, partition)
    return [each.header for segment in found.segments for each in segment.batches]


def recovery_point(cluster: Cluster, broker: int, topic: str) -> int | None:
    """What the broker has written down about how far partition 0 was flushed; None for nothing."""
    disk = Folder(data_dir(cluster, broker))
    if checkpoints.RECOVERY_POINTS not in disk.list(""):
        return None
    text = disk.read(checkpoints.RECOVERY_POINTS, 0, 1 << 20).decode()
    lines = (line.split() for line in text.splitlines()[2:])
    return next((int(at) for name, index, at in lines if (name, index) == (topic, "0")), None)


def changed_fields(sent: bytes, stored: bytes) -> list[str]:
    """The fields of a batch in which two forms of it differ; `records` is all behind the header."""
    ends = (*FIELDS, ("records", HEADER_SIZE, max(len(sent), len(stored))))
    return [name for name, start, end in ends if sent[start:end] != stored[start:end]]


def checksum_is_right(data: bytes) -> bool:
    try:
        validate(data)
    except CorruptBatch:
        return False
    return True


def flip(cluster: Cluster, topic: str, position: int) -> str:
    """Flips the lowest bit of one byte in the leader's file, and names the field that holds it.

    No broker does that: it stands for a disk, or a cable, that is going bad.
    """
    path = max(folder(cluster, topic).glob("*.log"))
    with path.open("r+b") as file:
        data = file.read()
        if not 0 <= position < len(data):
            raise ValueError(
                f"The file has {len(data)} bytes: position is from 0 to {len(data) - 1}."
            )
        file.seek(position)
        file.write(bytes([data[position] ^ 1]))
    within, start = position, 0
    while within >= (size := read_header(data, start).size_in_bytes):
        within, start = within - size, start + size
    return next((name for name, begin, end in FIELDS if begin <= within < end), "records")
