"""The Cluster panel: any `Cluster`, live, with its logs cell by cell and its faults as buttons.

    from kit.panel.panel import ClusterPanel
    ClusterPanel(cluster, "orders")

While the panel is in view it takes a snapshot now and then (kit/film/attention.py).

All state is in traits, so a test needs no browser: `press("kill", 102)` is what a button
sends, `position` is the place on the timeline (-1: now), `scene` is what is drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

import traitlets

from kit.film.live_panel import FramesPanel
from kit.film.source import Frame, LiveSource, Source
from kit.panel import controls, export, still, story, text, trace_lines
from kit.panel.scene import build


class ClusterPanel(FramesPanel):
    """A live picture of one topic of a cluster, with one partition open.

    `cluster` is any object with `snapshot(values=True, tail=n)` and `refusal(fault)`: why a
    button of the panel is disabled, or nothing.  `source` replaces the polling of `cluster`, for
    frames that come from elsewhere.
    """

    _esm = export.live_script()
    _css = export.live_style()

    topic = traitlets.Unicode().tag(sync=True)
    partition = traitlets.Int(0).tag(sync=True)

    def __init__(
        self,
        cluster: Any,
        topic: str | None = None,
        partition: int = 0,
        *,
        interval_s: float = 0.4,
        source: Source | None = None,
    ) -> None:
        super().__init__(topic=topic or "", partition=partition)
        self.cluster = cluster
        self._source: Source = source or LiveSource(cluster)
        self._refusals: dict[str, str] = {}
        self._labels_of = ("", -1)
        self._begin(interval_s, "topic", "partition")
        self.refresh()

    # -- looking

    @property
    def frames(self) -> Sequence[Frame]:
        return self._source.frames

    def _look(self) -> bool:
        """One poll; True if there is something new to show."""
        self._refusals = controls.offered(self.cluster)
        return self._source.poll()

    # -- pressing

    def press(self, action: str, node: int, other: int | None = None) -> None:
        """What a button does.  On the kernel's loop it returns at once, else when it is done."""
        if self._is_now():
            self.attention.carry_out(
                f"{action} {node if action != 'heal' else 'all links'}",
                partial(controls.carry_out, self.cluster, action, node, other),
            )

    def _do(self, content: dict[str, Any]) -> None:
        match content:
            case {"type": "press", "action": str(action), "node": int(node)}:
                self.press(action, node, content.get("other"))

    # -- showing

    @property
    def text(self) -> str:
        """The panel in words, for readers without a picture."""
        return text.render(self._scene, self._caption)

    def _show(self) -> None:
        frames, frame = self.frames, self.frame
        topics = sorted(name for name in frame.snapshot.get("topics", {}) if name[:2] != "__")
        if not self.topic and topics:
            self.topic = topics[0]  # the trait is observed, so this method runs again
            return
        partitions = frame.snapshot.get("topics", {}).get(self.topic, {}).get("partitions", {})
        if self.partition not in partitions and 0 in partitions:
            self.partition = 0  # likewise
            return
        self._scene = build(frame, self.topic, self.partition)
        self._caption = story.caption(frames, frame.number, self.topic, self.partition)
        with self.hold_sync():
            self.scene = self._plain(frame, topics)
            self.timeline = {
                "first": frames[0].number,
                "last": frames[-1].number,
                "at": frame.number,
                "marks": self._marks(frames),
            }

    def _plain(self, frame: Frame, topics: list[str]) -> dict[str, Any]:
        """What the browser draws, as plain data."""
        plain = self._scene.to_plain()
        for row, drawn in zip(plain["rows"], self._scene.rows, strict=True):
            pressed = controls.buttons(self._refusals, drawn.state, drawn.id)
            linked = controls.links(self._refusals, frame.snapshot, drawn.id)
            row["buttons"] = [asdict(button) for button in pressed]
            row["links"] = [asdict(choice) for choice in linked]
            row["text"] = text.row(drawn)
        for each in plain["controllers"]:
            pressed = controls.buttons(self._refusals, each["state"], each["id"])
            linked = controls.links(self._refusals, frame.snapshot, each["id"])
            each["buttons"] = [asdict(button) for button in pressed]
            each["links"] = [asdict(choice) for choice in linked]
        return {
            **plain,
            "topics": topics,
            "caption": self._caption,
            "text": self.text,
            "time": self._since_start(frame),
            "trace": trace_lines.listing(self.frames, frame.number, self.topic, self.partition),
        }

    def _marks(self, frames: Sequence[Frame]) -> list[list[Any]]:
        """The timeline's named events."""
        if self._labels_of != (self.topic, self.partition):
            self._labels_of, self._labels = (self.topic, self.partition), {}
        name = partial(story.label, topic=self.topic, partition=self.partition)
        return [[frame.number, said] for frame, said in self._named(frames, name)]

    def _picture(self) -> str:
        return still.draw(self._scene, self._caption)
