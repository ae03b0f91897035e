"""A replica's copy of its leader's log, by Fetch and FetchSnapshot (KIP-595, KIP-630).

    the answer to a fetch has    it
    records                      appends them; the answer's high watermark counts
    a diverging epoch            cuts its log where the two part
    a snapshot's id              asks for that snapshot, piece by piece, and begins its log there

Source: KafkaRaftClient of Kafka 4.3.1.
"""

from __future__ import annotations

from typing import Any

from engine.events import Outbox
from engine.metadata.snapshot import SnapshotId
from engine.metadata.snapshot_download import SnapshotDownload
from engine.quorum import raft_messages
from engine.quorum.quorum_state import QuorumState
from engine.quorum.raft_log import RaftLog
from engine.settings import Settings
from engine.wire import messages as m
from engine.wire.structures import Message, RequestMessage

MAX_WAIT_MS = 500

_HERE = "quorum.copying.Copying"


class Copying:
    """`download` is the snapshot on its way, if there is one."""

    def __init__(
        self, state: QuorumState, log: RaftLog, outbox: Outbox, cluster_id: str, settings: Settings
    ) -> None:
        self.state = state
        self.log = log
        self.outbox = outbox
        self.cluster_id = cluster_id
        self.settings = settings
        self.download: SnapshotDownload | None = None

    def request(self, peer: int) -> RequestMessage[Message]:
        """Asks `peer` for what comes next; a snapshot's pieces are the leader's alone."""
        state = self.state
        if self.download is not None and peer == state.leader:
            max_bytes: int = self.settings["controller.quorum.fetch.snapshot.max.bytes"]
            return self.download.request(
                self.cluster_id, state.node_id, state.epoch, max_bytes, state.directory
            )
        return raft_messages.fetch(
            self.cluster_id,
            state.key,
            state.epoch,
            self.log.last,
            self.log.high_watermark,
            MAX_WAIT_MS,
            self.settings["controller.quorum.fetch.max.bytes"],
        )

    def take(self, part: m.FetchResponse.PartitionData) -> bool:
        """The answer to a fetch; True if this log is the leader's, as far as it goes."""
        parted, needed = part.diverging_epoch, part.snapshot_id
        if needed is not None:
            self.download = SnapshotDownload(SnapshotId(needed.end_offset, needed.epoch))
        elif parted is not None:
            before = self.log.end_offset
            self.log.truncate(parted.epoch, parted.end_offset)
            self.outbox.trace(f"{_HERE}.take", "truncated", "",
                              "the leader's log says something else",
                              before=before, to=self.log.end_offset)  # fmt: skip
        else:
            self.log.append_fetched(part.records or b"", self.state.epoch)
            return True
        return False

    def take_piece(self, now: int, piece: Any) -> bool:
        """The answer to FetchSnapshot; True if the log begins at that snapshot from here on.

        CorruptBatch or MalformedMessage if the snapshot is damaged.
        """
        download = self.download
        assert download is not None, "an answer is to what was asked"
        if not download.take(piece):
            return False
        self.download = None
        download.records()
        self.log.restart_at(now, download.id, bytes(download.data))
        self.outbox.trace(f"{_HERE}.take_piece", "snapshot-loaded", "",
                          "the leader's log begins behind ours",
                          snapshot=str(download.id), bytes=len(download.data))  # fmt: skip
        return True
