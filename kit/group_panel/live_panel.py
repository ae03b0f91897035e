"""The Group panel over a running cluster: who reads what, and the buttons that change it.

    from kit import lab
    panel = lab.group_panel(cluster, "orders", "g")
    panel.add("cooperative-sticky")         # a real consumer, in a process of its own
    panel.press("freeze", "A")              # what a button does

It shows any group of the topic, also one of other programs.  What a member believes is known of the
panel's own members, and of the notebook's consumers after `panel.watch(consumer, "mine")`; of all
others only the coordinator's word.  `panel.write(50)` writes 50 records a second.

All state is in traits, so a test needs no browser: `scene` is what is drawn, `position` the place
on the timeline (-1: now).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

import traitlets

from kit.film.live_panel import FramesPanel
from kit.film.pool import line_with_source
from kit.film.source import Frame, Line, LiveSource, Snapshot
from kit.group_panel import controls, export, still, story, text, trace_lines, view
from kit.group_panel.crew import PROTOCOLS, Crew
from kit.group_panel.ownership import Ownership
from kit.group_panel.scene import build
from kit.group_panel.seats import name_of
from kit.group_panel.watched import Watched
from kit.group_panel.writing import Writing

FRAMES_KEPT = 480
WINDOW_US = 60_000_000
"""How much of the past the bars show."""


class GroupPanel(FramesPanel):
    """A live picture of one group of a topic."""

    _esm = export.live_script()
    _css = export.style()

    sources = traitlets.Dict().tag(sync=True)

    def __init__(
        self,
        cluster: Any,
        topic: str,
        group: str,
        *,
        interval_s: float = 0.3,
        settings: Mapping[str, Any] | None = None,
        work_ms: float = 2.0,
        crew: Any = None,
    ) -> None:
        """`settings` are the panel's own members' beside the kit's; each takes `work_ms` for a
        record.
        """
        super().__init__()
        self.cluster, self.topic, self.group = cluster, topic, group
        bootstrap = getattr(cluster, "bootstrap", "")
        self.crew = crew or Crew(bootstrap, topic, group, settings, work_ms)
        self._watched: list[Watched] = []
        self._writing: Writing | None = None
        self._ownership = Ownership()
        self._source = LiveSource(
            cluster, FRAMES_KEPT, tail=0, shown=self._shown, more=self._more_lines
        )
        self._begin(interval_s)
        self.refresh()

    # -- looking

    @property
    def frames(self) -> Sequence[Frame]:
        return self._source.frames

    def watch(self, consumer: Any, name: str = "") -> None:
        """Shows what a consumer of this notebook believes it owns."""
        self._watched.append(Watched(name or f"mine {len(self._watched) + 1}", consumer))

    def _end(self) -> None:
        self.crew.close()
        self.write(0)

    def _look(self) -> bool:
        changed = self._source.poll()
        self._ownership.follow(self.frames)
        return changed

    def _shown(self, whole: Snapshot) -> Snapshot:
        self._seen = [line for each in self._watched for line in each.look()]
        beliefs = {**self.crew.beliefs(), **{each.name: each.belief for each in self._watched}}
        clients = {name: each.to_plain() for name, each in beliefs.items()}
        return view.of_group(whole, self.group, clients, [self.topic])

    def _more_lines(self) -> Sequence[Line]:
        return [*self.crew.lines(), *self._seen]

    # -- acting

    def add(self, protocol: str = PROTOCOLS[0]) -> str:
        """Starts a member: `range`, `cooperative-sticky`, or `consumer` (KIP-848)."""
        return str(self.crew.add(protocol))

    def write(self, per_s: float) -> None:
        """Writes so many records a second to the topic; 0 stops that."""
        writing, self._writing = self._writing, None
        if writing is not None:
            writing.close()
        if per_s > 0:
            count = max(1, len(view.partitions(self.frame.snapshot, self.topic)))
            self._writing = Writing(self.cluster.bootstrap, self.topic, count, per_s)

    def press(self, action: str, name: str) -> None:
        """What a member's button does.  On the kernel's loop it returns at once."""
        if action not in controls.ACTIONS:
            named = ", ".join(controls.ACTIONS)
            self.notice = f"There is no button named {action!r}; there are {named}."
        elif self._is_now():
            act = partial(getattr(self.crew, action), name)
            self.attention.carry_out(f"{action} {name}", act)

    def _do(self, content: dict[str, Any]) -> None:
        match content:
            case {"type": "press", "action": str(action), "name": str(name)}:
                self.press(action, name)
            case {"type": "add", "protocol": str(protocol)}:
                self.attention.carry_out("add a member", partial(self._add, protocol))
            case {"type": "write", "per_s": int(per_s)}:
                self.attention.carry_out("write", partial(self.write, per_s))

    def _add(self, protocol: str) -> None:
        self.add(protocol)

    # -- showing

    @property
    def text(self) -> str:
        """The panel in words, for readers without a picture."""
        frames, frame = self.frames, self.frame
        pauses = [
            each
            for each in self._ownership.pauses(self.topic)
            if frames[0].time_us <= each.start_us <= frame.time_us
        ]
        scene = build(frame.snapshot, self.topic)
        return text.render(scene, self._caption, pauses, frames[0].time_us, frame.time_us)

    def _show(self) -> None:
        frames, frame = self.frames, self.frame
        self._caption = story.caption(frames, frame.number, self.topic, self._ownership)
        with self.hold_sync():
            self.scene = self._plain(frame)
            self.timeline = self._timeline(frames, frame)

    def _plain(self, frame: Frame) -> dict[str, Any]:
        """What the browser draws, as plain data."""
        scene = build(frame.snapshot, self.topic)
        plain, start = scene.to_plain(), self.frames[0].time_us
        for card, member in zip(plain["members"], scene.members, strict=True):
            card["buttons"] = [asdict(button) for button in controls.buttons(member)]
            card["text"] = text.member(scene, member)
        sources = dict(self.sources)
        listed = trace_lines.listing(self.frames, frame.number)
        lines = [
            [(line.time_us - start) / 1e6, *line_with_source(line, said, sources), now]
            for line, said, now in listed
        ]
        if len(sources) != len(self.sources):
            self.sources = sources
        return {
            **plain,
            "caption": self._caption,
            "text": self.text,
            "time": self._since_start(frame),
            "trace": lines,
            "protocols": list(PROTOCOLS),
            "writes": 0 if self._writing is None else int(self._writing.per_s),
        }

    def _timeline(self, frames: Sequence[Frame], frame: Frame) -> dict[str, Any]:
        last = frames[-1].time_us
        start = max(frames[0].time_us, last - WINDOW_US)
        spans = self._ownership.spans(self.topic, last)
        kept = [each for each in frames if each.time_us >= start]
        names = {client: client for client in frame.snapshot["clients"]}
        return {
            "first": frames[0].number,
            "last": frames[-1].number,
            "at": frame.number,
            "now": frame.time_us - start,
            "end": max(1, last - start),
            "start": start - frames[0].time_us,
            "times": [[each.number, each.time_us - start] for each in kept],
            "rows": {
                index: [
                    [max(0, begin - start), end - start, kind,
                     names.get(owner) or name_of(frame.snapshot, owner)]
                    for begin, end, kind, owner in row
                    if end > start
                ]
                for index, row in spans.items()
            },
            "marks": self._marks(kept, start),
        }  # fmt: skip

    def _marks(self, frames: Sequence[Frame], start: int) -> list[list[Any]]:
        """The timeline's named events."""
        name = partial(story.label, topic=self.topic, ownership=self._ownership)
        return [
            [frame.number, frame.time_us - start, said] for frame, said in self._named(frames, name)
        ]

    def _picture(self) -> str:
        scene = build(self.frame.snapshot, self.topic)
        return still.draw(scene, self._caption, self.timeline)
