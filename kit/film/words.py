"""Joins words, and makes verbs and nouns agree with a count."""

from __future__ import annotations

from collections.abc import Sequence


def join(things: Sequence[object]) -> str:
    """`A`, `A and B`, `A, B and C`."""
    named = list(map(str, things))
    return " and ".join([", ".join(named[:-1]), named[-1]] if len(named) > 1 else named)


def be(things: Sequence[object], one: str = "is", many: str = "are") -> str:
    """The verb for one thing or for many."""
    return one if len(things) == 1 else many


def plural(count: int, noun: str) -> str:
    """`1 record`, `2 records`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
