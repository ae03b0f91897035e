"""The configs in effect on one node.

Kafka looks for a broker config in four places and takes the first that has it (KIP-226):

    1. set for this broker while running        DYNAMIC_BROKER_CONFIG
    2. set for all brokers while running        DYNAMIC_DEFAULT_BROKER_CONFIG
    3. given at start, in server.properties     STATIC_BROKER_CONFIG
    4. the default                              DEFAULT_CONFIG

The first two live in the metadata log; a node passes them to `set_dynamic` as it applies the log.
Code that reads `settings["…"]` at the moment of use sees the change; code that keeps a value does
not, which is why Kafka calls some configs read-only.

Simplified: one PLAINTEXT listener per node, no overrides per listener (`listener.name.…`), and
an unknown name is an error, where Kafka logs a warning and carries on.
"""

from __future__ import annotations

from collections.abc import Mapping

from engine.settings import topic_config
from engine.settings.definitions import Value, default_values, find
from engine.settings.topic_config import TopicConfig
from engine.wire.errors import Errors, KafkaError

Given = str | int | float | bool | None


class Settings:
    """Broker configs by name, typed.  `settings["replica.lag.time.max.ms"]` is 30000."""

    __slots__ = ("_topic_defaults", "_values", "dynamic_broker", "dynamic_default", "static")

    def __init__(self, overrides: Mapping[str, Given] | None = None) -> None:
        """KafkaError(INVALID_CONFIG) for an unknown name or a value out of range."""
        self.static = _checked(overrides or {})
        self.dynamic_default: dict[str, str] = {}
        self.dynamic_broker: dict[str, str] = {}
        self._refresh()
        check_together(self._values)

    def __getitem__(self, name: str) -> Value:
        """The value in effect; KeyError for a name that Kafka does not have."""
        return self._values[name]

    def topic(self, overrides: Mapping[str, Given] | None = None) -> TopicConfig:
        """A topic's effective configs; KafkaError(INVALID_CONFIG) for a value out of range."""
        own = {}
        for name, value in (overrides or {}).items():
            config = find("topic", name)
            own[name] = config.text(config.parse(value)) or ""
        result = TopicConfig(self._topic_defaults, own)
        if own:
            topic_config.check_together(result)
        return result

    def extended(self, overrides: Mapping[str, Given]) -> Settings:
        """A copy with more given at start: one node's settings from the cluster's."""
        return Settings({**self.static, **overrides})

    def set_dynamic(self, default: Mapping[str, str], broker: Mapping[str, str]) -> None:
        """Sets the values of the metadata log, for all brokers and for this one; checked before."""
        self.dynamic_default = dict(default)
        self.dynamic_broker = dict(broker)
        self._refresh()

    def _refresh(self) -> None:
        self._values = dict(default_values("broker"))
        for layer in (self.static, self.dynamic_default, self.dynamic_broker):
            for name, text in layer.items():
                self._values[name] = find("broker", name).parse(text)
        self._topic_defaults = topic_config.defaults_from(self._values)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Settings) and self._layers() == other._layers()

    __hash__ = None  # type: ignore[assignment]

    def _layers(self) -> tuple[dict[str, str], dict[str, str], dict[str, str]]:
        return self.static, self.dynamic_default, self.dynamic_broker

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        # The effective values follow from the layers, so a checkpoint need not carry them.
        return _restore, self._layers()

    def __repr__(self) -> str:
        return f"Settings({self.static!r})"


def _restore(static: dict[str, str], default: dict[str, str], broker: dict[str, str]) -> Settings:
    settings = Settings(static)
    if default or broker:
        settings.set_dynamic(default, broker)
    return settings


def _checked(overrides: Mapping[str, Given]) -> dict[str, str]:
    """Overrides as text in Kafka's spelling; None means "not given"."""
    out: dict[str, str] = {}
    for name, value in overrides.items():
        config = find("broker", name)
        text = config.text(config.parse(value))
        if text is not None:
            out[name] = text
    return out


def check_together(values: Mapping[str, Value]) -> None:
    """The rules that concern two broker configs."""
    for low, high in _AT_MOST:
        if values[low] > values[high]:
            raise KafkaError(
                Errors.INVALID_CONFIG,
                f"{low} ({values[low]}) must not be above {high} ({values[high]}).",
            )


_AT_MOST = (
    ("replica.fetch.wait.max.ms", "replica.socket.timeout.ms"),
    ("replica.fetch.wait.max.ms", "replica.lag.time.max.ms"),
)
