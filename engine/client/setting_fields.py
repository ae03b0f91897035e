"""How a client's settings are written down and read: Kafka's names, typed and checked.

A settings class is a frozen dataclass with one field per setting; dots in Kafka's name are
underscores in the field's.  `number` and `choice` give a field its default and its bounds, and
`parse` turns what a user passed into values for the fields, or says in one sentence what is wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, fields
from typing import Any

from engine.wire.errors import Errors, KafkaError

INT_MAX = (1 << 31) - 1


def number(default: int, low: int = 0, high: int = 1 << 62) -> Any:
    return field(default=default, metadata={"low": low, "high": high})


def choice(default: str, *choices: str) -> Any:
    return field(default=default, metadata={"choices": choices})


def parse(kind: type[Any], client: str, given: Mapping[str, object] | None) -> dict[str, Any]:
    """Field values of a settings class; KafkaError(INVALID_CONFIG) for what it does not take."""
    known = {each.name: each for each in fields(kind)}
    values: dict[str, Any] = {}
    for name, value in (given or {}).items():
        at = known.get(name.replace(".", "_"))
        if at is None or "_" in name:
            raise refusal(f"a {client} here has no setting {name!r}.")
        values[at.name] = _parsed(name, value, at.default, at.metadata)
    return values


def _parsed(name: str, value: Any, default: object, bounds: Mapping[str, Any]) -> Any:
    if isinstance(default, bool):
        if str(value).lower() not in ("true", "false"):
            raise refusal(f"{name} is true or false, not {value!r}.")
        return str(value).lower() == "true"
    if isinstance(default, int):
        return _number_of(name, value, bounds["low"], bounds["high"])
    choices = bounds.get("choices")
    if choices and str(value) not in choices:
        raise refusal(f"{name} is one of {', '.join(choices)}, not {value!r}.")
    return str(value)


def _number_of(name: str, value: Any, low: int, high: int) -> int:
    try:
        found = int(value)
    except (TypeError, ValueError):
        raise refusal(f"{name} is a number, not {value!r}.") from None
    if not low <= found <= high:
        raise refusal(f"{name} must be {low} to {high}, not {found}.")
    return found


def refusal(text: str) -> KafkaError:
    return KafkaError(Errors.INVALID_CONFIG, text)
