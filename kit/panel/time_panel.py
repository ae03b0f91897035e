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

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import traitlets

from engine.sim.world.faults import Fault
from engine.sim.world.world import World
from kit.film import replay, strip
from kit.film.source import Frame
from kit.film.steps import plain
from kit.film.timeline_panel import TimelinePanel
from kit.panel import controls, export, small, still, text
from kit.panel.film import Film
from kit.panel.moments import Differs
from kit.panel.recording import Recording, branch, record
from kit.panel.scene import Scene, build

ENDS = ("start", "end")
KINDS = ("fault", "election", "parted", "truncation", "lost", "ack", "write", "fork")


class TimePanel(TimelinePanel):
    """A recorded world's topic, with one partition open."""

    _esm = export.script()
    _css = export.style()

    partition = traitlets.Int(0).tag(sync=True)

    def __init__(self, world: World, topic: str | None = None, partition: int = 0) -> None:
        super().__init__(partition=partition)
        self.world = world
        self.topic = topic or _first_topic(world)
        self._begin(record(world, self.topic))
        self.observe(lambda change: self._show(), "partition")

    # -- where on the timeline

    def jump(self, mark: str, forward: bool = True) -> bool:
        """To the next step of a kind (or the one before); False if there is none.

        Kinds: fault, election, parted, truncation, lost, ack, write, fork.  `jump("start")` and
        `jump("end")` go to the first step and to the last.
        """
        if mark in ENDS:
            self.go(0 if mark == "start" else len(self) - 1)
            return True
        if mark not in KINDS:
            named = f"{', '.join(KINDS)}; start and end are the first and the last step"
            self.notice = f"There is no kind of step named {mark!r}; there are {named}."
            return False
        places = range(self.position + 1, len(self))
        for place in places if forward else reversed(range(self.position)):
            if mark in [caption.mark for _, caption in self._film.told(place)]:
                self.go(place)
                return True
        self.notice = f"There is no {mark} {'after' if forward else 'before'} this moment."
        return False

    # -- another future

    def fork(self, rule: str = "", *, keep: bool = True) -> None:
        """A second timeline from the moment in view, with another truncation rule.

        With `keep`, later faults and writes are repeated at the same times.
        """
        self._another(rule=rule, keep=keep)

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
        if self._is_at_end:
            replay.apply(self._recording, wanted)
            self._go_on()
        else:
            self._another(wanted, keep=keep)

    def compare(self, world: World) -> None:
        """Shows another world as the second timeline, from the beginning on.

        Both worlds must start alike, such as one case under two rules.
        """
        self._second = record(world, self.topic)
        self._forked_from = self._first.frames[0]
        self._show()

    def _another(self, *faults: Fault, rule: str = "", keep: bool) -> None:
        self._branch(
            lambda of, frame: branch(of, frame, rule=rule, faults=faults, keep=keep),
            acts=bool(faults),
        )

    def _run(self, recording: Recording, until_us: int) -> None:
        replay.settle(recording, until_us)

    def _of_what(self) -> str:
        return self.topic

    def _do(self, content: dict[str, Any]) -> None:
        match content:
            case {"type": "press", "action": str(action), "node": int(node)}:
                self.press(action, node, content.get("other"), keep=bool(content.get("keep", 1)))
            case {"type": "fork", "rule": str(rule)}:
                self.fork(rule, keep=bool(content.get("keep", 1)))

    # -- showing

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
        parts = []
        for take in range(self.active + 1):
            frame = self.frame(take)
            title = f"timeline {take + 1}, rule {self._film.takes[take].recording.rule}, "
            parts.append(f"{title if self.active else ''}{self.seconds_of(frame)}")
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
            else self._make_for(index).to_plain()
            for index in self.film["partitions"] or [self.partition]
        }

    def _make(self) -> Film:
        return self._make_for(self.partition)

    def _make_for(self, partition: int) -> Film:
        return Film.of(self.topic, partition, self._first, self._second, self._forked_from)

    def _show(self) -> None:
        before, seen = self._film, self.frame(0).time_us
        self._film = self._make()
        at = self.position
        if before.partition != self.partition:  # other steps: stay at the same time
            times = [self._film.frame(each, 0).time_us for each in self._film.moments]
            at = max((place for place, time in enumerate(times) if time <= seen), default=0)
        with self.hold_sync():
            self.film = self._film.to_plain()
            self.go(at)

    def _beside(self) -> still.Second | None:
        """The second timeline, for the still picture."""
        if (found := self.differs) is None:
            return None
        one, other = (take.recording.rule for take in self._film.takes)
        return still.Second(self.scene(1), (one, other), found)

    def _still(self) -> str:
        return still.draw(self.scene(0), "\n".join(self.captions), self._beside())

    def _look(self, frames: Sequence[Frame]) -> strip.Look:
        scenes = [build(frame, self.topic, self.partition) for frame in frames]
        offsets = small.columns(scenes)
        return strip.Look(
            f"{self.topic} · partition {self.partition}",
            [small.draw(scene, offsets) for scene in scenes],
            small.shapes(scenes),
            small.LEGEND,
            head=small.head(offsets),
        )


def _first_topic(world: World) -> str:
    topics = [name for name in sorted(world.image().topic_ids) if name[:2] != "__"]
    if not topics:
        raise ValueError('This world has no topic yet: world.create_topic("orders") makes one.')
    return str(topics[0])
