"""The Cluster panel: any `Cluster`, live, with its logs cell by cell and its faults as buttons.

    from kit.panel.panel import ClusterPanel
    ClusterPanel(cluster, "orders")

While the panel is in view it takes a snapshot now and then.  A thread of its own waits for
the cluster's answer, the kernel's event loop changes the picture, and nothing is ever
printed.  A browser says every few seconds that the panel is in view; when it stops, the
polling stops.

All state is in traits, so a test needs no browser: `press("kill", 102)` is what a button
sends, `position` is the place on the timeline (-1: now), `scene` is what is drawn.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import anywidget
import traitlets
from IPython.display import display

from kit.panel import controls, export, still, story, text, trace_lines
from kit.panel.scene import build
from kit.panel.source import Frame, LiveSource, Source

VIEW = "application/vnd.jupyter.widget-view+json"
HERE = Path(__file__).parent
NOW = -1
WATCHED_FOR_S = 12.0
LOOKING_BACK = "You are looking back. Press End to return to now."


class ClusterPanel(anywidget.AnyWidget):
    """A live picture of one topic of a cluster, with one partition open.

    `cluster` is any object with `snapshot(values=True, tail=n)`.  If it has no method for a
    fault, or `offers` refuses it, the button says why.  `source` replaces the polling of
    `cluster`, for frames that come from elsewhere.
    """

    _esm = export.script("drawing.js", "panel.js")
    _css = HERE / "panel.css"

    scene = traitlets.Dict().tag(sync=True)
    timeline = traitlets.Dict().tag(sync=True)
    notice = traitlets.Unicode().tag(sync=True)
    topic = traitlets.Unicode().tag(sync=True)
    partition = traitlets.Int(0).tag(sync=True)
    position = traitlets.Int(NOW).tag(sync=True)

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
        self._interval_s = interval_s
        self._refusals: dict[str, str] = {}
        self._trouble = ""
        self._labels: dict[int, str] = {}
        self._labels_of = ("", -1)
        self._watched_until = 0.0
        self._polling: asyncio.Task[None] | None = None
        self._pressing: set[asyncio.Task[None]] = set()
        self._asker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="cluster-panel")
        self.on_msg(self._hear)
        self.observe(lambda change: self._show(), ["topic", "partition", "position"])
        self.refresh()

    # -- looking

    def refresh(self) -> None:
        """Looks once, and shows what is there now.  Waits for the answer."""
        self._asker.submit(self._look).result()
        self._show()
        self.notice = self._trouble

    def watch(self) -> None:
        """Polls for a while; called again and again while the panel is in view."""
        self._watched_until = time.monotonic() + WATCHED_FOR_S
        loop = _running_loop()
        if loop is not None and (self._polling is None or self._polling.done()):
            self._polling = loop.create_task(self._poll())

    def close(self) -> None:
        self._watched_until = 0.0
        self._asker.shutdown(wait=False)
        super().close()

    async def _poll(self) -> None:
        loop = asyncio.get_running_loop()
        while time.monotonic() < self._watched_until:
            asked = time.monotonic()
            if await loop.run_in_executor(self._asker, self._look):
                self._show()
            if self._trouble or not self._pressing:
                self.notice = self._trouble
            # a cluster that answers slowly is asked less often
            await asyncio.sleep(max(self._interval_s, 2 * (time.monotonic() - asked)))

    def _look(self) -> bool:
        """One poll; True if there is something new to show."""
        try:
            self._refusals = controls.offered(self.cluster)
            changed = self._source.poll()
        except Exception as error:
            self._trouble = f"The cluster does not answer: {error}"
            return False
        self._trouble = ""
        return changed

    # -- pressing

    def press(self, action: str, node: int, other: int | None = None) -> None:
        """What a button does.  On the kernel's loop it returns at once, else when it is done."""
        if self.position != NOW:
            self.notice = LOOKING_BACK
            return
        work = self._carry_out(action, node, other)
        loop = _running_loop()
        if loop is None:
            asyncio.run(work)
            return
        task = loop.create_task(work)
        self._pressing.add(task)
        task.add_done_callback(self._pressing.discard)

    async def _carry_out(self, action: str, node: int, other: int | None) -> None:
        self.notice = f"{action} {node if action != 'heal' else 'all links'} …"
        said = ""
        try:
            await asyncio.to_thread(controls.carry_out, self.cluster, action, node, other)
        except Exception as error:
            said = str(error) or f"{action} {node} did not work."
        await asyncio.get_running_loop().run_in_executor(self._asker, self._look)
        self._show()
        self.notice = said

    def _hear(self, widget: Any, content: dict[str, Any], buffers: Any) -> None:
        match content:
            case {"type": "watch"}:
                self.watch()
            case {"type": "press", "action": str(action), "node": int(node)}:
                self.press(action, node, content.get("other"))

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
        return text.render(self._scene, self._caption)

    def _show(self) -> None:
        frames, frame = self._source.frames, self.frame
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
        frames, plain = self._source.frames, self._scene.to_plain()
        for row, drawn in zip(plain["rows"], self._scene.rows, strict=True):
            pressed = controls.buttons(self._refusals, drawn.state, drawn.id)
            linked = controls.links(self._refusals, frame.snapshot, drawn.id)
            row["buttons"] = [asdict(button) for button in pressed]
            row["links"] = [asdict(choice) for choice in linked]
            row["text"] = text.row(drawn)
        return {
            **plain,
            "topics": topics,
            "caption": self._caption,
            "text": self.text,
            "time": f"{(frame.time_us - frames[0].time_us) / 1e6:.1f} s",
            "trace": trace_lines.listing(frames, frame.number, self.topic, self.partition),
        }

    def _marks(self, frames: Sequence[Frame]) -> list[list[Any]]:
        """The timeline's named events; each frame's name is worked out once."""
        if self._labels_of != (self.topic, self.partition):
            self._labels_of, self._labels = (self.topic, self.partition), {}
        marks = []
        for before, frame in pairwise(frames):
            if frame.number not in self._labels:
                label = story.label(before, frame, self.topic, self.partition)
                self._labels[frame.number] = label
            marks.append([frame.number, self._labels[frame.number]])
        return [mark for mark in marks if mark[1]]

    def _ipython_display_(self, **kwargs: Any) -> None:
        """Puts out the still picture and the live panel, in this order.

        If an output has a live form, JupyterLab shows nothing else, and after a restart of the
        kernel the live form is gone.  So the still is an output of its own; the panel's
        style hides it as long as a live panel follows it.
        """
        bundle, _ = self._repr_mimebundle_()
        live = {VIEW: bundle.pop(VIEW), "text/plain": still.RERUN}
        display(bundle, raw=True)
        display(live, raw=True)

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """The live widget, and for places without a kernel a still picture and the text."""
        live = super()._repr_mimebundle_(**kwargs)
        bundle, metadata = live if isinstance(live, tuple) else (live or {}, {})
        picture = still.draw(self._scene, self._caption)
        return {**bundle, "text/plain": self.text, "image/svg+xml": picture}, metadata


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
