"""A producer's settings, under the names and with the defaults of Kafka 4.3's Java client.

    ProducerSettings.of({"acks": "all", "linger.ms": 5})

Some of them depend on each other, and the client checks that (KIP-679):

* idempotence is on by default.  It needs acks=all, retries above 0 and at most five
  requests in flight, because a partition remembers five batches of each producer.
* acks=1 or retries=0 turns it off silently if enable.idempotence is not set.  With
  enable.idempotence=true, the same is an error.
* six in flight is an error even if idempotence is only on by default; set enable.idempotence=false
  to have more.
* delivery.timeout.ms must leave room for one linger and one request.
* transactional.id needs idempotence.  The coordinator aborts a transaction that is open for longer
  than transaction.timeout.ms.

`checked=False` lets a lesson build what the client refuses, such as six in flight.

Two settings are not Kafka's.  `murmur2`, `crc32` and `round-robin` as partitioner.class
stand for the Java client's own, librdkafka's, and RoundRobinPartitioner.  `sequence.gap`
chooses what a gap in the sequence numbers does to the producer: `kip-360` bumps the epoch
and goes on; with `reset`, the way before Kafka 2.5, the record fails and a new id is asked for.

Left out: serializers (keys and values are bytes), interceptors, two-phase commits
(transaction.two.phase.commit.enable), security.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engine.client.setting_fields import INT_MAX, choice, number, parse
from engine.records import compression
from engine.wire.errors import Errors, KafkaError

IN_FLIGHT_MAX_WHEN_IDEMPOTENT = 5
ACKS = {"all": -1, "-1": -1, "0": 0, "1": 1}


@dataclass(frozen=True)
class ProducerSettings:
    """One field per setting; dots are underscores.  Times are in milliseconds, as in Kafka."""

    acks: str = choice("all", *ACKS)
    batch_size: int = number(16_384)
    buffer_memory: int = number(32 * 1024 * 1024)
    compression_type: str = choice("none", *compression.NAMES)
    delivery_timeout_ms: int = number(120_000)
    enable_idempotence: bool = True
    linger_ms: int = number(5)
    max_block_ms: int = number(60_000)
    max_in_flight_requests_per_connection: int = number(5, low=1)
    max_request_size: int = number(1024 * 1024)
    metadata_max_age_ms: int = number(300_000)
    partitioner_adaptive_partitioning_enable: bool = True
    partitioner_class: str = choice("murmur2", "murmur2", "crc32", "round-robin")
    reconnect_backoff_max_ms: int = number(1_000)
    reconnect_backoff_ms: int = number(50)
    request_timeout_ms: int = number(30_000)
    retries: int = number(INT_MAX, high=INT_MAX)
    retry_backoff_max_ms: int = number(1_000)
    retry_backoff_ms: int = number(100)
    sequence_gap: str = choice("kip-360", "kip-360", "reset")
    transaction_timeout_ms: int = number(60_000, high=INT_MAX)
    transactional_id: str = ""

    @classmethod
    def of(
        cls, given: Mapping[str, object] | None = None, checked: bool = True
    ) -> ProducerSettings:
        """Settings by Kafka's names; KafkaError(INVALID_CONFIG) in one sentence."""
        values = parse(cls, "producer", given)
        if checked:
            _check_idempotence(values)
        settings = cls(**values)
        if checked:
            settings._check_delivery_timeout("delivery_timeout_ms" in values)
        return settings

    @property
    def acks_code(self) -> int:
        """acks as a Produce request has it."""
        return ACKS[self.acks]

    @property
    def codec(self) -> int:
        return compression.NAMES.index(self.compression_type)

    def _check_delivery_timeout(self, said: bool) -> None:
        least = self.linger_ms + self.request_timeout_ms
        if self.delivery_timeout_ms < least and said:
            raise KafkaError(
                Errors.INVALID_CONFIG,
                f"delivery.timeout.ms ({self.delivery_timeout_ms}) must be at least linger.ms + "
                f"request.timeout.ms ({least}), or one attempt would not fit into it.",
            )
        if self.delivery_timeout_ms < least:
            object.__setattr__(self, "delivery_timeout_ms", least)


def _check_idempotence(values: dict[str, Any]) -> None:
    """Refuses what idempotence cannot work with, or turns it off if it was not asked for."""
    _settle_idempotence(values)
    if values.get("transactional_id") and not values.get("enable_idempotence", True):
        raise KafkaError(
            Errors.INVALID_CONFIG,
            "transactional.id needs enable.idempotence=true, and so acks=all and retries above 0.",
        )


def _settle_idempotence(values: dict[str, Any]) -> None:
    explicit = "enable_idempotence" in values
    if not values.get("enable_idempotence", True):
        return
    for name, bad, wanted in (
        ("retries", values.get("retries", 1) == 0, "above 0"),
        ("acks", ACKS[values.get("acks", "all")] != -1, "all"),
    ):
        if bad and explicit:
            raise KafkaError(
                Errors.INVALID_CONFIG, f"enable.idempotence=true needs {name} to be {wanted}."
            )
        if bad:
            values["enable_idempotence"] = False
    in_flight = values.get("max_in_flight_requests_per_connection", 1)
    if in_flight > IN_FLIGHT_MAX_WHEN_IDEMPOTENT:
        raise KafkaError(
            Errors.INVALID_CONFIG,
            f"max.in.flight.requests.per.connection={in_flight} is too many for an idempotent "
            f"producer: a partition remembers five batches of it. Set "
            f"enable.idempotence=false, or at most five.",
        )
