"""What every recording of a simulated world has: its frames, its clock, its place in the trace."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, Self

from engine.events import Trace
from engine.sim.world.world import World
from kit.film import replay
from kit.film.source import Frame, Line, Snapshot

FRAMES_MOST = 3_000


class WorldRecording:
    """A world of its own, and a frame for each step worth looking at.

    Each panel says what a frame shows (`picture`), and which events deserve one (`look`).
    `base` is what was known before the first frame, in a recording of another future.
    """

    world: World
    base: Snapshot | None
    frames: list[Frame]
    traced: int
    """How many lines the trace had at the last look."""

    def begin(self) -> None:
        """Looks at nothing that came before this moment."""
        self.world.invariants = None
        self.traced = self.world.cluster.trace_count

    @property
    def now_us(self) -> int:
        return self.world.cluster.now

    def prepend(self, past: Self, until: Frame) -> None:
        """Puts another recording's frames, up to one of them, before its own."""
        self.frames = replay.continued(past.frames, until, self.frames)

    def keep(self, lines: tuple[Line, ...]) -> None:
        """A frame of this moment, with what the trace says about it."""
        if len(self.frames) < FRAMES_MOST:
            now = self.picture(self.frames[-1].snapshot if self.frames else self.base)
            self.frames.append(Frame(len(self.frames), now, lines, self.world.events))

    def picture(self, before: Snapshot | None) -> Snapshot:
        """What a frame of this moment shows, after the one before."""
        raise NotImplementedError

    def fresh_trace(self) -> Iterator[tuple[int, int | str, Trace, dict[str, Any]]]:
        """Lines of the trace since the last look: time in µs, node, the line and its fields."""
        cluster = self.world.cluster
        count = cluster.trace_count - self.traced
        self.traced = cluster.trace_count
        for time_us, node, line in reversed(list(islice(reversed(cluster.trace), count))):
            yield time_us, node, line, dict(line.fields)
