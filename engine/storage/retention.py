"""Which old segments a log may forget.

Three reasons, in Kafka's order:
* the log start offset has moved past the segment (DeleteRecords)
* the log is larger than retention.bytes without it
* its youngest record is older than retention.ms

Always whole segments, oldest first, without gaps, and never one that reaches beyond the
high watermark: what is not committed must not be forgotten.  So retention is coarse: a
topic with little traffic keeps records far longer than retention.ms, until its segment is
rolled by segment.bytes or segment.ms (the active segment itself goes only when all of it
has expired).

Where older segments go to a tier (KIP-405), local.retention.ms and local.retention.bytes say which
are deleted here, and one that the tier does not have yet stays, however old it is.
"""

from __future__ import annotations

from engine.storage.log_config import LogConfig
from engine.storage.segment import Segment
from engine.storage.segments import Segments


def deletable(
    segments: Segments,
    config: LogConfig,
    now_ms: int,
    log_start_offset: int,
    log_end_offset: int,
    high_watermark: int,
    highest_remote_offset: int | None = None,
) -> int:
    """How many of the oldest segments may go; of a log in a tier, what is not there stays."""
    if highest_remote_offset is not None:
        config = config.of_local_segments
    excess = segments.size_in_bytes - config.retention_bytes
    count = 0
    for number, segment in enumerate(segments):
        is_last = number + 1 == len(segments)
        end = segments.end_of(number, log_end_offset)
        if high_watermark < end or (is_last and segment.size == 0):
            break
        below_start = not is_last and end <= log_start_offset
        is_only_here = highest_remote_offset is not None and end - 1 > highest_remote_offset
        if is_only_here and not below_start:
            break
        too_much = config.is_deleted and config.retention_bytes >= 0 and excess >= segment.size
        if not (
            below_start or too_much or (config.is_deleted and _is_old(segment, config, now_ms))
        ):
            break
        excess -= segment.size
        count += 1
    return count


def _is_old(segment: Segment, config: LogConfig, now_ms: int) -> bool:
    if config.retention_ms < 0:
        return False
    youngest = segment.max_timestamp if segment.max_timestamp >= 0 else segment.created_ms
    return now_ms - youngest > config.retention_ms
