"""The Group panel over a simulated world: scrub, step, and try another future.

    panel = lab.group_panel(world, "orders", "billing")

The panel records a copy of the world; yours stays where it is.  At any moment a member's button
makes another future: A is killed here instead.  `fork("cooperative-sticky")` takes the members that
join from this moment on by another protocol; forked at the beginning, the whole story is played
again with it.  Both timelines' bars stand one below the other.

All state is in traits, so a test needs no browser: `position` is the place on the timeline,
`press("kill", "A")` is what a button sends, `film` is everything a browser draws.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anywidget
import traitlets

from engine.sim.world.world import World
from kit.film import replay
from kit.film.asking import answering
from kit.film.moments import Moment, within
from kit.film.output import put_out, with_still
from kit.film.source import Frame
from kit.film.steps import plain
from kit.group_panel import controls, export, members, still, text
from kit.group_panel.film import Film, Take
from kit.group_panel.recording import FRAMES_MOST, GroupRecording, branch, perform, record
from kit.group_panel.scene import Scene, build

LONGER_US = 3_000_000
"""How long a world runs on after an action at its end."""


class GroupTimePanel(anywidget.AnyWidget):
    """A recorded world's group."""

    _esm = export.time_script()
    _css = export.style()

    film = traitlets.Dict().tag(sync=True)
    position = traitlets.Int(0).tag(sync=True)
    notice = traitlets.Unicode().tag(sync=True)

    def __init__(self, world: World, topic: str, group: str) -> None:
        super().__init__()
        self.world, self.topic, self.group = world, topic, group
        self._first = record(world, topic, group)
        self._second: GroupRecording | None = None
        self._forked_at = 0
        self._film = Film.of(self._first)
        self.film = self._film.to_plain()
        if len(self._first.frames) >= FRAMES_MOST:
            self.notice = f"Only the first {FRAMES_MOST} steps are recorded."
        self.on_msg(self._hear)

    # -- where on the timeline

    def __len__(self) -> int:
        """How many moments the timeline has."""
        return len(self._film.moments)

    def step(self) -> None:
        self.go(self.position + 1)

    def back(self) -> None:
        self.go(self.position - 1)

    def go(self, place: int) -> None:
        self.position = within(self._film.moments, place)

    def jump(self, words: str) -> bool:
        """To the next step whose name has these words, such as "kill A"; False if there is none."""
        for place in range(self.position + 1, len(self)):
            if any(words in told.label for _, told in self._film.told(place)):
                self.go(place)
                return True
        self.notice = f"There is no {words!r} after this moment."
        return False

    @property
    def moment(self) -> Moment:
        return self._film.moments[within(self._film.moments, self.position)]

    @property
    def active(self) -> int:
        """The take that buttons and trace belong to."""
        return self.moment.active

    def frame(self, take: int | None = None) -> Frame:
        """The frame in view, of the active take or of take 0 or 1."""
        return self._film.frame(self.moment, self.active if take is None else take)

    # -- another future

    def fork(self, protocol: str = "", *, keep: bool = True) -> None:
        """A second timeline from here; members that join later do so by another protocol."""
        if protocol and protocol not in members.PROTOCOLS:
            named = ", ".join(members.PROTOCOLS)
            self.notice = f"There is no protocol {protocol!r}; there are {named}."
            return
        self._branch(protocol=protocol, keep=keep)

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

    def run_on(self, seconds: float = 3.0) -> None:
        """Runs the active timeline for so many seconds of virtual time."""
        self._go_on(round(seconds * 1_000_000))

    def forget(self) -> None:
        """Drops the second timeline."""
        at = self.moment.first
        self._second = None
        self._show()
        self.go(at)

    def _do_now(self, action: str, what: str, keep: bool) -> None:
        recording = self._active_recording()
        if self.frame() is recording.frames[-1]:
            perform(recording, action, what)
            self._go_on()
        else:
            self._branch(actions=((action, what),), keep=keep)

    def _active_recording(self) -> GroupRecording:
        return self._second if self.active and self._second is not None else self._first

    def _branch(
        self, *, protocol: str = "", actions: tuple[tuple[str, str], ...] = (), keep: bool
    ) -> None:
        """Another future: timeline 2, or for an action in timeline 2, another end of it."""
        if self._first.world.timeline is None:
            self.notice = "This world keeps no checkpoints: make it with rewindable=True."
            return
        of_second = self._second if actions and self.active else None
        of, frame = of_second or self._first, self.frame(1 if of_second else 0)
        try:
            new = branch(of, frame, protocol=protocol, actions=actions, keep=keep)
        except ValueError as error:
            self.notice = str(error)
            return
        at = self.moment.first
        if of_second:
            new.prepend(of_second, frame)
            at = self.position
        else:
            self._forked_at = frame.number
        self._second = new
        self._show()
        self.go(at + 1 + bool(actions and not of_second))

    def _go_on(self, us: int = LONGER_US) -> None:
        recording = self._active_recording()
        replay.run(recording, recording.now_us + us)
        at, known = self.position, len(self)
        self._show()
        if len(self) == known:
            self.notice = f"Nothing happens to {self.group} in {us / 1e6:.0f} s."
        self.go(at + 1)

    def _hear(self, widget: Any, content: dict[str, Any], buffers: Any) -> None:
        with answering(self, content):
            keep = bool(content.get("keep", 1))
            match content:
                case {"type": "press", "action": str(action), "name": str(name)}:
                    self.press(action, name, keep=keep)
                case {"type": "add", "protocol": str(protocol)}:
                    self.add(protocol, keep=keep)
                case {"type": "fork", "protocol": str(protocol)}:
                    self.fork(protocol, keep=keep)
                case {"type": "forget"}:
                    self.forget()
                case {"type": "run_on"}:
                    self.run_on()

    # -- showing

    def scene(self, take: int | None = None) -> Scene:
        """What is drawn of a take."""
        return build(self.frame(take).snapshot, self.topic)

    @property
    def caption(self) -> str:
        """What is new in view; where there are two timelines, it says in which of them."""
        return " ".join(self._film.captions(within(self._film.moments, self.position)))

    @property
    def text(self) -> str:
        """The panel in words, for readers without a picture."""
        first = self._film.takes[0].frames[0].time_us
        parts = []
        for number in range(self.active + 1):
            take, frame = self._film.takes[number], self.frame(number)
            name = f"timeline {number + 1} ({take.protocols}), " if self.active else ""
            at = (frame.time_us - first) / 1e6
            parts.append(f"{name}t = {at:.6f} s, event {frame.event}")
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

    def _show(self) -> None:
        self._film = Film.of(self._first, self._second, self._forked_at)
        with self.hold_sync():
            self.film = self._film.to_plain()
            self.go(self.position)

    def _bars(self, take: Take) -> dict[str, Any]:
        """A take's bars up to the moment in view, for the still picture."""
        first, now = self._film.takes[0].frames[0].time_us, self.frame().time_us
        spans = take.ownership.spans(self.topic, now)
        return {
            "end": now - first,
            "rows": {
                index: [[begin - first, min(end, now) - first, kind, owner]
                        for begin, end, kind, owner in row if begin <= now]
                for index, row in spans.items()
            },
        }  # fmt: skip

    def _ipython_display_(self, **kwargs: Any) -> None:
        put_out(self._repr_mimebundle_()[0])

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        live = super()._repr_mimebundle_(**kwargs)
        take = self._film.takes[self.active]
        return with_still(live, self.text, still.draw(self.scene(), self.caption, self._bars(take)))
