"""A folder as the store of tiered storage, laid out as in the one of Kafka's own tests.

    kafka-tiered-storage/
        orders-0-LWgrMmVrT0a__7a4SasuPA/                     topic, partition, topic id
            00000000000000000042-bCqX9U--S-6U8XUM9II25Q.log  first offset, segment id
            00000000000000000042-bCqX9U--S-6U8XUM9II25Q.index
            …  .timeindex  .txnindex (if anything was aborted)
            …  .snapshot                                     the producers at the segment's end
            …  .leader_epoch_checkpoint                      the epochs up to the segment's end

A real broker with Kafka's LocalTieredStorage reads these files, and the engine reads those of a
real broker.  The last two are for a follower that begins in the middle of the log: epochs and
producers are what it cannot learn from the records that it gets.

A segment is copied a piece at a time, so that a broker serves its clients in between.  The id in
the names makes each attempt another set of files: a copy never overwrites one that is read.

Source: Kafka's LocalTieredStorage and RemoteLogSegmentFileset.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.storage import checkpoints, file_names
from engine.storage.disk import Disk
from engine.storage.log import Log
from engine.storage.producer_snapshots import CorruptSnapshot, decode
from engine.storage.producer_states import ProducerState
from engine.storage.remote.segment_metadata import RemoteLogSegmentMetadata, TopicIdPartition
from engine.storage.segment import Segment
from engine.wire import uuids

ROOT = "kafka-tiered-storage"
LEADER_EPOCHS = ".leader_epoch_checkpoint"
KINDS = (*file_names.OF_A_SEGMENT, file_names.PRODUCER_SNAPSHOT, LEADER_EPOCHS)
PIECE_BYTES = 1 << 20


def directory_of(partition: TopicIdPartition) -> str:
    name = f"{partition.topic}-{partition.index}-{uuids.to_text(partition.topic_id)}"
    return f"{ROOT}/{name}"


def path_of(segment: RemoteLogSegmentMetadata, kind: str) -> str:
    """The path of one file of a remote segment."""
    name = f"-{uuids.to_text(segment.id)}{kind}"
    return file_names.of_offset(directory_of(segment.partition), segment.start_offset, name)


@dataclass(slots=True)
class SegmentCopy:
    """A copy under way: `step` until it says that it is complete."""

    tier: Disk
    source: Disk
    segment: RemoteLogSegmentMetadata
    files: list[tuple[str, str]]
    """From which path to which; the first is being copied."""
    epochs: list[tuple[int, int]]
    position: int = 0

    def step(self) -> bool:
        """Copies the next piece; True when all is there, durably.  OSError if it cannot."""
        if self.files:
            source, target = self.files[0]
            data = self.source.read(source, self.position, PIECE_BYTES)
            self.tier.append(target, data)
            self.position += len(data)
            if len(data) < PIECE_BYTES:
                self.tier.flush(target)
                self.files.pop(0)
                self.position = 0
            return False
        checkpoints.write_epochs(self.tier, path_of(self.segment, LEADER_EPOCHS), self.epochs)
        return True


def copy_of(
    tier: Disk, log: Log, segment: Segment, end: int, target: RemoteLogSegmentMetadata
) -> SegmentCopy:
    """Begins to copy a segment of a log; its range of offsets ends below `end`."""
    sources = {
        file_names.LOG: segment.path,
        file_names.OFFSET_INDEX: segment.offset_index.path,
        file_names.TIME_INDEX: segment.time_index.path,
    }
    if segment.transaction_index.size:
        sources[file_names.TRANSACTION_INDEX] = segment.transaction_index.path
    if end in log.snapshots.offsets:
        snapshot = file_names.of_offset(log.directory, end, file_names.PRODUCER_SNAPSHOT)
        sources[file_names.PRODUCER_SNAPSHOT] = snapshot
    files = [(source, path_of(target, kind)) for kind, source in sources.items()]
    epochs = [(epoch, start) for epoch, start in log.epochs.entries if start < end]
    return SegmentCopy(tier, log.disk, target, files, epochs)


def open_segment(tier: Disk, segment: RemoteLogSegmentMetadata) -> Segment:
    """A remote segment to be read as a local one; OSError or CorruptIndex if it cannot be."""
    found = Segment(
        tier,
        directory_of(segment.partition),
        segment.start_offset,
        segment.event_timestamp_ms,
        tag=f"-{uuids.to_text(segment.id)}",
    )
    found.load()
    return found


def epochs_of(tier: Disk, segment: RemoteLogSegmentMetadata) -> list[tuple[int, int]]:
    """The leader epochs of the log up to the segment's end; OSError if no file says it."""
    path = path_of(segment, LEADER_EPOCHS)
    if not tier.exists(path):
        raise FileNotFoundError(path)
    return checkpoints.read_epochs(tier, path)


def producers_of(tier: Disk, segment: RemoteLogSegmentMetadata) -> dict[int, ProducerState]:
    """What was known of each producer at the segment's end; nothing if no file says it."""
    path = path_of(segment, file_names.PRODUCER_SNAPSHOT)
    if not tier.exists(path):
        return {}
    try:
        return decode(tier.read(path, 0, tier.size(path)))
    except CorruptSnapshot as error:
        raise OSError(f"{path}: {error}") from None


def delete_segment(tier: Disk, segment: RemoteLogSegmentMetadata) -> None:
    for kind in KINDS:
        tier.delete(path_of(segment, kind))
