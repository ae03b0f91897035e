"""Which remote segments may go: retention.ms and retention.bytes hold for the log as a whole.

    retention.bytes             what is in the tier, and what is only here
    local.retention.bytes       what is here                       engine/storage/retention.py

Local retention frees a broker's disk: it deletes a local segment once the tier has it, and no
record is lost.  Remote retention deletes records, oldest first, whole segments without gaps, and
moves the log start.  It begins with what DeleteRecords has left below the log start.

A delete that was begun earlier is finished first.  A segment that is not part of this log's
history, left by a leader of another, is passed over; it goes when the log start has passed it.

Source: Kafka's RLMExpirationTask.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.storage.log_config import LogConfig
from engine.storage.remote.remote_log import RemoteLog
from engine.storage.remote.segment_metadata import RemoteLogSegmentMetadata
from engine.storage.remote.segment_states import RemoteLogSegmentState


@dataclass(slots=True)
class Expired:
    """The segments to delete, oldest first, and where the log starts then."""

    segments: list[RemoteLogSegmentMetadata] = field(default_factory=list)
    log_start_offset: int = 0


def expired(remote: RemoteLog, config: LogConfig, now_ms: int) -> Expired:
    log = remote.log
    result = Expired(log_start_offset=log.log_start_offset)
    excess = _excess(remote, config)
    for each in sorted(remote.segments.by_id.values(), key=_start_offset):
        if each.state is RemoteLogSegmentState.DELETE_SEGMENT_STARTED:
            result.segments.append(each)
            continue
        if each.end_offset < log.log_start_offset:
            result.segments.append(each)
            excess -= each.size_in_bytes
            continue
        if not remote.is_of_this_log(each):
            continue
        too_old = config.retention_ms >= 0 and (
            each.max_timestamp_ms <= now_ms - config.retention_ms
        )
        if not too_old and not 0 < each.size_in_bytes <= excess:
            break
        result.segments.append(each)
        result.log_start_offset = max(result.log_start_offset, each.end_offset + 1)
        excess -= each.size_in_bytes
    return result


def _excess(remote: RemoteLog, config: LogConfig) -> int:
    """How many bytes the whole log has beyond retention.bytes; 0 if it has no limit."""
    if config.retention_bytes < 0:
        return 0
    log = remote.log
    only_local = sum(
        each.size for each in log.segments if each.base_offset > log.highest_remote_offset
    )
    copied = sum(each.size_in_bytes for each in remote.readable)
    return max(0, only_local + copied - config.retention_bytes)


def _start_offset(segment: RemoteLogSegmentMetadata) -> int:
    return segment.start_offset
