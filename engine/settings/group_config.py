"""A group's own configs must stay within what the broker allows all groups (KIP-848, KIP-932).

`consumer.session.timeout.ms` of a group is between the broker's
`group.consumer.min.session.timeout.ms` and `group.consumer.max.session.timeout.ms`; every other
config that has such neighbors follows the same pattern.  And the session timeout must be longer
than the heartbeat interval, or a member would be dead between two heartbeats.
"""

from __future__ import annotations

from collections.abc import Mapping

from engine.settings.definitions import Value, find, table
from engine.settings.settings import Settings
from engine.wire.errors import Errors, KafkaError


class GroupConfig:
    """The configs in effect for one group: `own` where it has any, else the broker's.

    The broker's bounds may have changed since a value was accepted; it is moved into them.
    """

    def __init__(self, settings: Settings, own: Mapping[str, str]) -> None:
        self.settings = settings
        self.own = own

    def __getitem__(self, name: str) -> Value:
        if name not in self.own:
            return _inherited(self.settings, name)
        value = find("group", name).parse(self.own[name])
        lowest, highest = _bounds(name)
        if lowest in table("broker"):
            value = max(value, self.settings[lowest])
        if highest in table("broker"):
            value = min(value, self.settings[highest])
        return value


def counterparts(name: str) -> tuple[str, str, str]:
    """The broker configs that decide on a group config: its default and its bounds."""
    return f"group.{name}", *_bounds(name)


def check_group_configs(settings: Settings, own: Mapping[str, str]) -> None:
    """KafkaError(INVALID_CONFIG) if a group cannot have these configs of its own."""
    values = {name: _inherited(settings, name) for name in table("group")}
    for name, text in own.items():
        values[name] = find("group", name).parse(text)
        _check_bounds(settings, name, values[name])
    for family in ("consumer", "share", "streams"):
        session, beat = f"{family}.session.timeout.ms", f"{family}.heartbeat.interval.ms"
        if own.keys() & {session, beat} and values[session] <= values[beat]:
            raise _invalid(f"{session} must be greater than {beat}")


def _inherited(settings: Settings, name: str) -> Value:
    if f"group.{name}" in table("broker"):
        return settings[f"group.{name}"]
    config = find("group", name)
    return config.parse(config.default)


def _check_bounds(settings: Settings, name: str, value: Value) -> None:
    lowest, highest = _bounds(name)
    if lowest in table("broker") and value < settings[lowest]:
        raise _invalid(f"{name} must be greater than or equal to {lowest}")
    if highest in table("broker") and value > settings[highest]:
        raise _invalid(f"{name} must be less than or equal to {highest}")


def _bounds(name: str) -> tuple[str, str]:
    """The broker's lowest and highest value for a group config."""
    family, _, rest = name.partition(".")
    rest = rest.removeprefix("num.")
    return f"group.{family}.min.{rest}", f"group.{family}.max.{rest}"


def _invalid(message: str) -> KafkaError:
    return KafkaError(Errors.INVALID_CONFIG, message)
