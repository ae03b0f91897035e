"""The Quorum panel over a simulated world: scrub, step, go back, fork, compare.

    from kit import lab
    world = lab.world(seed=5, controllers=3)
    panel = lab.quorum(world)
    panel.jump("kill 200"); panel.press("cut", 100, 300); panel.fork()

The panel records a copy of the world; yours stays where it is.  Its timeline has a position for
every step of an election and of the metadata log.  A fault at its end happens there and the world
goes on; earlier, it makes another future, and the two timelines are shown together.

All state is in traits, so a test needs no browser: `position` is the place on the timeline,
`press("kill", 200)` is what a button sends, `film` is everything a browser draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from engine.sim.world.faults import Fault
from engine.sim.world.world import World
from kit.film import replay, strip
from kit.film.source import Frame
from kit.film.steps import plain
from kit.film.timeline_panel import TimelinePanel
from kit.panel import controls
from kit.panel.moments import Differs
from kit.quorum_panel import export, small, still, text
from kit.quorum_panel.film import Film
from kit.quorum_panel.recording import QuorumRecording, branch, record
from kit.quorum_panel.scene import Scene, build


class QuorumTimePanel(TimelinePanel):
    """A recorded world's controllers."""

    _esm = export.time_script()
    _css = export.time_style()

    def __init__(self, world: World) -> None:
        super().__init__()
        self.world = world
        self._begin(record(world))

    def _make(self) -> Film:
        return Film.of(self._first, self._second, self._forked_from)

    @property
    def names(self) -> list[str]:
        """The names of the steps that have one, in their order."""
        told = (each for place in range(len(self)) for _, each in self._film.told(place))
        return [each.label for each in told if each.label]

    # -- another future

    def press(self, action: str, node: int, other: int | None = None, *, keep: bool = True) -> None:
        """What a button does: a fault at the moment in view.

        At a timeline's end it happens there and the world goes on; earlier, it makes another
        future.  With `keep`, later faults and actions are repeated there at the same times.
        """
        try:
            wanted = controls.fault_of(action, node, other)
        except ValueError as error:
            self.notice = str(error)
            return
        if self._is_at_end:
            replay.apply(self._recording, wanted)
            self._go_on()
        else:
            self._another(wanted, keep=keep)

    def fork(self, *, keep: bool = True) -> None:
        """A second timeline from the moment in view; without `keep` nothing is repeated in it."""
        self._another(keep=keep)

    def _another(self, *faults: Fault, keep: bool) -> None:
        self._branch(lambda of, frame: branch(of, frame, faults, keep), acts=bool(faults))

    def _run(self, recording: QuorumRecording, until_us: int) -> None:
        replay.settle(recording, until_us)

    def _of_what(self) -> str:
        return "the quorum"

    def _do(self, content: dict[str, Any]) -> None:
        match content:
            case {"type": "press", "action": str(action), "node": int(node)}:
                self.press(action, node, content.get("other"), keep=bool(content.get("keep", 1)))
            case {"type": "fork"}:
                self.fork(keep=bool(content.get("keep", 1)))

    # -- showing

    @property
    def differs(self) -> Differs | None:
        """What differs between the two timelines now; None where there is one."""
        return self._film.differs(self.moment)

    def scene(self, take: int | None = None) -> Scene:
        """What is drawn of a take."""
        return build(self.frame(take).snapshot)

    @property
    def text(self) -> str:
        """The panel in words, for readers without a picture."""
        parts = []
        for take in range(self.active + 1):
            frame = self.frame(take)
            title = f"timeline {take + 1}, " if self.active else ""
            parts.append(f"{title}{self.seconds_of(frame)}")
            parts.append(text.render(self.scene(take), ""))
        parts += [
            str(each)
            for each in self._film.flights(self.active)
            if each.sent_us <= self.frame().time_us < each.arrives_us
        ]
        parts.append(plain(self.caption))
        if (found := self.differs) is not None:
            parts.append(plain(found.sentence))
        return "\n".join(part.strip("\n") for part in parts if part)

    def export(self, file: str | Path) -> Path:
        """Writes the recording as one HTML file that needs no kernel and no network."""
        return export.write(Path(file), self.film, self.position)

    def _still(self) -> str:
        found = self.differs
        second = None if found is None else still.Second(self.scene(1), found)
        return still.draw(self.scene(0), "\n".join(self.captions), second)

    def _look(self, frames: Sequence[Frame]) -> strip.Look:
        scenes = [build(frame.snapshot) for frame in frames]
        return strip.Look(
            "quorum of controllers",
            [small.draw(scene) for scene in scenes],
            small.shapes(scenes),
            small.LEGEND,
        )

    def _show(self) -> None:
        self._film = self._make()
        with self.hold_sync():
            self.film = self._film.to_plain()
            self.go(self.position)
