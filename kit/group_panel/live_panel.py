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
from itertools import pairwise
from typing import Any

import anywidget
import traitlets

from kit.film.attention import Attention
from kit.film.output import put_out, with_still
from kit.film.pool import line_with_source
from kit.film.source import Frame, Line, LiveSource, Snapshot
from kit.group_panel import controls, export, still, story, text, trace_lines, view
from kit.group_panel.crew import PROTOCOLS, Crew
from kit.group_panel.ownership import Ownership
from kit.group_panel.scene import build
from kit.group_panel.seats import name_of
from kit.group_panel.watched import Watched
from kit.group_panel.writing import Writing

NOW = -1
FRAMES_KEPT = 480
WINDOW_US = 60_000_000
"""How much of the past the bars show."""
LOOKING_BACK = "You are looking back. Press End to return to now."


class GroupPanel(anywidget.AnyWidget):
    """A live picture of one group of a topic."""

    _esm = export.live_script()
    _css = export.style()

    scene = traitlets.Dict().tag(sync=True)
    timeline = traitlets.Dict().tag(sync=True)
    sources = traitlets.Dict().tag(sync=True)
    notice = traitlets.Unicode().tag(sync=True)
    position = traitlets.Int(NOW).tag(sync=True)

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
        self._labels: dict[int, str] = {}
        self._source = LiveSource(
            cluster, FRAMES_KEPT, tail=0, shown=self._shown, more=self._more_lines
        )
        self.attention = Attention(self._look, self._show, self._say, interval_s)
        self.on_msg(self._hear)
        self.observe(lambda change: self._show(), ["position"])
        self.refresh()

    # -- looking

    def refresh(self) -> None:
        """Looks once, and shows what is there now.  Waits for the answer."""
        self.attention.once()

    def watch(self, consumer: Any, name: str = "") -> None:
        """Shows what a consumer of this notebook believes it owns."""
        self._watched.append(Watched(name or f"mine {len(self._watched) + 1}", consumer))

    def close(self) -> None:
        """Ends the panel's members and its writing."""
        self.attention.close()
        self.crew.close()
        self.write(0)
        super().close()

    def _look(self) -> bool:
        changed = self._source.poll()
        self._ownership.follow(self._source.frames)
        return changed

    def _shown(self, whole: Snapshot) -> Snapshot:
        self._seen = [line for each in self._watched for line in each.look()]
        beliefs = {**self.crew.beliefs(), **{each.name: each.belief for each in self._watched}}
        clients = {name: each.to_plain() for name, each in beliefs.items()}
        return view.of_group(whole, self.group, clients, [self.topic])

    def _more_lines(self) -> Sequence[Line]:
        return [*self.crew.lines(), *self._seen]

    def _say(self, words: str) -> None:
        self.notice = words

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
        if self.position != NOW:
            self.notice = LOOKING_BACK
        elif action not in controls.ACTIONS:
            named = ", ".join(controls.ACTIONS)
            self.notice = f"There is no button named {action!r}; there are {named}."
        else:
            act = partial(getattr(self.crew, action), name)
            self.attention.carry_out(f"{action} {name}", act)

    def _hear(self, widget: Any, content: dict[str, Any], buffers: Any) -> None:
        match content:
            case {"type": "watch"}:
                self.attention.keep()
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
    def frame(self) -> Frame:
        """The frame in view."""
        frames = self._source.frames
        if self.position == NOW:
            return frames[-1]
        return frames[min(max(self.position - frames[0].number, 0), len(frames) - 1)]

    @property
    def text(self) -> str:
        """The panel in words, for readers without a picture."""
        frames, frame = self._source.frames, self.frame
        pauses = [
            each
            for each in self._ownership.pauses(self.topic)
            if frames[0].time_us <= each.start_us <= frame.time_us
        ]
        scene = build(frame.snapshot, self.topic)
        return text.render(scene, self._caption, pauses, frames[0].time_us, frame.time_us)

    def _show(self) -> None:
        frames, frame = self._source.frames, self.frame
        self._caption = story.caption(frames, frame.number, self.topic, self._ownership)
        with self.hold_sync():
            self.scene = self._plain(frame)
            self.timeline = self._timeline(frames, frame)

    def _plain(self, frame: Frame) -> dict[str, Any]:
        """What the browser draws, as plain data."""
        scene = build(frame.snapshot, self.topic)
        plain, start = scene.to_plain(), self._source.frames[0].time_us
        for card, member in zip(plain["members"], scene.members, strict=True):
            card["buttons"] = [asdict(button) for button in controls.buttons(member)]
            card["text"] = text.member(scene, member)
        sources = dict(self.sources)
        listed = trace_lines.listing(self._source.frames, frame.number)
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
            "time": f"{(frame.time_us - start) / 1e6:.1f} s",
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
        """The timeline's named events; each frame's name is worked out once."""
        marks: list[list[Any]] = []
        for before, frame in pairwise(frames):
            if frame.number not in self._labels:
                said = story.label(before, frame, self.topic, self._ownership)
                self._labels[frame.number] = said
            if self._labels[frame.number]:
                marks.append([frame.number, frame.time_us - start, self._labels[frame.number]])
        return marks

    def _ipython_display_(self, **kwargs: Any) -> None:
        put_out(self._repr_mimebundle_()[0])

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        live = super()._repr_mimebundle_(**kwargs)
        scene = build(self.frame.snapshot, self.topic)
        return with_still(live, self.text, still.draw(scene, self._caption, self.timeline))
