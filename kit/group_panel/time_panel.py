"""The Group panel over a simulated world: scrub, step, and try another future.

    panel = lab.group_panel(world, "orders", "billing")

The panel records a copy of the world; yours stays where it is.  At any moment a member's button
makes another future: A is killed here instead.  `fork("cooperative-sticky")` takes the members that
join from this moment on by another protocol; forked at the beginning, the whole story is played
again with it.  Both timelines' bars are one below the other.

All state is in traits, so a test needs no browser: `position` is the place on the timeline,
`press("kill", "A")` is what a button sends, `film` is everything a browser draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from engine.sim.world.world import World
from kit.film import strip
from kit.film.source import Frame
from kit.film.steps import plain
from kit.film.timeline_panel import TimelinePanel
from kit.group_panel import controls, export, members, small, still, text
from kit.group_panel.film import Film, Take
from kit.group_panel.recording import branch, perform, record
from kit.group_panel.scene import Scene, build


class GroupTimePanel(TimelinePanel):
    """A recorded world's group."""

    _esm = export.time_script()
    _css = export.style()

    def __init__(self, world: World, topic: str, group: str) -> None:
        super().__init__()
        self.world, self.topic, self.group = world, topic, group
        self._begin(record(world, topic, group))

    def _make(self) -> Film:
        at = self._forked_from.number if self._forked_from else 0
        return Film.of(self._first, self._second, at)

    # -- another future

    def fork(self, protocol: str = "", *, keep: bool = True) -> None:
        """A second timeline from here; members that join later do so by another protocol."""
        if protocol and protocol not in members.PROTOCOLS:
            named = ", ".join(members.PROTOCOLS)
            self.notice = f"There is no protocol {protocol!r}; there are {named}."
            return
        self._another(protocol=protocol, keep=keep)

    def press(self, action: str, name: str, *, keep: bool = True) -> None:
        """A member's button at the moment in view.

        At a timeline's end it happens there and the world goes on; earlier, it makes another
        future.
        """
        seen = {each.name: each for each in self.scene().members}
        refusal = f"There is no {name} at this moment."
        if name in seen:
            found = {each.action: each.refusal for each in controls.buttons(seen[name])}
            refusal = found.get(action, f"{name} has no button {action!r} at this moment.")
        if refusal:
            self.notice = refusal
        else:
            self._do_now(action, name, keep)

    def add(self, protocol: str = members.PROTOCOLS[0], *, keep: bool = True) -> None:
        """One more member at the moment in view."""
        self._do_now("add", protocol, keep)

    def _do_now(self, action: str, what: str, keep: bool) -> None:
        if self._is_at_end:
            perform(self._recording, action, what)
            self._go_on()
        else:
            self._another((action, what), keep=keep)

    def _another(self, *actions: tuple[str, str], protocol: str = "", keep: bool) -> None:
        self._branch(
            lambda of, frame: branch(of, frame, protocol=protocol, actions=actions, keep=keep),
            acts=bool(actions),
        )

    def _of_what(self) -> str:
        return self.group

    def _do(self, content: dict[str, Any]) -> None:
        keep = bool(content.get("keep", 1))
        match content:
            case {"type": "press", "action": str(action), "name": str(name)}:
                self.press(action, name, keep=keep)
            case {"type": "add", "protocol": str(protocol)}:
                self.add(protocol, keep=keep)
            case {"type": "fork", "protocol": str(protocol)}:
                self.fork(protocol, keep=keep)

    # -- showing

    def scene(self, take: int | None = None) -> Scene:
        """What is drawn of a take."""
        return build(self.frame(take).snapshot, self.topic)

    @property
    def text(self) -> str:
        """The panel in words, for readers without a picture."""
        first = self._film.takes[0].frames[0].time_us
        parts = []
        for number in range(self.active + 1):
            take, frame = self._film.takes[number], self.frame(number)
            name = f"timeline {number + 1} ({take.protocols}), " if self.active else ""
            parts.append(f"{name}{self.seconds_of(frame)}")
            pauses = [each for each in take.ownership.pauses(self.topic)
                      if each.start_us <= frame.time_us]  # fmt: skip
            parts.append(text.render(self.scene(number), "", pauses, first, frame.time_us).strip())
        parts.append(plain(self.caption))
        if self.active:
            parts.append(plain(self._film.compared))
        return "\n".join(parts)

    def export(self, file: str | Path) -> Path:
        """Writes the recording as one HTML file that needs no kernel and no network."""
        return export.write(Path(file), self.film, self.position)

    def _bars(self, take: Take, until: Frame) -> dict[str, Any]:
        """A take's bars up to a frame, for the still picture."""
        first, now = self._film.takes[0].frames[0].time_us, until.time_us
        spans = take.ownership.spans(self.topic, now)
        return {
            "end": now - first,
            "rows": {
                index: [[begin - first, min(end, now) - first, kind, owner]
                        for begin, end, kind, owner in row if begin <= now]
                for index, row in spans.items()
            },
        }  # fmt: skip

    def _still(self) -> str:
        bars = self._bars(self._film.takes[self.active], self.frame())
        return still.draw(self.scene(), self.caption, bars)

    def _look(self, frames: Sequence[Frame]) -> strip.Look:
        scenes = [build(frame.snapshot, self.topic) for frame in frames]
        bars = self._bars(self._film.takes[0], frames[-1])
        return strip.Look(
            f"{self.group} · {self.topic}",
            [small.draw(scene) for scene in scenes],
            small.shapes(scenes),
            small.LEGEND,
            foot=strip.Small(*still.bars(scenes[-1], bars, 10)),
        )
