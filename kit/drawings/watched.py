"""Looks after each event of a simulated world which conditions hold, and draws for how long.

watched = Watched(world, {"103 is in the ISR": lambda w: 103 in isr(w, "orders")})
world.pause(103)
watched.run(for_s=20)
watched.spans("A follower stalls")
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from engine.sim.world.world import World
from kit.drawings.spans import Bar, Spans

Condition = Callable[[World], bool]


class Watched:
    """`rows` by name; time is in virtual seconds, counted from now on."""

    def __init__(self, world: World, rows: Mapping[str, Condition]) -> None:
        self.world, self.rows = world, dict(rows)
        self.began_us = world.now_us
        self.bars: dict[str, list[Bar]] = {name: [] for name in rows}
        self.since: dict[str, float] = {}
        self.marks: dict[float, str] = {}
        self.look()

    @property
    def now(self) -> float:
        """Since the beginning."""
        return (self.world.now_us - self.began_us) / 1e6

    def run(self, until: Condition | None = None, for_s: float = 60) -> bool:
        """In place of `world.run`."""

        def look(world: World) -> bool:
            self.look()
            return until is not None and until(world)

        return self.world.run(look, for_s=for_s)

    def look(self) -> None:
        for name, holds in self.rows.items():
            if holds(self.world):
                self.since.setdefault(name, self.now)
            elif name in self.since:
                self.bars[name].append((self.since.pop(name), self.now))

    def mark(self, words: str) -> None:
        """A line through all rows, now."""
        self.marks[self.now] = words

    def lasted(self, name: str) -> float:
        """For how long a row has held."""
        return sum(end - start for start, end in self._closed(name))

    def spans(self, title: str, bad: Sequence[str] = ()) -> Spans:
        rows = {name: self._closed(name) for name in self.rows}
        return Spans(title, rows, "seconds", self.marks, bad, until=self.now)

    def _closed(self, name: str) -> list[Bar]:
        """A bar that still holds ends now."""
        open_bar = [(self.since[name], self.now)] if name in self.since else []
        return self.bars[name] + open_bar
