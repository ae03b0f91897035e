"""What a broker's replicas leave on its disk, and what a restart finds there.

    orders-0/                              one folder per replica: its log (engine/storage)
    replication-offset-checkpoint          high watermarks, as of the last few seconds
    recovery-point-offset-checkpoint       up to where each log is known to be flushed
    log-start-offset-checkpoint            what was deleted from the front

A folder belongs to a topic *id*: one that was left by a deleted topic of the same name is
thrown away when the new topic's replica opens there, and one whose topic is gone altogether
when the broker has caught up with the metadata log.

The checkpoints are hints, written now and then.  A high watermark that is too low does no harm
as long as nobody cuts there (before KIP-101 a follower did, and lost records): the leader tells
the rest.  A recovery point that is too low costs time, since recovery reads the log from there.
Only after a clean stop are they exact.
"""

from __future__ import annotations

from collections.abc import Container, Mapping

from engine.events import Outbox
from engine.replication.partition import Partition
from engine.storage import checkpoints
from engine.storage.disk import Disk
from engine.storage.log import Log
from engine.storage.log_config import LogConfig
from engine.storage.log_loader import Checkpointed

HIGH_WATERMARKS = "replication-offset-checkpoint"
RECOVERY_POINTS = "recovery-point-offset-checkpoint"
LOG_STARTS = "log-start-offset-checkpoint"
_HERE = "replication.log_directory.LogDirectory"
Key = tuple[str, int]


class LogDirectory:
    """The one log directory of a broker; keys are (topic, index)."""

    def __init__(self, disk: Disk, outbox: Outbox) -> None:
        self.disk = disk
        self.outbox = outbox
        self.clean_start = False
        self.has_begun = False
        self.high_watermarks: dict[Key, int] = {}
        self.recovery_points: dict[Key, int] = {}
        self.log_starts: dict[Key, int] = {}

    def start(self, clean: bool) -> None:
        """Reads the checkpoints; `clean` is whether the last stop was."""
        self.clean_start = clean
        self.high_watermarks = dict(checkpoints.read_offsets(self.disk, HIGH_WATERMARKS))
        self.recovery_points = dict(checkpoints.read_offsets(self.disk, RECOVERY_POINTS))
        self.log_starts = dict(checkpoints.read_offsets(self.disk, LOG_STARTS))

    def open(self, now: int, key: Key, topic_id: bytes, config: LogConfig) -> Log:
        """The replica's log, recovered if need be; an older topic's files give way."""
        directory = f"{key[0]}-{key[1]}"
        known_id = checkpoints.read_topic_id(self.disk, directory)
        if known_id != topic_id:
            self.disk.delete(directory)
            self.forget(key)
        known = Checkpointed(
            self.clean_start, self.recovery_points.get(key, 0), self.log_starts.get(key, 0)
        )
        log = Log(self.disk, directory, config, now, known)
        if known_id != topic_id:
            checkpoints.write_topic_id(self.disk, directory, topic_id)
        for cut in log.recovered.cuts:
            self.outbox.trace("storage.log_loader.LogLoader.load", "recovered", directory, str(cut),
                              cut_bytes=cut.cut_bytes, end=log.log_end_offset)  # fmt: skip
        return log

    def forget(self, key: Key) -> None:
        for offsets in (self.high_watermarks, self.recovery_points, self.log_starts):
            offsets.pop(key, None)

    def begin(self, topic_ids: Container[bytes]) -> None:
        """Metadata is current: removes what belongs to topics deleted while we were down."""
        self.has_begun = True
        for directory in self.disk.list(""):
            topic_id = checkpoints.read_topic_id(self.disk, directory)
            if topic_id is not None and topic_id not in topic_ids:
                self.disk.delete(directory)

    def checkpoint(self, partitions: Mapping[Key, Partition]) -> None:
        """Writes down what has moved: high watermarks, recovery points, log starts."""
        if not self.has_begun:
            return
        high_watermarks = {key: p.high_watermark for key, p in partitions.items()}
        recovery_points = {key: p.log.recovery_point for key, p in partitions.items()}
        log_starts = {key: p.log.log_start_offset for key, p in partitions.items()}
        for path, known, held in (
            (HIGH_WATERMARKS, self.high_watermarks, high_watermarks),
            (RECOVERY_POINTS, self.recovery_points, recovery_points),
            (LOG_STARTS, self.log_starts, log_starts),
        ):
            if known != held:
                checkpoints.write_offsets(self.disk, path, held)
                known.clear()
                known.update(held)

    def try_checkpoint(self, partitions: Mapping[Key, Partition]) -> None:
        """The same, by the clock: a disk that refuses is told of, and tried again later."""
        try:
            self.checkpoint(partitions)
        except OSError as error:
            self.outbox.trace(f"{_HERE}.checkpoint", "checkpoint-failed", "", str(error))

    def close(self, partitions: Mapping[Key, Partition], broker_epoch: int) -> None:
        """A clean stop: everything is flushed and written down."""
        for partition in partitions.values():
            partition.log.close()
        self.checkpoint(partitions)
        if self.has_begun or self.clean_start:
            checkpoints.write_clean_shutdown(self.disk, broker_epoch)
