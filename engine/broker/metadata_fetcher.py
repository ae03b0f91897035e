"""How a broker follows the metadata log: it fetches it, like any follower.

The cluster's metadata is a log of records kept by the controller.  A broker fetches the
records after the last one it has applied, and applies them to its image in order.  So every
broker passes through the same states (KIP-500).

It keeps what it fetches in `__cluster_metadata-0` on its own disk, and writes snapshots of its own.
When it starts, it applies these, and fetches only what has come since.  No majority counts on its
copy, so it waits for no flush: what a power loss takes is fetched again.  The copy holds no more
than is committed, so it is never cut.  If the controllers' log says something else, they have lost
what was committed, and the broker ends: it has acted on that.

One whose copy ends before the controller's log begins is sent to a snapshot first.  Of that it
applies only what is not yet so in its image.

Simplified: in Kafka it copies what is not yet committed, too, and applies it later.  It has no
`quorum-state`: it asks one controller after the other until one leads.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from engine.events import Answered, Outbox
from engine.metadata import image_records
from engine.metadata.active_controller import ActiveController
from engine.metadata.image import MetadataImage
from engine.metadata.records import METADATA_DIRECTORY, METADATA_TOPIC_ID, MetadataRecord
from engine.metadata.snapshot import SnapshotId
from engine.metadata.snapshot_download import SnapshotDownload
from engine.quorum.raft_log import RaftLog
from engine.records import batch
from engine.settings import Settings
from engine.storage.disk import Disk
from engine.wire import messages as m
from engine.wire.codec import MalformedMessage
from engine.wire.errors import CorruptBatch, Errors, KafkaError

MAX_WAIT_MS = 500
MAX_BYTES = 8 * 1024 * 1024
RETRY_US = 100_000
TIMEOUT_US = 2_000_000

News = Iterator[tuple[int, MetadataRecord]]
"""Offset and record, in order: each is applied before the next is asked for."""


@dataclass(frozen=True, slots=True)
class MetadataRound:
    """Token of a fetch of the metadata log."""


@dataclass(frozen=True, slots=True)
class MetadataTimer:
    """Rings when the next fetch is due after one that failed."""


class MetadataFetcher:
    """Keeps one Fetch of the metadata log, or one FetchSnapshot, in flight."""

    def __init__(
        self,
        node_id: int,
        controller: ActiveController,
        settings: Settings,
        disk: Disk,
        outbox: Outbox,
        metadata: MetadataImage,
    ) -> None:
        self.node_id = node_id
        self.controller = controller
        self.settings = settings
        self.disk = disk
        self.outbox = outbox
        self.metadata = metadata
        self.copy: RaftLog
        self.download: SnapshotDownload | None = None

    def start(self, now: int) -> None:
        """Goes on where the copy of the last process ends."""
        try:
            self.copy = RaftLog(self.disk, self.settings, self.outbox, now, flushes=False)
            self.copy.raise_high_watermark(self.copy.end_offset)
            self.copy.replay(self.metadata)
        except KafkaError as error:
            remedy = f"or delete {METADATA_DIRECTORY} on {self.node_id}, which fetches it again"
            raise KafkaError(error.code, f"{error.message}; {remedy}") from None
        self.poll()

    def close(self) -> None:
        self.copy.close()

    def poll(self) -> None:
        max_bytes: int = self.settings["controller.quorum.fetch.snapshot.max.bytes"]
        body = self._fetch() if self.download is None else self.download.request(
            None, self.node_id, self.controller.epoch, max_bytes
        )  # fmt: skip
        self.outbox.send(
            self.controller.id, MetadataRound(), body, TIMEOUT_US, connection="metadata"
        )

    def _fetch(self) -> m.FetchRequest:
        request = m.FetchRequest
        partition = request.FetchPartition(
            partition=0,
            fetch_offset=self.copy.end_offset,
            last_fetched_epoch=self.copy.last_epoch,
            partition_max_bytes=MAX_BYTES,
        )
        return request(
            replica_state=request.ReplicaState(replica_id=self.node_id),
            max_wait_ms=MAX_WAIT_MS,
            min_bytes=1,
            max_bytes=MAX_BYTES,
            topics=[request.FetchTopic(topic_id=METADATA_TOPIC_ID, partitions=[partition])],
        )

    def answered(self, now: int, body: Answered) -> News | None:
        """What an answer brings, after which the caller polls.

        None if it is no answer; the next fetch is then a matter of time.
        """
        data = _partition_of(body)
        told = None if data is None else data.current_leader
        asked, apart = self.controller.id, _is_apart(data)
        refused = apart or data is None or data.error_code != Errors.NONE
        is_gone = data is not None and data.error_code == Errors.SNAPSHOT_NOT_FOUND
        known = told is not None and self.controller.leads(told.leader_id, told.leader_epoch)
        if not known or (refused and not is_gone and self.controller.id == asked):
            self.controller.try_next()
        if apart and self._is_current(told):
            self._give_up(asked)
        if refused:
            self.download = None
            self.outbox.set_timer(MetadataTimer(), now + RETRY_US)
            return None
        if isinstance(body, m.FetchSnapshotResponse):
            return self._take(now, data)
        if data.snapshot_id is not None:
            needed = SnapshotId(data.snapshot_id.end_offset, data.snapshot_id.epoch)
            self.download = SnapshotDownload(needed)
            return iter(())
        return self._append(now, data.records or b"")

    def _append(self, now: int, data: bytes) -> News | None:
        """Keeps what was fetched; a batch that the copy has already is no news."""
        try:
            for header, position in batch.iterate(data):
                if header.base_offset >= self.copy.end_offset:
                    self.copy.append_fetched(data[position:], self.controller.epoch)
                    break
        except CorruptBatch as error:
            rule = "broker.metadata_fetcher.MetadataFetcher._append"
            self.outbox.trace(rule, "metadata-refused", "", error.message)
            self.outbox.set_timer(MetadataTimer(), now + RETRY_US)
            return None
        except KafkaError as error:
            self.disk.failure = self.disk.failure or error.message
            return None
        return self.copy.records(self.metadata.offset, self.copy.end_offset)

    def applied(self, now: int) -> None:
        """The image has what the copy has; with enough of it comes a snapshot."""
        if self.metadata.offset != self.copy.end_offset:
            return
        self.copy.raise_high_watermark(self.copy.end_offset)
        if not self.copy.needs_snapshot(now):
            return
        rule = "broker.metadata_fetcher.MetadataFetcher.applied"
        records = image_records.records(self.metadata)
        try:
            written = self.copy.write_snapshot(now, self.metadata.epoch, records)
        except KafkaError as error:  # the next change tries again
            self.outbox.trace(rule, "snapshot-failed", "", error.message)
            return
        why = "enough has been committed since the last one"
        self.outbox.trace(rule, "snapshot-written", "", why, snapshot=str(written))

    def _is_current(self, told: Any) -> bool:
        """Whether a leader that disagrees has every record that this broker can have.

        One that was deposed, and does not know it yet, has none of a later epoch.
        """
        return not self.controller.has_others or (
            told is not None and told.leader_epoch >= self.copy.last_epoch
        )

    def _give_up(self, controller: int) -> None:
        """The process ends: what it has acted on is not in the log of the controllers."""
        self.disk.failure = (
            f"its copy of the metadata log ends at {self.copy.end_offset}, and controller "
            f"{controller} has less, or something else there: the controllers have lost what was "
            f"committed, or are those of another cluster. If they are right, delete "
            f"{METADATA_DIRECTORY} on this broker"
        )

    def _take(self, now: int, piece: Any) -> News | None:
        """A piece of a snapshot; what it brings comes with the last one."""
        download = self.download
        assert download is not None, "an answer is to what was asked"
        try:
            if not download.take(piece):
                return iter(())
            self.download = None
            after = _image_of(download.records())
            self.copy.restart_at(now, download.id, bytes(download.data))
            return self._load(download.id, after)
        except (CorruptBatch, MalformedMessage) as error:
            self.download = None
            rule = "broker.metadata_fetcher.MetadataFetcher._take"
            why = f"{error}; another controller may have a good one: stop {self.controller.id}"
            self.outbox.trace(rule, "snapshot-refused", "", why, snapshot=str(download.id))
            self.outbox.set_timer(MetadataTimer(), now + RETRY_US)
            return None

    def _load(self, snapshot: SnapshotId, after: MetadataImage) -> News:
        """From the image as it is to that of the snapshot."""
        last = snapshot.end_offset - 1
        for change in image_records.removals, image_records.additions:
            for each in change(self.metadata, after):
                yield last, each
        self.metadata.offset, self.metadata.epoch = snapshot
        rule = "broker.metadata_fetcher.MetadataFetcher._load"
        why = "the log no longer has what it needs"
        self.outbox.trace(rule, "snapshot-loaded", "", why, snapshot=str(snapshot))


def _is_apart(data: Any) -> bool:
    """Whether this says that the log which was asked for goes on from another past."""
    if isinstance(data, m.FetchResponse.PartitionData):
        return data.diverging_epoch is not None or data.error_code == Errors.OFFSET_OUT_OF_RANGE
    return False


def _image_of(records: Iterable[MetadataRecord]) -> MetadataImage:
    image = MetadataImage()
    for record in records:
        image.apply(record)
    return image


def _partition_of(body: Answered) -> Any:
    """What either answer says of the metadata log; None if it says nothing."""
    match body:
        case m.FetchResponse(responses=[topic, *_]) | m.FetchSnapshotResponse(topics=[topic, *_]):
            return topic.partitions[0]
        case _:
            return None
