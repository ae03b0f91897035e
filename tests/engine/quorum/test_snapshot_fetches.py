"""The leader's side of FetchSnapshot: a piece of a file, or Kafka's reason why there is none."""

from __future__ import annotations

from typing import Any

import pytest

from engine.events import Reply, Request
from engine.metadata.snapshot_download import SnapshotDownload
from engine.sim.world.world import World
from engine.wire import messages as m
from engine.wire.errors import Errors
from tests.engine.quorum.test_snapshots import SMALL, active, add_topics


def ask_for(of: World, **changes: Any) -> m.FetchSnapshotResponse:
    """What the active controller answers to FetchSnapshot with these fields of the one good one."""
    leader = active(of)
    newest = leader.log.snapshots.newest
    assert newest is not None
    body = SnapshotDownload(newest).request(None, 200, leader.epoch, 100)
    part = body.topics[0].partitions[0]
    for name, value in changes.items():
        setattr(body if hasattr(body, name) else part, name, value)
    effects = leader.step(of.now_us, Request(200, (1,), body.LATEST, body))
    (reply,) = [each for each in effects if isinstance(each, Reply)]
    assert isinstance(reply.body, m.FetchSnapshotResponse)
    return reply.body


NOT_THERE = m.FetchSnapshotRequest.SnapshotId(1, 1)
BOOT = m.FetchSnapshotRequest.SnapshotId(0, 0)

ERRORS = (
    ({"current_leader_epoch": 0}, Errors.FENCED_LEADER_EPOCH),
    ({"current_leader_epoch": 99}, Errors.UNKNOWN_LEADER_EPOCH),
    ({"snapshot_id": NOT_THERE}, Errors.SNAPSHOT_NOT_FOUND),
    ({"snapshot_id": BOOT}, Errors.SNAPSHOT_NOT_FOUND),
    ({"position": -1}, Errors.POSITION_OUT_OF_RANGE),
    ({"position": 1 << 30}, Errors.POSITION_OUT_OF_RANGE),
    ({"current_leader_epoch": 0, "snapshot_id": NOT_THERE}, Errors.FENCED_LEADER_EPOCH),
    ({"snapshot_id": NOT_THERE, "position": -1}, Errors.SNAPSHOT_NOT_FOUND),
)


@pytest.fixture(scope="module")
def with_voters() -> World:
    """A quorum that was formatted with a 0-0 snapshot, which is never sent."""
    made = World(seed=7, controllers=3, voters=3, rewindable=False, settings=SMALL)
    add_topics(made, 12)
    return made


@pytest.mark.parametrize(("changes", "error"), ERRORS)
def test_what_a_leader_refuses(with_voters: World, changes: dict[str, Any], error: Errors) -> None:
    (piece,) = ask_for(with_voters, **changes).topics[0].partitions
    assert piece.error_code == error
    assert piece.unaligned_records == b""
    assert piece.current_leader is not None
    assert piece.current_leader.leader_id == active(with_voters).node_id


def test_a_piece_names_its_place_in_the_whole(with_voters: World) -> None:
    whole = ask_for(with_voters, max_bytes=1 << 20).topics[0].partitions[0]
    assert len(whole.unaligned_records or b"") == whole.size > 100
    piece = ask_for(with_voters, position=50).topics[0].partitions[0]
    assert (piece.size, piece.position) == (whole.size, 50)
    assert piece.unaligned_records == (whole.unaligned_records or b"")[50:150]


@pytest.mark.parametrize(
    ("changes", "error"),
    [({"cluster_id": "another"}, Errors.INCONSISTENT_CLUSTER_ID),
     ({"topics": []}, Errors.INVALID_REQUEST)],
)  # fmt: skip
def test_what_is_not_for_this_log(
    with_voters: World, changes: dict[str, Any], error: Errors
) -> None:
    answer = ask_for(with_voters, **changes)
    assert (answer.error_code, answer.topics) == (error, [])
