"""A topic's effective configs: its own values over the broker's.

Most topic configs have a counterpart among the broker's, often under another name, that serves
as the default: `retention.ms` follows `log.retention.ms`, which when unset follows
`log.retention.minutes`, and that `log.retention.hours`.  `SYNONYMS` is the whole mapping, in
order of precedence.  So "the default of a topic config" is not one number but what the
broker that is asked has in effect.

Values are checked when a topic is created or altered, by the controller, and never again: a
record in the metadata log holds only what was accepted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from engine.settings.definitions import Value, default_values, find, table
from engine.wire.errors import Errors, KafkaError

SYNONYMS: dict[str, tuple[str, ...]] = {
    "cleanup.policy": ("log.cleanup.policy",),
    "compression.gzip.level": ("compression.gzip.level",),
    "compression.lz4.level": ("compression.lz4.level",),
    "compression.type": ("compression.type",),
    "compression.zstd.level": ("compression.zstd.level",),
    "delete.retention.ms": ("log.cleaner.delete.retention.ms",),
    "file.delete.delay.ms": ("log.segment.delete.delay.ms",),
    "flush.messages": ("log.flush.interval.messages",),
    "flush.ms": ("log.flush.interval.ms", "log.flush.scheduler.interval.ms"),
    "index.interval.bytes": ("log.index.interval.bytes",),
    "local.retention.bytes": ("log.local.retention.bytes",),
    "local.retention.ms": ("log.local.retention.ms",),
    "max.compaction.lag.ms": ("log.cleaner.max.compaction.lag.ms",),
    "max.message.bytes": ("message.max.bytes",),
    "message.timestamp.after.max.ms": ("log.message.timestamp.after.max.ms",),
    "message.timestamp.before.max.ms": ("log.message.timestamp.before.max.ms",),
    "message.timestamp.type": ("log.message.timestamp.type",),
    "min.cleanable.dirty.ratio": ("log.cleaner.min.cleanable.ratio",),
    "min.compaction.lag.ms": ("log.cleaner.min.compaction.lag.ms",),
    "min.insync.replicas": ("min.insync.replicas",),
    "preallocate": ("log.preallocate",),
    "retention.bytes": ("log.retention.bytes",),
    "retention.ms": ("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
    "segment.bytes": ("log.segment.bytes",),
    "segment.index.bytes": ("log.index.size.max.bytes",),
    "segment.jitter.ms": ("log.roll.jitter.ms", "log.roll.jitter.hours"),
    "segment.ms": ("log.roll.ms", "log.roll.hours"),
    "unclean.leader.election.enable": ("unclean.leader.election.enable",),
}

_MILLISECONDS = {"minutes": 60_000, "hours": 3_600_000}


class TopicConfig(Mapping[str, Value]):
    """Effective values by topic config name; `overrides` are the topic's own, as text."""

    __slots__ = ("_values", "overrides")

    def __init__(self, defaults: Mapping[str, Value], overrides: Mapping[str, str]) -> None:
        """Takes checked overrides only; `validated` is the way in for unchecked ones."""
        self.overrides = dict(overrides)
        self._values = dict(defaults)
        for name, text in overrides.items():
            self._values[name] = find("topic", name).parse(text)

    def __getitem__(self, name: str) -> Value:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"TopicConfig({self.overrides!r})"


def defaults_from(broker: Mapping[str, Value]) -> dict[str, Value]:
    """Every topic config's default on a broker with these values in effect."""
    values = dict(default_values("topic"))
    for name, synonyms in SYNONYMS.items():
        for synonym in synonyms:
            value = broker[synonym]
            if value is not None:
                values[name] = value * _MILLISECONDS.get(synonym.rpartition(".")[2], 1)
                break
    # Any negative retention means forever; -1 is how it is written.
    values["retention.ms"] = max(values["retention.ms"], -1)
    # No topic config, but a rule of every log: how long it remembers an idle producer.
    values["producer.id.expiration.ms"] = broker["producer.id.expiration.ms"]
    return values


def check_together(config: Mapping[str, Value]) -> None:
    """The rules that concern two configs of one topic."""
    low, high = config["min.compaction.lag.ms"], config["max.compaction.lag.ms"]
    if low > high:
        raise KafkaError(
            Errors.INVALID_CONFIG,
            f"min.compaction.lag.ms ({low}) must not be above max.compaction.lag.ms ({high}).",
        )


def check_remote_storage(config: Mapping[str, Value], *, system_enabled: bool) -> None:
    """The rules of a topic in tiered storage (KIP-405), in Kafka's words."""
    if not config["remote.storage.enable"]:
        return
    if not system_enabled:
        raise KafkaError(
            Errors.INVALID_CONFIG,
            "Tiered Storage functionality is disabled in the broker. "
            "Topic cannot be configured with remote log storage.",
        )
    if "compact" in config["cleanup.policy"]:
        raise KafkaError(
            Errors.INVALID_CONFIG, "Remote log storage is unsupported for the compacted topics"
        )
    for whole in ("retention.bytes", "retention.ms"):
        local, limit = config[f"local.{whole}"], config[whole]
        if limit <= -1 or local == -2:
            continue
        problem = f"Value must not be more than {whole} property value: {limit}"
        if local == -1:
            problem = f"Value must not be -1 as {whole} value is set as {limit}."
        if local == -1 or local > limit:
            raise KafkaError(
                Errors.INVALID_CONFIG,
                f"Invalid value {local} for configuration local.{whole}: {problem}",
            )


def topic_config_names() -> list[str]:
    """The names that DescribeConfigs lists for any topic."""
    return [name for name, config in table("topic").items() if not config.is_hidden]
