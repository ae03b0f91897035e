"""A snapshot on its way from the leader: piece by piece, in order (KIP-630).

Simplified: the pieces are kept in memory until the last one is there, and then checked.  Kafka
writes them to a `.part` file, and checks them when it reads the snapshot.
"""

from __future__ import annotations

from engine.metadata import snapshot
from engine.metadata.records import METADATA_TOPIC, MetadataRecord
from engine.metadata.snapshot import SnapshotId
from engine.wire import messages as m
from engine.wire import uuids
from engine.wire.errors import CorruptBatch, Errors

Piece = m.FetchSnapshotResponse.PartitionSnapshot


class SnapshotDownload:
    """The snapshot `id`, as far as it has arrived."""

    def __init__(self, id: SnapshotId) -> None:
        self.id = id
        self.data = bytearray()

    def request(
        self,
        cluster_id: str | None,
        reader: int,
        epoch: int,
        max_bytes: int,
        directory: bytes = uuids.ZERO,
    ) -> m.FetchSnapshotRequest:
        """Asks for the next piece, of the leader of `epoch`."""
        request = m.FetchSnapshotRequest
        part = request.PartitionSnapshot(
            current_leader_epoch=epoch,
            snapshot_id=request.SnapshotId(*self.id),
            position=len(self.data),
            replica_directory_id=directory,
        )
        return request(
            cluster_id=cluster_id,
            replica_id=reader,
            max_bytes=max_bytes,
            topics=[request.TopicSnapshot(METADATA_TOPIC, [part])],
        )

    def take(self, piece: Piece) -> bool:
        """True if that was the last piece; CorruptBatch for one that does not fit."""
        if piece.error_code != Errors.NONE:
            raise CorruptBatch(f"the leader answered {Errors(piece.error_code).name}")
        if (
            piece.snapshot_id is None
            or SnapshotId(piece.snapshot_id.end_offset, piece.snapshot_id.epoch) != self.id
            or piece.position != len(self.data)
        ):
            raise CorruptBatch("the piece is of another snapshot, or of another place in it")
        self.data += piece.unaligned_records or b""
        return len(self.data) >= piece.size

    def records(self) -> list[MetadataRecord]:
        """All of them; CorruptBatch if they are damaged."""
        return snapshot.decode(bytes(self.data))
