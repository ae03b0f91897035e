"""Where a config's value comes from, the way DescribeConfigs tells it (KIP-226, KIP-524).

A value has a *source* and *synonyms*: all the places that set it or one of its stand-ins, in order
of precedence.  The first one is in effect.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum

from engine.settings.definitions import Config, default_values, find, table
from engine.settings.settings import Settings
from engine.settings.topic_config import SYNONYMS

TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32
"""Types of config resources."""

TYPE_CODES = {
    "boolean": 1, "string": 2, "int": 3, "short": 4, "long": 5,
    "double": 6, "list": 7, "class": 8, "password": 9,
}  # fmt: skip


class Source(IntEnum):
    """Kafka's codes for the places a value may come from."""

    TOPIC = 1
    DYNAMIC_BROKER = 2
    DYNAMIC_DEFAULT_BROKER = 3
    STATIC_BROKER = 4
    DEFAULT = 5
    GROUP = 8


Synonyms = list[tuple[str, str | None, Source]]

_FAMILIES = [names for names in SYNONYMS.values() if len(names) > 1]


def broker_synonyms(settings: Settings, name: str) -> Synonyms:
    """A broker config's places; it may have stand-ins in other units (`log.retention.hours`).

    Kafka starts the list at the first entry with the config's own name.
    """
    family = next((names for names in _FAMILIES if _belongs(name, names)), (name,))
    layers = (
        (settings.dynamic_broker, Source.DYNAMIC_BROKER),
        (settings.dynamic_default, Source.DYNAMIC_DEFAULT_BROKER),
        (settings.static, Source.STATIC_BROKER),
    )
    found: Synonyms = [
        (each, layer[each], source) for layer, source in layers for each in family if each in layer
    ]
    for each in family:
        default = find("broker", each).default
        if default is not None:
            found.append((each, default, Source.DEFAULT))
    own = [i for i, (each, _, _) in enumerate(found) if each == name]
    return found[own[0] :] if own else []


def _belongs(name: str, family: tuple[str, ...]) -> bool:
    # log.flush.scheduler.interval.ms stands in for log.flush.interval.ms but not the reverse.
    return name == family[0] or (name in family and "flush" not in name)


def topic_synonyms(settings: Settings, config: Config, own: Mapping[str, str]) -> Synonyms:
    """A topic config's places: the topic itself, then the broker's first counterpart."""
    names = SYNONYMS.get(config.name)
    inherited = broker_synonyms(settings, names[0]) if names else []
    if config.name not in own:
        return inherited
    text = config.text(config.parse(own[config.name]))
    return [(config.name, text, Source.TOPIC), *inherited]


def group_synonyms(settings: Settings, config: Config, own: Mapping[str, str]) -> Synonyms:
    """A group config's places; its broker counterpart has the same name behind `group.`."""
    counterpart = f"group.{config.name}"
    if counterpart in table("broker"):
        inherited = broker_synonyms(settings, counterpart)
    else:
        text = config.text(default_values("group")[config.name])
        inherited = [(config.name, text, Source.DEFAULT)]
    if config.name not in own:
        return inherited
    return [(config.name, own[config.name], Source.GROUP), *inherited]
