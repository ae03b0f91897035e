"""Every state of a model, breadth first: all of them, or the shortest way to a broken one.

The search takes all steps from a state before any step from a later one, so no shorter way leads
to the first broken state that it finds.  If it finds none, it has seen every state.

A model's nodes are interchangeable: a state is kept in its `canonical` form, with the rows sorted.
On the way back from a broken state the rows stay where they are, so each step is about one node.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

S = TypeVar("S")
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Taken(Generic[S]):
    """One step: its name, the row that it is about, and the state before and after it."""

    name: str
    row: int
    before: S
    after: S


Step = tuple[str, int, S]
"""A step's name, the row that it is about, and the state after it."""


@dataclass(frozen=True)
class Found(Generic[S]):
    """`states` seen, the farthest `steps` away; of a broken one what is wrong, and the way."""

    states: int
    steps: int
    broken: str = ""
    way: list[Taken[S]] = field(default_factory=list)


def search(
    first: S,
    steps_from: Callable[[S], Iterable[Step[S]]],
    canonical: Callable[[S], S],
    broken: Callable[[S], str],
    progress: Progress | None = None,
) -> Found[S]:
    """Goes on until a state is `broken` (a sentence says how) or none is left.

    `progress(steps, states)` is called after each step outwards.
    """
    came_from: dict[S, S] = {first: first}
    frontier, steps = [first], 0
    while frontier:
        found: list[S] = []
        for state in frontier:
            for _, _, after in steps_from(state):
                reached = canonical(after)
                if reached in came_from:
                    continue
                came_from[reached] = state
                found.append(reached)
                if why := broken(reached):
                    way = _walked(steps_from, canonical, _way(came_from, reached))
                    return Found(len(came_from), steps + 1, why, way)
        frontier = found
        steps += bool(found)
        if progress is not None:
            progress(steps, len(came_from))
    return Found(len(came_from), steps)


def _way(came_from: dict[S, S], state: S) -> list[S]:
    way = [state]
    while came_from[way[-1]] is not way[-1]:
        way.append(came_from[way[-1]])
    return way[::-1]


def _walked(
    steps_from: Callable[[S], Iterable[Step[S]]], canonical: Callable[[S], S], way: list[S]
) -> list[Taken[S]]:
    """Walks the way again with rows that stay where they are."""
    now, walked = way[0], []
    for milestone in way[1:]:
        walked.append(
            next(
                Taken(name, row, now, after)
                for name, row, after in steps_from(now)
                if canonical(after) == milestone
            )
        )
        now = walked[-1].after
    return walked
