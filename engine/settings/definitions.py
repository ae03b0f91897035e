"""What configs there are: name, type, default, valid values, and what the engine does with each.

Kafka declares its configs in one place (`ConfigDef`) and everything else follows from that
declaration: parsing, range checks, DescribeConfigs, the documentation.  Here the declaration is
three tables beside this file, `broker.table`, `topic.table` and `group.table`, one config a line,
read on first use.  The facts in them are those of a Kafka 4.3.1 broker; a conformance test
compares them with a live one.

A value travels as text (in records, requests and files) and is used typed.  `Config.parse` is
the way from text to value and the only place where a value is refused; `Config.text` is the way
back, in Java's spelling, so that a client sees the same characters from both brokers.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from engine.settings.numbers import decimal, whole
from engine.wire.errors import Errors, KafkaError

INTEGER_BITS = {"short": 16, "int": 32, "long": 64}

Value = Any
"""int, float, bool, str, a tuple of str (a list config), or None where the default is none."""


@dataclass(frozen=True, slots=True)
class Config:
    """One line of a table."""

    name: str
    type: str
    default: str | None
    valid: str
    change: str
    status: str
    note: str

    @property
    def is_sensitive(self) -> bool:
        """Passwords never leave the broker."""
        return self.type == "password"

    @property
    def is_hidden(self) -> bool:
        """An internal config: it can be set, but DescribeConfigs does not list its default."""
        return self.change == "hidden"

    @property
    def is_dynamic(self) -> bool:
        """May change while the broker runs (KIP-226)."""
        return self.change in ("broker", "cluster", "live")

    @property
    def documentation(self) -> str:
        """A sentence on what the engine does with it."""
        what = {
            "implemented": "Implemented",
            "accepted": "Accepted, without effect",
            "refused": "Only the default is taken",
        }[self.status]
        return f"{what}: {self.note}." if self.note else f"{what}."

    def parse(self, value: str | int | float | bool | None) -> Value:
        """The typed value; KafkaError(INVALID_CONFIG) with a sentence if it is not acceptable."""
        if value is None:
            if self.default is None:
                return None
            raise self._refusal("needs a value")
        text = str(value).lower() if isinstance(value, bool) else str(value).strip()
        parsed = self._typed(text)
        if self.valid != "-":
            self._check(parsed)
        if self.status == "refused" and text != (self.default or ""):
            wanted = f"leave it at {self.default!r}" if self.default else "leave it out"
            raise self._refusal(f"cannot be {text!r} here ({self.note}): {wanted}")
        return parsed

    def text(self, value: Value) -> str | None:
        """A value as Kafka spells it; None for no value."""
        if value is None:
            return None
        if self.type == "boolean":
            return "true" if value else "false"
        if self.type == "list":
            return ",".join(value)
        if self.type == "double":
            return _java_double(value)
        return str(value)

    def _typed(self, text: str) -> Value:
        bits = INTEGER_BITS.get(self.type)
        if bits is not None:
            number = whole(text)
            if number is None:
                raise self._refusal(f"must be a whole number, not {text!r}")
            if not -(1 << bits - 1) <= number < 1 << bits - 1:
                raise self._refusal(f"must fit into {bits} bits, {number} does not")
            return number
        if self.type == "boolean":
            if text.lower() not in ("true", "false"):
                raise self._refusal(f"must be true or false, not {text!r}")
            return text.lower() == "true"
        if self.type == "double":
            value = decimal(text)
            if value is None:
                raise self._refusal(f"must be a number, not {text!r}")
            return value
        if self.type == "list":
            items = tuple(item.strip() for item in text.split(",")) if text else ()
            return tuple(dict.fromkeys(items)) if "|" in self.valid else items
        return text

    def _check(self, value: Value) -> None:
        """Checks a value against the `valid` column."""
        valid = self.valid
        if valid == "non-empty":
            if not value:
                raise self._refusal("must not be empty")
        elif valid == "throttled":
            if value not in ((), ("*",)) and not all(_is_throttled_replica(item) for item in value):
                raise self._refusal("must be *, or PARTITION:BROKER pairs with commas between")
        elif valid.endswith("+"):
            if value < float(valid[:-1]):
                raise self._refusal(f"must be at least {valid[:-1]}, not {self.text(value)}")
        elif ".." in valid:
            self._check_range(value)
        else:
            self._check_choice(value)

    def _check_range(self, value: Value) -> None:
        """`0..9`, or `1..9,-1` with one more value outside the range."""
        span, _, extra = self.valid.partition(",")
        low, high = span.split("..")
        is_outside = value < float(low) or value > float(high)  # NaN is not, as in Kafka
        if is_outside and self.text(value) != extra:
            also = f", or {extra}" if extra else ""
            raise self._refusal(f"must be from {low} to {high}{also}, not {self.text(value)}")

    def _check_choice(self, value: Value) -> None:
        choices = self.valid.split("|")
        if choices[-1] == "~":
            choices.pop()
            value = value.lower()
        open_ended = tuple(choice[:-1] for choice in choices if choice.endswith("*"))
        for item in value if self.type == "list" else (value,):
            if item not in choices and not (open_ended and item.startswith(open_ended)):
                raise self._refusal(f"must be one of {', '.join(choices)}, not {item!r}")

    def _refusal(self, sentence: str) -> KafkaError:
        return KafkaError(Errors.INVALID_CONFIG, f"{self.name} {sentence}.")


def _is_throttled_replica(item: str) -> bool:
    partition, _, broker = item.partition(":")
    return partition.isdecimal() and broker.isdecimal()


def _java_double(value: float) -> str:
    """Java writes 1.0E308 and NaN where Python writes 1e+308 and nan."""
    if value != value:
        return "NaN"
    mantissa, mark, exponent = repr(value).partition("e")
    if not mark:
        return mantissa
    return f"{mantissa if '.' in mantissa else mantissa + '.0'}E{int(exponent)}"


@cache
def table(resource: str) -> dict[str, Config]:
    """The configs of `broker`, `topic` or `group`, by name, in alphabetical order."""
    text = (resources.files(__package__) / f"{resource}.table").read_text("utf-8")
    configs: dict[str, Config] = {}
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        name, kind, default, valid, change, status, *note = line.split(None, 6)
        configs[name] = Config(
            name, kind, _DEFAULTS.get(default, default), valid, change, status, "".join(note)
        )
    return configs


_DEFAULTS = {"~": None, "required": None, '""': ""}


@cache
def default_values(resource: str) -> dict[str, Value]:
    """Every config's default, typed."""
    return {
        config.name: None if config.default is None else config._typed(config.default)
        for config in table(resource).values()
    }


def find(resource: str, name: str) -> Config:
    """A config by name; KafkaError(INVALID_CONFIG) that suggests the nearest name."""
    config = table(resource).get(name)
    if config is None:
        raise KafkaError(Errors.INVALID_CONFIG, unknown_name(name, table(resource), resource))
    return config


def unknown_name(name: str, known: Iterable[str], resource: str) -> str:
    """The sentence for a config that does not exist."""
    near = difflib.get_close_matches(name, list(known), n=1)
    hint = f"; did you mean {near[0]}?" if near else "."
    return f"There is no {resource} config named {name}{hint}"
