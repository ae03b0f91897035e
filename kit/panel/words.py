"""Joins words, and makes verbs and nouns agree with a count."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kit.panel.scene import records


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


def values(log: Mapping[str, Any], offsets: Iterable[int]) -> str:
    """Records of a log by value where they are few and short, else by offset."""
    wanted, held = list(offsets), records(log)
    named = [held[offset][1] for offset in wanted if offset in held and held[offset][1]]
    if len(named) == len(wanted) <= 3 and all(len(value) <= 8 for value in named):
        return join(named)
    if len(wanted) == 1:
        return f"record {wanted[0]}"
    return f"records {wanted[0]}–{wanted[-1]}"
