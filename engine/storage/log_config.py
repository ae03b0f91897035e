"""The topic settings that a log obeys, under Kafka's names with `_` for `.`.

| setting | what it decides |
|---|---|
| segment.bytes, segment.ms, segment.index.bytes | when the active segment is rolled |
| index.interval.bytes | how sparse the indexes are |
| retention.ms, retention.bytes, cleanup.policy | which old segments go |
| min.cleanable.dirty.ratio, min.compaction.lag.ms, max.compaction.lag.ms | when it is compacted |
| delete.retention.ms | how long a tombstone stays after that |
| file.delete.delay.ms | how long a replaced segment may still be read |
| max.message.bytes | the largest batch taken |
| remote.storage.enable | whether old segments go to the tier (KIP-405) |
| local.retention.ms, local.retention.bytes | which of those in the tier go here |
| message.timestamp.type, …before.max.ms, …after.max.ms | whose clock, and how far off |

Simplified: compression.type is always `producer` (a batch keeps the codec it came with),
segment.jitter.ms is 0, preallocate is false.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any

CREATE_TIME = "CreateTime"
LOG_APPEND_TIME = "LogAppendTime"
UNLIMITED = -1
AS_RETENTION = -2


@dataclass(frozen=True, slots=True)
class LogConfig:
    """Sizes in bytes, times in milliseconds; the defaults are Kafka 4.3's."""

    segment_bytes: int = 1 << 30
    segment_ms: int = 7 * 24 * 3600 * 1000
    segment_index_bytes: int = 10 << 20
    index_interval_bytes: int = 4096
    retention_ms: int = 7 * 24 * 3600 * 1000
    retention_bytes: int = UNLIMITED
    cleanup_policy: tuple[str, ...] = ("delete",)
    min_cleanable_dirty_ratio: float = 0.5
    min_compaction_lag_ms: int = 0
    max_compaction_lag_ms: int = (1 << 63) - 1
    delete_retention_ms: int = 24 * 3600 * 1000
    file_delete_delay_ms: int = 60_000
    max_message_bytes: int = (1 << 20) + 12
    message_timestamp_type: str = CREATE_TIME
    message_timestamp_before_max_ms: int = (1 << 63) - 1
    message_timestamp_after_max_ms: int = 3600 * 1000
    producer_id_expiration_ms: int = 24 * 3600 * 1000
    remote_storage_enable: bool = False
    local_retention_ms: int = AS_RETENTION
    local_retention_bytes: int = AS_RETENTION

    @classmethod
    def from_topic(cls, config: Mapping[str, Any]) -> LogConfig:
        """From a topic's effective, already typed configs; what is absent keeps its default."""
        given: dict[str, Any] = {}
        for field in fields(cls):
            value = config.get(field.name.replace("_", "."))
            if value is not None:
                given[field.name] = tuple(value) if field.name == "cleanup_policy" else value
        internal = config.get("internal.segment.bytes")  # below segment.bytes' minimum, for tests
        if internal is not None:
            given["segment_bytes"] = internal
        return _shared(cls(**given))

    @property
    def rolls_after_ms(self) -> int:
        """A compacted log rolls in time for its records to be cleaned (KIP-354)."""
        if not self.is_compacted:
            return self.segment_ms
        return min(self.segment_ms, self.max_compaction_lag_ms)

    @property
    def of_local_segments(self) -> LogConfig:
        """The same with local retention as the retention."""
        age, size = self.local_retention_ms, self.local_retention_bytes
        return replace(
            self,
            retention_ms=self.retention_ms if age == AS_RETENTION else age,
            retention_bytes=self.retention_bytes if size == AS_RETENTION else size,
        )

    @property
    def is_compacted(self) -> bool:
        return "compact" in self.cleanup_policy

    @property
    def is_deleted(self) -> bool:
        return "delete" in self.cleanup_policy


@lru_cache(maxsize=256)
def _shared(config: LogConfig) -> LogConfig:
    """One object for all logs that have these values."""
    return config
