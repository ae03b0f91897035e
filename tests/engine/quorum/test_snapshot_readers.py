"""A broker that copies a snapshot: in pieces, and from the leader that it knows."""

from __future__ import annotations

from typing import Any

import pytest

from engine.broker.metadata_fetcher import MetadataFetcher
from engine.events import Outbox, Send, SetTimer
from engine.metadata.active_controller import ActiveController
from engine.metadata.image import MetadataImage
from engine.metadata.records import METADATA_TOPIC
from engine.metadata.snapshot import SnapshotId
from engine.metadata.snapshot_download import SnapshotDownload
from engine.settings import Settings
from engine.storage.memory_disk import MemoryDisk
from engine.wire import messages as m
from engine.wire.errors import Errors

SNAPSHOT = SnapshotId(57, 3)


@pytest.fixture
def fetcher() -> MetadataFetcher:
    """In the middle of a snapshot that 200 sends, as leader of epoch 3."""
    controller = ActiveController((100, 200, 300))
    controller.leads(200, 3)
    settings = Settings({"controller.quorum.fetch.snapshot.max.bytes": 1000})
    made = MetadataFetcher(101, controller, settings, MemoryDisk(), Outbox(), MetadataImage())
    made.start(0)
    made.outbox.drain()
    made.download = SnapshotDownload(SNAPSHOT)
    made.download.data += b"x" * 1000
    return made


def answer(leader: int, epoch: int, error: Errors, data: bytes = b"") -> m.FetchSnapshotResponse:
    response = m.FetchSnapshotResponse
    piece = response.PartitionSnapshot(
        error_code=error,
        snapshot_id=response.SnapshotId(*SNAPSHOT),
        current_leader=response.LeaderIdAndEpoch(leader, epoch),
        size=5000,
        position=1000,
        unaligned_records=data,
    )
    return response(topics=[response.TopicSnapshot(METADATA_TOPIC, [piece])])


def asked(fetcher: MetadataFetcher) -> tuple[int, Any]:
    fetcher.poll()
    (sent,) = [each for each in fetcher.outbox.drain() if isinstance(each, Send)]
    return sent.destination, sent.body


def test_it_asks_for_the_next_piece(fetcher: MetadataFetcher) -> None:
    assert list(fetcher.answered(0, answer(200, 3, Errors.NONE, b"y" * 1000)) or ()) == []
    to, body = asked(fetcher)
    assert (to, body.max_bytes, body.topics[0].partitions[0].position) == (200, 1000, 2000)


def test_it_begins_again_at_the_same_leader_if_the_snapshot_is_gone(
    fetcher: MetadataFetcher,
) -> None:
    assert fetcher.answered(0, answer(200, 3, Errors.SNAPSHOT_NOT_FOUND)) is None
    assert [type(each) for each in fetcher.outbox.drain()] == [SetTimer]
    to, body = asked(fetcher)
    assert (to, type(body)) == (200, m.FetchRequest)


def test_it_begins_again_at_the_next_leader(fetcher: MetadataFetcher) -> None:
    """That one's file may have other bytes, although its name is the same."""
    assert fetcher.answered(0, answer(300, 4, Errors.NOT_LEADER_OR_FOLLOWER)) is None
    fetcher.outbox.drain()
    to, body = asked(fetcher)
    assert (to, type(body)) == (300, m.FetchRequest)
