"""Finds the part of the kit that does a command's work."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any


class PartMissing(RuntimeError):
    """This copy of the course lacks a part, or what the part needs is not installed."""


def part(module: str, name: str) -> Any:
    """`name` of `module`.  Raises PartMissing with a sentence where it is not there."""
    try:
        there = find_spec(module) is not None
    except ModuleNotFoundError:
        there = False
    if not there:
        raise PartMissing(f"{module} is not part of this copy of the course; run: kafkalab update")
    try:
        return getattr(import_module(module), name)
    except ModuleNotFoundError as error:
        raise PartMissing(f"{error.name} is not installed; run: make setup") from error
    except AttributeError as error:
        raise PartMissing(f"{module} has no {name} in this copy; run: kafkalab update") from error
