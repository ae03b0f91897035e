"""The snapshots on one disk: what they hold the log need not have any more.

    log start ≤ oldest snapshot ........ newest snapshot ≤ high watermark

A log that does not begin at 0 begins at a snapshot.  A file is there as a whole or not at all:
it is written with one atomic `replace`.
"""

from __future__ import annotations

from collections.abc import Callable

from engine.metadata import snapshot
from engine.metadata.records import METADATA_DIRECTORY, MetadataRecord
from engine.metadata.snapshot import SnapshotId
from engine.storage.disk import Disk
from engine.wire.codec import MalformedMessage
from engine.wire.errors import CorruptBatch, Errors, KafkaError

BOOTSTRAP = SnapshotId(0, 0)
"""Kafka formats a quorum whose voters may change with this one; it holds no metadata."""

UNFINISHED = tuple(f"{snapshot.SUFFIX}{ending}" for ending in (".part", ".deleted", ".tmp"))
HEADER_BYTES = 4096
"""The first batch has the header, and perhaps the voters, and is shorter."""


class Snapshots:
    """By age: `ids[-1]` is the newest."""

    def __init__(self, disk: Disk) -> None:
        self.disk = disk
        names = disk.list(METADATA_DIRECTORY)
        for name in names:
            if name.endswith(UNFINISHED):
                disk.delete(f"{METADATA_DIRECTORY}/{name}")
        found = [each for name in names if (each := snapshot.id_of(name))]
        self.ids = sorted(each for each in found if each != BOOTSTRAP)

    @property
    def newest(self) -> SnapshotId | None:
        return self.ids[-1] if self.ids else None

    @property
    def size_in_bytes(self) -> int:
        return sum(map(self.size, self.ids))

    def write(self, new: SnapshotId, data: bytes) -> None:
        """Survives a power loss when this returns."""
        self.disk.replace(new.path, data)
        self.ids.append(new)

    def read(self, which: SnapshotId, position: int, length: int) -> bytes:
        return self.disk.read(which.path, position, length)

    def size(self, which: SnapshotId) -> int:
        """0 for one whose file is gone."""
        return self.disk.size(which.path) if self.disk.exists(which.path) else 0

    def load(self, which: SnapshotId) -> list[MetadataRecord]:
        """Its records; KafkaError with a remedy if the file is damaged."""
        return self._decoded(which, snapshot.decode)

    def voters(self, which: SnapshotId) -> list[MetadataRecord]:
        """What it says of the voters; KafkaError if any part of the file is damaged."""
        return self._decoded(which, snapshot.decode_voters)

    def _decoded(
        self, which: SnapshotId, decode: Callable[[bytes], list[MetadataRecord]]
    ) -> list[MetadataRecord]:
        try:
            return decode(self.read(which, 0, self.size(which)))
        except CorruptBatch as error:
            raise KafkaError(
                Errors.KAFKA_STORAGE_ERROR,
                f"the snapshot {which.path} is damaged ({error.text}): if an older one or "
                "a log from offset 0 on is beside it, delete this one, for they have the same; "
                "else put the newest of another node in its place",
            ) from None
        except MalformedMessage as error:
            raise KafkaError(
                Errors.KAFKA_STORAGE_ERROR,
                f"the snapshot {which.path} is of a Kafka with more than this engine has "
                f"({error}): remove ACLs, SCRAM users and delegation tokens there first",
            ) from None

    def bootstrap(self) -> list[MetadataRecord]:
        """The records of the one that the quorum was formatted with; none if there is none."""
        return self.voters(BOOTSTRAP) if self.disk.exists(BOOTSTRAP.path) else []

    def last_timestamp(self, which: SnapshotId) -> int:
        """When the last record in it was written, in milliseconds; -1 if it is damaged."""
        try:
            header = snapshot.header_of(self.read(which, 0, min(HEADER_BYTES, self.size(which))))
        except (CorruptBatch, MalformedMessage, FileNotFoundError):
            return -1
        return header.last_contained_log_timestamp if header else -1

    def delete_below(self, offset: int) -> None:
        """Deletes those that end before it."""
        for each in self.ids:
            if each.end_offset < offset:
                self.disk.delete(each.path)
        self.ids = [each for each in self.ids if each.end_offset >= offset]
