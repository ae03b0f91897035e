"""Records every step of a simulated run as a frame for the Cluster panel, to scrub through.

    steps = Steps(world, "orders")
    post(world, "orders", "A", "B", "C")
    steps.run(for_s=0.02)
    steps.panel()

A live panel looks a few times a second and misses what happens in between.  Here the panel
gets a frame whenever the trace has a new line about the topic or a broker, so it misses no
step, and Home, End and the arrow keys walk through them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from engine.sim.world.world import World
from kit.film.source import Frame, read_line

STORY = ("append", "high_watermark", "isr", "leader", "elected", "eligible", "truncate",
         "fenced", "unfenced", "killed", "started", "stopped", "cut", "healed", "paused",
         "resumed", "power-lost", "slow")  # fmt: skip
TAIL = 16


class Steps:
    """Frames of one topic of a world: a panel's source."""

    def __init__(self, world: World, topic: str) -> None:
        self.world = world
        self.topic = topic
        self._frames: list[Frame] = []
        self._traced = world.cluster.trace_count
        self._take()

    @property
    def frames(self) -> Sequence[Frame]:
        return self._frames

    def now(self) -> Frame:
        return self._frames[-1]

    def poll(self) -> bool:
        return False

    def run(self, until: Callable[[World], bool] | None = None, for_s: float = 30.0) -> Steps:
        """Like the world's own run, with a frame for each step that changes something."""
        end_us = self.world.now_us + int(for_s * 1e6)
        while self.world.now_us < end_us and not (until is not None and until(self.world)):
            if not self.world.step():
                break
            self._take()
        return self

    def panel(self, position: int = -1) -> Any:
        """The panel over these frames; its buttons say that this is a recording."""
        from kit.panel.panel import ClusterPanel

        panel = ClusterPanel(self, self.topic, source=self)
        panel.position = position
        return panel

    def refusal(self, fault: str) -> str:
        return "This is a recording. The live panel is further down."

    def _take(self) -> None:
        cluster = self.world.cluster
        new, self._traced = cluster.trace_count - self._traced, cluster.trace_count
        lines = list(cluster.trace)[-new:] if new else []
        news = [
            {"time_us": at, "node": node, "kind": line.kind, "partition": line.partition,
             "fields": line.fields, "why": line.why, "rule": line.rule}
            for at, node, line in lines
            if line.kind in STORY and line.partition in ("", f"{self.topic}-0")
        ]  # fmt: skip
        if news or not self._frames:
            snapshot = self.world.snapshot(values=True, tail=TAIL)
            shown = {**snapshot, "topics": {self.topic: snapshot["topics"][self.topic]}}
            frame = Frame(len(self._frames), shown, tuple(map(read_line, news)))
            self._frames.append(frame)
