"""The Cluster panel over a simulated world: scrub, step, go back, fork, compare.

    from kit import lab
    panel = lab.panel(world, "orders")

The panel records a copy of the world; yours stays where it is.  Its timeline has a position
for every step of the engine that concerns the topic.  At any of them you can change the
future: `fork` takes another truncation rule, a fault button injects a fault.  Later faults
and writes are repeated at the same times.  The panel then shows the two timelines together
and marks the differences.

All state is in traits, so a test needs no browser: `position` is the place on the timeline,
`press("kill", 102)` is what a button sends, `film` is everything a browser draws.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anywidget
import traitlets

from engine.sim.world.faults import Fault
from engine.sim.world.world import World
from kit.film import replay
from kit.film.asking import answering
from kit.film.moments import Moment, within
from kit.film.output import put_out, with_still
from kit.film.source import Frame
from kit.film.steps import plain
from kit.panel import controls, export, still, text
from kit.panel.film import Film
from kit.panel.moments import Differs
from kit.panel.recording import FRAMES_MOST, Recording, branch, record
from kit.panel.scene import Scene, build

ENDS = ("start", "end")
KINDS = ("fault", "election", "parted", "truncation", "lost", "ack", "write", "fork")
LONGER_US = 3_000_000
"""How long a world runs on after a fault at its end."""


class TimePanel(anywidget.AnyWidget):
    """A recorded world's topic, with one partition open."""

    _esm = export.script()
    _css = export.style()

    film = traitlets.Dict().tag(sync=True)
    partition = traitlets.Int(0).tag(sync=True)
    position = traitlets.Int(0).tag(sync=True)
    notice = traitlets.Unicode().tag(sync=True)

    def __init__(self, world: World, topic: str | None = None, partition: int = 0) -> None:
        super().__init__(partition=partition)
        self.world = world
        self.topic = topic or _first_topic(world)
        self._second: Recording | None = None
        self._forked_from: Frame | None = None
        self._first = record(world, self.topic)
        self._film = self._make(partition)
        self.film = self._film.to_plain()
        if len(self._first.frames) >= FRAMES_MOST:
            self.notice = f"Only the first {FRAMES_MOST} steps are recorded."
        self.on_msg(self._hear)
        self.observe(lambda change: self._show(), "partition")

    # -- where on the timeline

    def __len__(self) -> int:
        """How many moments the timeline has."""
        return len(self._film.moments)

    def step(self) -> None:
        """To the next moment."""
        self._go(self.position + 1)

    def back(self) -> None:
        """To the moment before."""
        self._go(self.position - 1)

    def jump(self, mark: str, forward: bool = True) -> bool:
        """To the next step of a kind (or the one before); False if there is none.

        Kinds: fault, election, parted, truncation, lost, ack, write, fork.  `jump("start")` and
        `jump("end")` go to the first step and to the last.
        """
        if mark in ENDS:
            self._go(0 if mark == "start" else len(self) - 1)
            return True
        if mark not in KINDS:
            named = f"{', '.join(KINDS)}; start and end are the first and the last step"
            self.notice = f"There is no kind of step named {mark!r}; there are {named}."
            return False
        places = range(self.position + 1, len(self))
        for place in places if forward else reversed(range(self.position)):
            if mark in [caption.mark for _, caption in self._film.fresh(place)]:
                self._go(place)
                return True
        self.notice = f"There is no {mark} {'after' if forward else 'before'} this moment."
        return False

    def _go(self, place: int) -> None:
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

    def fork(self, rule: str = "", *, keep: bool = True) -> None:
        """A second timeline from the moment in view, with another truncation rule.

        With `keep`, later faults and writes are repeated at the same times.
        """
        self._branch(rule=rule, keep=keep, of_first=True)

    def press(self, action: str, node: int, other: int | None = None, *, keep: bool = True) -> None:
        """What a button does: a fault at the moment in view.

        At a timeline's end it happens there and the world goes on; earlier, it makes another
        future.
        """
        try:
            wanted = controls.fault_of(action, node, other)
        except ValueError as error:
            self.notice = str(error)
            return
        recording = self._active_recording()
        if self.frame() is recording.frames[-1]:
            self._go_on(recording, wanted)
        else:
            self._branch(faults=(wanted,), keep=keep, of_first=not self.active)

    def run_on(self, seconds: float = 3.0) -> None:
        """Runs the active timeline for so many seconds of virtual time."""
        recording = self._active_recording()
        self._go_on(recording, None, round(seconds * 1_000_000))

    def compare(self, world: World) -> None:
        """Shows another world as the second timeline, from the beginning on.

        Both worlds must start alike, such as one case under two rules.
        """
        self._second = record(world, self.topic)
        self._forked_from = self._first.frames[0]
        self._show()

    def forget(self) -> None:
        """Drops the second timeline."""
        at = self.moment.first
        self._second = self._forked_from = None
        self._show()
        self._go(at)

    def _active_recording(self) -> Recording:
        return self._second if self.active and self._second is not None else self._first

    def _branch(
        self,
        *,
        rule: str = "",
        faults: tuple[Fault, ...] = (),
        keep: bool,
        of_first: bool,
    ) -> None:
        of = self._first if of_first else self._second
        if of is None or of.world.timeline is None:
            self.notice = "This world keeps no checkpoints: make it with rewindable=True."
            return
        frame = self._film.frame(self.moment, 0 if of_first else 1)
        try:
            new = branch(of, frame, rule=rule, faults=faults, keep=keep)
        except ValueError as error:
            self.notice = str(error)
            return
        if not of_first:  # the second timeline keeps its past up to here
            new.prepend(of, frame)
        else:
            self._forked_from = frame
        at = self.position
        self._second = new
        self._show()
        self._go(at + 1 + bool(of_first and faults))  # to the chosen moment, or to its fault

    def _go_on(self, recording: Recording, wanted: Fault | None, us: int = LONGER_US) -> None:
        if wanted is not None:
            replay.apply(recording, wanted)
        replay.settle(recording, recording.now_us + us)
        at, known = self.position, len(self)
        self._show()
        if len(self) == known:
            self.notice = f"Nothing happens to {self.topic} in {us / 1e6:.0f} s."
        self._go(at + 1)

    def _hear(self, widget: Any, content: dict[str, Any], buffers: Any) -> None:
        with answering(self, content):
            self._do(content)

    def _do(self, content: dict[str, Any]) -> None:
        match content:
            case {"type": "press", "action": str(action), "node": int(node)}:
                self.press(action, node, content.get("other"), keep=bool(content.get("keep", 1)))
            case {"type": "fork", "rule": str(rule)}:
                self.fork(rule, keep=bool(content.get("keep", 1)))
            case {"type": "forget"}:
                self.forget()
            case {"type": "run_on"}:
                self.run_on()

    # -- showing

    @property
    def caption(self) -> str:
        """What is new in view; where there are two timelines, it says in which of them."""
        return " ".join(self._captions())

    def _captions(self) -> list[str]:
        return self._film.captions(within(self._film.moments, self.position))

    @property
    def differs(self) -> Differs | None:
        """What differs between the two timelines now; None where there is one."""
        return self._film.differs(self.moment)

    def scene(self, take: int | None = None) -> Scene:
        """What is drawn of a take."""
        return build(self.frame(take), self.topic, self.partition)

    @property
    def text(self) -> str:
        """The panel in words, for readers without a picture."""
        first = self._film.takes[0].frames[0].time_us
        parts = []
        for take in range(self.active + 1):
            frame = self.frame(take)
            title = f"timeline {take + 1}, rule {self._film.takes[take].recording.rule}, "
            parts.append(
                f"{title if self.active else ''}t = {(frame.time_us - first) / 1e6:.6f} s, "
                f"event {frame.event}"
            )
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
        return export.write(Path(file), self._films(), self.position, self.partition)

    def _films(self) -> dict[int, dict[str, Any]]:
        """The film of every partition."""
        return {
            index: self._film.to_plain()
            if index == self.partition
            else self._make(index).to_plain()
            for index in self.film["partitions"] or [self.partition]
        }

    def _make(self, partition: int) -> Film:
        return Film.of(self.topic, partition, self._first, self._second, self._forked_from)

    def _show(self) -> None:
        before, seen = self._film, self.frame(0).time_us
        self._film = self._make(self.partition)
        at = self.position
        if before.partition != self.partition:  # other steps: stay at the same time
            times = [self._film.frame(each, 0).time_us for each in self._film.moments]
            at = max((place for place, time in enumerate(times) if time <= seen), default=0)
        with self.hold_sync():
            self.film = self._film.to_plain()
            self._go(at)

    def _beside(self) -> still.Second | None:
        """The second timeline, for the still picture."""
        if (found := self.differs) is None:
            return None
        one, other = (take.recording.rule for take in self._film.takes)
        return still.Second(self.scene(1), (one, other), found)

    def _ipython_display_(self, **kwargs: Any) -> None:
        put_out(self._repr_mimebundle_()[0])

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        live = super()._repr_mimebundle_(**kwargs)
        picture = still.draw(self.scene(0), "\n".join(self._captions()), self._beside())
        return with_still(live, self.text, picture)


def _first_topic(world: World) -> str:
    topics = [name for name in sorted(world.image().topic_ids) if name[:2] != "__"]
    if not topics:
        raise ValueError('This world has no topic yet: world.create_topic("orders") makes one.')
    return str(topics[0])
