"""A consumer's settings, under the names and with the defaults of Kafka 4.3's Java client.

    ConsumerSettings.of({"group.id": "billing", "auto.offset.reset": "earliest"})

Three of them are clocks around one membership, and they are often confused:

    heartbeat.interval.ms   how often the member says that it lives (3 s)
    session.timeout.ms      silent for so long: the coordinator removes it (45 s)
    max.poll.interval.ms    so long between two polls: it leaves by itself (5 min); also how long
                            the coordinator waits for the members in a rebalance

The heartbeats come from a thread of their own.  So a process that has died is found by the session
timeout, and one that lives but does not get on with its records by max.poll.interval.ms.

Left out: deserializers (keys and values are bytes), interceptors, security, transactions
(isolation.level), check.crcs (always on), allow.auto.create.topics (never).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from engine.client.consumer.assignors.choices import ASSIGNORS
from engine.client.setting_fields import INT_MAX, choice, number, parse, refusal

EARLIEST, LATEST, NONE, BY_DURATION = "earliest", "latest", "none", "by_duration"
CLASSIC, CONSUMER = "classic", "consumer"
_DURATION = re.compile(r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?")


@dataclass(frozen=True)
class ConsumerSettings:
    """One field per setting; dots are underscores.  Times are in milliseconds, as in Kafka."""

    auto_commit_interval_ms: int = number(5_000)
    auto_offset_reset: str = LATEST
    client_rack: str = ""
    default_api_timeout_ms: int = number(60_000)
    enable_auto_commit: bool = True
    fetch_max_bytes: int = number(50 * 1024 * 1024)
    fetch_max_wait_ms: int = number(500)
    fetch_min_bytes: int = number(1)
    group_id: str = ""
    group_instance_id: str = ""
    group_protocol: str = choice(CLASSIC, CLASSIC, CONSUMER)
    group_remote_assignor: str = ""
    heartbeat_interval_ms: int = number(3_000)
    max_partition_fetch_bytes: int = number(1024 * 1024)
    max_poll_interval_ms: int = number(300_000, low=1, high=INT_MAX)
    max_poll_records: int = number(500, low=1)
    metadata_max_age_ms: int = number(300_000)
    partition_assignment_strategy: str = "range,cooperative-sticky"
    reconnect_backoff_max_ms: int = number(1_000)
    reconnect_backoff_ms: int = number(50)
    request_timeout_ms: int = number(30_000)
    retry_backoff_max_ms: int = number(1_000)
    retry_backoff_ms: int = number(100)
    session_timeout_ms: int = number(45_000)

    @classmethod
    def of(cls, given: Mapping[str, object] | None = None) -> ConsumerSettings:
        """Settings by Kafka's names; KafkaError(INVALID_CONFIG) in one sentence."""
        settings = cls(**parse(cls, "consumer", given))
        settings._check()
        return settings

    @property
    def assignors(self) -> tuple[str, ...]:
        return tuple(name.strip() for name in self.partition_assignment_strategy.split(","))

    @property
    def reset_back_ms(self) -> int:
        """by_duration:PT1H starts an hour ago; 0 without by_duration."""
        kind, _, text = self.auto_offset_reset.partition(":")
        found = _DURATION.fullmatch(text) if kind == BY_DURATION else None
        if found is None:
            return 0
        days, hours, minutes, seconds = (int(part or 0) for part in found.groups())
        return (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1000

    def _check(self) -> None:
        kind, _, text = self.auto_offset_reset.partition(":")
        if kind == BY_DURATION and not _DURATION.fullmatch(text):
            raise refusal(
                f"auto.offset.reset=by_duration takes an ISO 8601 duration such as PT1H, "
                f"not {text!r}."
            )
        if kind != BY_DURATION and self.auto_offset_reset not in (EARLIEST, LATEST, NONE):
            raise refusal(
                f"auto.offset.reset is {EARLIEST}, {LATEST}, {NONE} or {BY_DURATION}:PT1H, "
                f"not {self.auto_offset_reset!r}."
            )
        for name in self.assignors:
            if name not in ASSIGNORS:
                raise refusal(
                    f"partition.assignment.strategy lists {', '.join(ASSIGNORS)}, not {name!r}."
                )
        if self.heartbeat_interval_ms >= self.session_timeout_ms:
            raise refusal("heartbeat.interval.ms must be below session.timeout.ms.")
        if self.enable_auto_commit and not self.group_id:
            object.__setattr__(self, "enable_auto_commit", False)
