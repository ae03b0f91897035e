"""What the panels over a recorded world share: a timeline, and a second one that branches off.

A panel of this kind brings its recordings, its film, its scene and its actions:

    _film           takes, moments, frame(), captions() and to_plain(), of _first and _second
    _make()         that film again, after a recording has changed
    _of_what()      what may not happen for a while, in words: "orders"
    _look(frames)   its small pictures of these frames, for the strip
    _still()        its still picture of two timelines
    and what each panel has (kit/film/output.py): text, _do(content)

Its recordings are `kit.film.recording.WorldRecording`s.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import traitlets

from kit.film import replay, strip
from kit.film.asking import answering
from kit.film.moments import Moment, within
from kit.film.output import Panel
from kit.film.recording import FRAMES_MOST, WorldRecording
from kit.film.source import Frame

LONGER_US = 3_000_000
"""How long a world runs on after an action at its end."""


class TimelinePanel(Panel):
    """A recorded world."""

    film = traitlets.Dict().tag(sync=True)
    position = traitlets.Int(0).tag(sync=True)

    _longer_us = LONGER_US

    def _begin(self, first: WorldRecording) -> None:
        """Shows a first recording."""
        self._first: Any = first
        self._second: Any = None
        self._forked_from: Frame | None = None
        self._film = self._make()
        self.film = self._film.to_plain()
        if len(first.frames) >= FRAMES_MOST:
            self.notice = f"Only the first {FRAMES_MOST} steps are recorded."
        self.on_msg(self._hear)

    def _make(self) -> Any:
        raise NotImplementedError

    def _of_what(self) -> str:
        raise NotImplementedError

    # -- where on the timeline

    def jump(self, words: str) -> bool:
        """To the next step whose name has these words, such as "kill A"; False if there is none."""
        for place in range(self.position + 1, len(self)):
            if any(words in told.label for _, told in self._film.told(place)):
                self.go(place)
                return True
        self.notice = f"There is no {words!r} after this moment."
        return False

    def __len__(self) -> int:
        """How many moments the timeline has."""
        return len(self._film.moments)

    def step(self) -> None:
        """To the next moment."""
        self.go(self.position + 1)

    def back(self) -> None:
        """To the moment before."""
        self.go(self.position - 1)

    def go(self, place: int) -> None:
        """To a moment, counted from 0, or to the nearest one there is."""
        self.position = within(self._film.moments, place)

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

    def run_on(self, seconds: float = 3.0) -> None:
        """Runs the active timeline for so many seconds of virtual time."""
        self._go_on(round(seconds * 1_000_000))

    def forget(self) -> None:
        """Drops the second timeline."""
        at = self.moment.first
        self._second = self._forked_from = None
        self._show()
        self.go(at)

    @property
    def _recording(self) -> Any:
        """The one that buttons act on."""
        return self._second if self.active and self._second is not None else self._first

    @property
    def _is_at_end(self) -> bool:
        return self.frame() is self._recording.frames[-1]

    def _branch(self, make: Callable[[Any, Frame], Any], acts: bool) -> None:
        """Another future: timeline 2, or for an action in timeline 2, another end of it.

        `make` records it from a frame of a recording on; it raises ValueError where it cannot.
        `acts` says whether something is done at its beginning.
        """
        of_second = self._second if acts and self.active else None
        of, frame = of_second or self._first, self.frame(1 if of_second else 0)
        if of.world.timeline is None:
            self.notice = "This world keeps no checkpoints: make it with rewindable=True."
            return
        try:
            new = make(of, frame)
        except ValueError as error:
            self.notice = str(error)
            return
        at = self.moment.first
        if of_second:  # the second timeline keeps its past up to here
            new.prepend(of_second, frame)
            at = self.position
        else:
            self._forked_from = frame
        self._second = new
        self._show()
        self.go(at + 1 + bool(acts and not of_second))  # to the chosen moment, or to its action

    def _go_on(self, us: int = 0) -> None:
        longer = us or self._longer_us
        self._run(self._recording, self._recording.now_us + longer)
        at, known = self.position, len(self)
        self._show()
        if len(self) == known:
            self.notice = f"Nothing happens to {self._of_what()} in {longer / 1e6:g} s."
        self.go(at + 1)

    def _run(self, recording: Any, until_us: int) -> None:
        replay.run(recording, until_us)

    def _hear(self, widget: Any, content: dict[str, Any], buffers: Any) -> None:
        with answering(self, content):
            match content:
                case {"type": "forget"}:
                    self.forget()
                case {"type": "run_on"}:
                    self.run_on()
                case _:
                    self._do(content)

    # -- showing

    @property
    def captions(self) -> list[str]:
        """What is new in view; where there are two timelines, it says in which of them."""
        return self._film.captions(within(self._film.moments, self.position))

    @property
    def caption(self) -> str:
        return " ".join(self.captions)

    def seconds_of(self, frame: Frame) -> str:
        """When a frame was, since the first one, and its event."""
        return f"t = {self._since(frame):.6f} s, event {frame.event}"

    def _since(self, frame: Frame) -> float:
        """Seconds of virtual time since the first frame."""
        return float(frame.time_us - self._film.takes[0].frames[0].time_us) / 1e6

    def _picture(self) -> str:
        """A strip of moments; of two timelines, both at the moment in view."""
        if self._second is not None:
            return self._still()
        places = strip.chosen(self._film, self.position)
        frames = [self._film.frame(self._film.moments[place], 0) for place in places]
        shots = [
            strip.Shot(
                self._since(frame), " ".join(self._film.captions(place)), place == self.position
            )
            for place, frame in zip(places, frames, strict=True)
        ]
        return strip.draw(shots, self._look(frames))

    def _look(self, frames: Sequence[Frame]) -> strip.Look:
        raise NotImplementedError

    def _still(self) -> str:
        raise NotImplementedError

    def _show(self) -> None:
        self._film = self._make()
        with self.hold_sync():
            self.film = self._film.to_plain()
            self.go(self.position)
