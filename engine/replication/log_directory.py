"""The files of a broker's replicas on its disk: written as it runs, read when it restarts.

    orders-0/                              one folder per replica: its log (engine/storage)
    replication-offset-checkpoint          high watermarks, as of the last few seconds
    recovery-point-offset-checkpoint       how far each log is known to be flushed
    log-start-offset-checkpoint            how far each log is deleted from the front
                                           (these two as of the last minute)
    cleaner-offset-checkpoint              how far each compacted log is clean

A folder belongs to a topic *id*.  If it is left from a deleted topic of the same name, it is
removed when the new topic's replica opens there.  If its topic no longer exists, it is removed
when the broker has caught up with the metadata log.

The checkpoints are hints, written now and then.  A high watermark that is too low does no harm
as long as no replica cuts there: the leader's answers bring the present one.  (Before KIP-101 a
follower did cut there, and lost records.)  A recovery point that is too low costs time, since
recovery reads the log from there.  A log start that is too low brings deleted records back
after a kill, as in Kafka.  The checkpoints are exact after a clean stop only.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping

from engine.events import Outbox
from engine.metadata.records import METADATA_TOPIC_ID
from engine.replication.partition import Partition
from engine.storage import checkpoints
from engine.storage.disk import Disk
from engine.storage.log import Log
from engine.storage.log_config import LogConfig
from engine.storage.log_loader import Checkpointed

HIGH_WATERMARKS = "replication-offset-checkpoint"
RECOVERY_POINTS = "recovery-point-offset-checkpoint"
LOG_STARTS = "log-start-offset-checkpoint"
FILES = (HIGH_WATERMARKS, RECOVERY_POINTS, LOG_STARTS)
CLEANED = "cleaner-offset-checkpoint"
_HERE = "replication.log_directory.LogDirectory"
Key = tuple[str, int]


class LogDirectory:
    """The one log directory of a broker; keys are (topic, index)."""

    def __init__(self, disk: Disk, outbox: Outbox) -> None:
        self.disk = disk
        self.outbox = outbox
        self.clean_start = False
        self.has_begun = False
        self.offsets: dict[str, dict[Key, int]] = {path: {} for path in (*FILES, CLEANED)}

    def start(self, clean: bool) -> None:
        """Reads the checkpoints; `clean` is whether the last stop was clean."""
        self.clean_start = clean
        for path in self.offsets:
            self.offsets[path] = dict(checkpoints.read_offsets(self.disk, path))

    def open(self, now: int, key: Key, topic_id: bytes, config: LogConfig) -> Log:
        """Opens the replica's log, with recovery if needed; removes an older topic's files."""
        directory = f"{key[0]}-{key[1]}"
        known_id = checkpoints.read_topic_id(self.disk, directory)
        if known_id != topic_id:
            self.disk.delete(directory)
            self.forget(key)
        known = Checkpointed(
            self.clean_start,
            self.offsets[RECOVERY_POINTS].get(key, 0),
            self.offsets[LOG_STARTS].get(key, 0),
            self.offsets[CLEANED].get(key, 0),
        )
        log = Log(self.disk, directory, config, now, known)
        if known_id != topic_id:
            checkpoints.write_topic_id(self.disk, directory, topic_id)
        for cut in log.recovered.cuts:
            self.outbox.trace("storage.log_loader.LogLoader.load", "recovered", directory, str(cut),
                              cut_bytes=cut.cut_bytes, end=log.log_end_offset)  # fmt: skip
        return log

    def forget(self, key: Key) -> None:
        """A replica is deleted; a later topic of that name must not be taken for clean."""
        was_cleaned = key in self.offsets[CLEANED]
        for offsets in self.offsets.values():
            offsets.pop(key, None)
        if was_cleaned:
            checkpoints.write_offsets(self.disk, CLEANED, self.offsets[CLEANED])

    def begin(self, topic_ids: Container[bytes]) -> None:
        """Once metadata is current, removes the files of topics deleted while we were down."""
        self.has_begun = True
        for directory in self.disk.list(""):
            topic_id = checkpoints.read_topic_id(self.disk, directory)
            if topic_id not in (None, METADATA_TOPIC_ID) and topic_id not in topic_ids:
                self.disk.delete(directory)

    def checkpoint(self, partitions: Mapping[Key, Partition], paths: Iterable[str]) -> None:
        """Writes those of these files in which an offset has moved."""
        if not self.has_begun:
            return
        for path in paths:
            held = {key: _offset(path, partition) for key, partition in partitions.items()}
            if self.offsets[path] != held:
                checkpoints.write_offsets(self.disk, path, held)
                self.offsets[path] = held

    def try_checkpoint(self, partitions: Mapping[Key, Partition], path: str) -> None:
        """Writes one checkpoint by the clock; traces a disk that refuses, and retries later."""
        try:
            self.checkpoint(partitions, (path,))
        except OSError as error:
            self.outbox.trace(f"{_HERE}.checkpoint", "checkpoint-failed", "", str(error))

    def checkpoint_cleaned(self, partitions: Mapping[Key, Partition]) -> None:
        """Writes how far logs are clean, if that has moved; only those that were ever cleaned."""
        held = {
            key: partition.log.first_dirty_offset
            for key, partition in partitions.items()
            if partition.log.first_dirty_offset or key in self.offsets[CLEANED]
        }
        if self.offsets[CLEANED] != held and self.has_begun:
            checkpoints.write_offsets(self.disk, CLEANED, held)
            self.offsets[CLEANED] = held

    def close(self, partitions: Mapping[Key, Partition], broker_epoch: int) -> None:
        """Stops cleanly: flushes everything and writes the checkpoints."""
        for partition in partitions.values():
            partition.log.close()
        self.checkpoint(partitions, FILES)
        if self.has_begun or self.clean_start:
            checkpoints.write_clean_shutdown(self.disk, broker_epoch)


def _offset(path: str, partition: Partition) -> int:
    if path == HIGH_WATERMARKS:
        return partition.high_watermark
    return (
        partition.log.recovery_point if path == RECOVERY_POINTS else partition.log.log_start_offset
    )
