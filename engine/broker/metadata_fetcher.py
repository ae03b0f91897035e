"""How a broker follows the metadata log: it fetches it, like any follower.

The cluster's metadata is a log of records kept by the controller.  A broker fetches the
records after the last one it has applied, and applies them to its image in order.  So every
broker passes through the same states (KIP-500).

Simplified: a broker keeps no copy of the log on its disk and reads it from the start
when it starts, and there are no snapshots yet.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from engine.events import Answered, Outbox
from engine.metadata.active_controller import ActiveController
from engine.metadata.image import MetadataImage
from engine.metadata.records import METADATA_TOPIC_ID, MetadataRecord, decode_batches
from engine.wire import messages as m
from engine.wire.errors import Errors

MAX_WAIT_MS = 500
MAX_BYTES = 8 * 1024 * 1024
RETRY_US = 100_000
TIMEOUT_US = 2_000_000


@dataclass(frozen=True, slots=True)
class MetadataRound:
    """Token of a fetch of the metadata log."""


@dataclass(frozen=True, slots=True)
class MetadataTimer:
    """Rings when the next fetch is due after one that failed."""


class MetadataFetcher:
    """Keeps one Fetch of the metadata log in flight."""

    def __init__(
        self, node_id: int, controller: ActiveController, outbox: Outbox, metadata: MetadataImage
    ) -> None:
        self.node_id = node_id
        self.controller = controller
        self.outbox = outbox
        self.metadata = metadata

    def poll(self) -> None:
        request = m.FetchRequest
        partition = request.FetchPartition(
            partition=0, fetch_offset=self.metadata.offset, partition_max_bytes=MAX_BYTES
        )
        body = request(
            replica_state=request.ReplicaState(replica_id=self.node_id),
            max_wait_ms=MAX_WAIT_MS,
            min_bytes=1,
            max_bytes=MAX_BYTES,
            topics=[request.FetchTopic(topic_id=METADATA_TOPIC_ID, partitions=[partition])],
        )
        self.outbox.send(
            self.controller.id, MetadataRound(), body, TIMEOUT_US, connection="metadata"
        )

    def records(self, now: int, body: Answered) -> Iterator[tuple[int, MetadataRecord]] | None:
        """The (offset, record) pairs of an answer, in order: the caller applies each, then polls.

        None if it is no answer; the next fetch is then a matter of time.
        """
        responses = body.responses if isinstance(body, m.FetchResponse) else ()
        data = responses[0].partitions[0] if responses else None
        told = None if data is None else data.current_leader
        asked, refused = self.controller.id, data is None or data.error_code != Errors.NONE
        known = told is not None and self.controller.leads(told.leader_id, told.leader_epoch)
        if not known or (refused and self.controller.id == asked):
            self.controller.try_next()
        if data is None or refused:
            self.outbox.set_timer(MetadataTimer(), now + RETRY_US)
            return None
        begin = self.metadata.offset
        return (each for each in decode_batches(data.records or b"") if each[0] >= begin)
