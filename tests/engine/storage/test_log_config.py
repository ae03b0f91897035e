"""What a log takes from its topic's configs."""

from __future__ import annotations

from engine.storage.log_config import LogConfig


def test_logs_with_the_same_values_share_one_object() -> None:
    five, again, six = (LogConfig.from_topic({"retention.ms": each}) for each in (5, 5, 6))
    assert five is again
    assert (five.retention_ms, six.retention_ms) == (5, 6)


def test_what_is_absent_keeps_kafkas_default() -> None:
    assert LogConfig.from_topic({}) == LogConfig()
