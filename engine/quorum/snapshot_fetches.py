"""The leader's side of FetchSnapshot: it reads out a file, piece by piece (KIP-630)."""

from __future__ import annotations

from typing import Any

from engine.metadata.records import METADATA_TOPIC
from engine.metadata.snapshot import SnapshotId
from engine.quorum.quorum_state import QuorumState
from engine.quorum.raft_log import RaftLog
from engine.wire import messages as m
from engine.wire.errors import Errors


def answer(
    state: QuorumState, log: RaftLog, body: m.FetchSnapshotRequest, asked: Any
) -> m.FetchSnapshotResponse:
    """The piece that was asked for, or why there is none."""
    response = m.FetchSnapshotResponse
    wanted = SnapshotId(asked.snapshot_id.end_offset, asked.snapshot_id.epoch)
    piece = response.PartitionSnapshot(
        snapshot_id=response.SnapshotId(*wanted),
        position=asked.position,
        current_leader=response.LeaderIdAndEpoch(state.leader, state.epoch),
        unaligned_records=b"",
    )
    piece.error_code = _error(state, log, asked, wanted)
    if piece.error_code == Errors.NONE:
        piece.size = log.snapshots.size(wanted)
        piece.unaligned_records = log.snapshots.read(wanted, asked.position, body.max_bytes)
    return response(topics=[response.TopicSnapshot(METADATA_TOPIC, [piece])])


def _error(state: QuorumState, log: RaftLog, asked: Any, wanted: SnapshotId) -> Errors:
    if asked.current_leader_epoch < state.epoch:
        return Errors.FENCED_LEADER_EPOCH
    if asked.current_leader_epoch > state.epoch:
        return Errors.UNKNOWN_LEADER_EPOCH
    if not state.is_leader:
        return Errors.NOT_LEADER_OR_FOLLOWER
    if wanted not in log.snapshots.ids or not log.snapshots.size(wanted):
        return Errors.SNAPSHOT_NOT_FOUND
    if not 0 <= asked.position < log.snapshots.size(wanted):
        return Errors.POSITION_OUT_OF_RANGE
    return Errors.NONE
