"""How a broker follows the metadata log: it fetches it, like any follower.

The cluster's metadata is a log of records kept by the controller.  A broker fetches the
records after the last one it has applied, and applies them to its image in order.  So every
broker passes through the same states (KIP-500).

One that starts, or was away for so long that the log no longer has what it needs, is sent to a
snapshot first.  Of that it applies only what is not yet so in its image.

Simplified: a broker keeps no copy of the log or of a snapshot on its disk; when it starts, it
fetches all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from engine.events import Answered, Outbox
from engine.metadata.active_controller import ActiveController
from engine.metadata.image import MetadataImage
from engine.metadata.image_records import additions, removals
from engine.metadata.records import METADATA_TOPIC_ID, MetadataRecord, decode_batches
from engine.metadata.snapshot import SnapshotId
from engine.metadata.snapshot_download import SnapshotDownload
from engine.settings import Settings
from engine.wire import messages as m
from engine.wire.codec import MalformedMessage
from engine.wire.errors import CorruptBatch, Errors

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
        outbox: Outbox,
        metadata: MetadataImage,
    ) -> None:
        self.node_id = node_id
        self.controller = controller
        self.snapshot_bytes: int = settings["controller.quorum.fetch.snapshot.max.bytes"]
        self.outbox = outbox
        self.metadata = metadata
        self.download: SnapshotDownload | None = None

    def poll(self) -> None:
        body = self._fetch() if self.download is None else self.download.request(
            None, self.node_id, self.controller.epoch, self.snapshot_bytes
        )  # fmt: skip
        self.outbox.send(
            self.controller.id, MetadataRound(), body, TIMEOUT_US, connection="metadata"
        )

    def _fetch(self) -> m.FetchRequest:
        request = m.FetchRequest
        partition = request.FetchPartition(
            partition=0, fetch_offset=self.metadata.offset, partition_max_bytes=MAX_BYTES
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
        asked, refused = self.controller.id, data is None or data.error_code != Errors.NONE
        is_gone = data is not None and data.error_code == Errors.SNAPSHOT_NOT_FOUND
        known = told is not None and self.controller.leads(told.leader_id, told.leader_epoch)
        if not known or (refused and not is_gone and self.controller.id == asked):
            self.controller.try_next()
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
        begin = self.metadata.offset
        return (each for each in decode_batches(data.records or b"") if each[0] >= begin)

    def _take(self, now: int, piece: Any) -> News | None:
        """A piece of a snapshot; what it brings comes with the last one."""
        download = self.download
        assert download is not None, "an answer is to what was asked"
        try:
            if not download.take(piece):
                return iter(())
            self.download = None
            return self._load(download.id, download.records())
        except (CorruptBatch, MalformedMessage) as error:
            self.download = None
            rule = "broker.metadata_fetcher.MetadataFetcher._take"
            why = f"{error}; another controller may have a good one: stop {self.controller.id}"
            self.outbox.trace(rule, "snapshot-refused", "", why, snapshot=str(download.id))
            self.outbox.set_timer(MetadataTimer(), now + RETRY_US)
            return None

    def _load(self, snapshot: SnapshotId, records: Sequence[MetadataRecord]) -> News:
        """From the image as it is to that of the snapshot."""
        after = MetadataImage()
        for record in records:
            after.apply(record)
        last = snapshot.end_offset - 1
        for change in removals, additions:
            for each in change(self.metadata, after):
                yield last, each
        self.metadata.offset, self.metadata.epoch = snapshot
        rule = "broker.metadata_fetcher.MetadataFetcher._load"
        why = "the log no longer has what it needs"
        self.outbox.trace(rule, "snapshot-loaded", "", why, snapshot=str(snapshot))


def _partition_of(body: Answered) -> Any:
    """What either answer says of the metadata log; None if it says nothing."""
    match body:
        case m.FetchResponse(responses=[topic, *_]) | m.FetchSnapshotResponse(topics=[topic, *_]):
            return topic.partitions[0]
        case _:
            return None
