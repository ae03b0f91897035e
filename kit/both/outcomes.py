"""Turns a scenario's observations into plain rows that can be laid side by side.

A scenario is a function that takes a cluster and returns a mapping from the name of each
observation to its value.  There are two kinds of values:

* facts (offsets, epochs, error names, who leads): compared, and must be equal
* measurements (`measured(3.8, "s")`): shown on both sides, never compared

Nested mappings become rows with a path, `second kill › ISR`.  Sets and tuples become
lists, a set's sorted, so that only differences in meaning remain.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isnan
from typing import Any

INSIDE = " › "
Plain = str | int | float | bool | None | list[Any]


@dataclass(frozen=True)
class Measured:
    """A number that depends on the machine: shown, not compared; NaN where there is none."""

    value: float
    unit: str

    def __str__(self) -> str:
        if isnan(self.value):
            return "–"
        number = f"{self.value:.0f}" if abs(self.value) >= 100 else f"{self.value:.3g}"
        return f"{number} {self.unit}"


def measured(value: float, unit: str) -> Measured:
    """Marks an observation that differs from run to run, such as a time."""
    return Measured(float(value), unit)


def rows(observations: Mapping[str, Any], prefix: str = "") -> dict[str, Plain | Measured]:
    """A scenario's result as rows; TypeError names what cannot be compared."""
    out: dict[str, Plain | Measured] = {}
    for name, value in observations.items():
        path = f"{prefix}{name}"
        if isinstance(value, Mapping):
            out.update(rows(value, f"{path}{INSIDE}"))
        else:
            out[path] = plain(value, path)
    return out


def plain(value: Any, path: str) -> Plain | Measured:
    if value is None or isinstance(value, str | int | float | bool | Measured):
        return value
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, set | frozenset):
        return sorted((plain(each, path) for each in value), key=str)
    if isinstance(value, list | tuple):
        return [plain(each, path) for each in value]
    raise TypeError(
        f"The scenario's {path!r} is a {type(value).__name__}, which cannot be compared: "
        "return text, numbers, lists or mappings."
    )
