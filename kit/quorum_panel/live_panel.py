"""The Quorum panel over a running cluster.

    from kit import lab
    cluster = lab.engine(controllers=3)
    panel = lab.quorum(cluster)
    panel.press("kill", 200)

The engine says what each controller is and how far it knows its log to be committed.  Of a real
Kafka, DescribeQuorum says who leads and how far the log is committed, and each controller's own
file `quorum-state` what it remembers.  The logs' records come from the controllers' files, so those
must be within reach: the engine's and a local Kafka's are.

All state is in traits, so a test needs no browser: `scene` is what is drawn, `position` the place
on the timeline (-1: now).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from engine.records.batch import CorruptBatch
from engine.wire import uuids
from kit.clusters.data_dirs import data_dir
from kit.clusters.interface import ClusterError
from kit.film.live_panel import FramesPanel
from kit.film.source import Frame, LiveSource, Snapshot
from kit.panel import controls
from kit.panel.recording import CLUSTER_KINDS
from kit.probes.metadata_words import MetadataWords
from kit.quorum_panel import export, logs, still, story, text, trace_lines
from kit.quorum_panel.film import drawn
from kit.quorum_panel.logs import LogFiles, Stored
from kit.quorum_panel.scene import Scene, build
from kit.quorum_panel.view import of_quorum, remembered

FRAMES_KEPT = 240


class QuorumPanel(FramesPanel):
    """A live picture of a cluster's controllers."""

    _esm = export.live_script()
    _css = export.live_style()

    def __init__(self, cluster: Any, *, interval_s: float = 0.4) -> None:
        super().__init__()
        self.cluster = cluster
        self._refusals: dict[str, str] = {}
        self._words = MetadataWords()
        self._files: dict[int, LogFiles | None] = {}
        self._frames: list[Frame] = []
        self._source = LiveSource(cluster, FRAMES_KEPT, tail=0, shown=self._shown)
        self._begin(interval_s)
        self._look()  # what is not there is an error here, and a notice later
        self._show()

    # -- looking

    @property
    def frames(self) -> Sequence[Frame]:
        return self._frames

    def _look(self) -> bool:
        self._refusals = controls.offered(self.cluster)
        if not self._source.poll():
            return False
        frame = self._source.frames[-1]
        voters = frame.snapshot["voters"]
        lines = [line for line in frame.lines if line.node in voters
                 or (not line.partition and line.kind in CLUSTER_KINDS)]  # fmt: skip
        number = self._frames[-1].number + 1 if self._frames else 0
        if self._frames and not lines and _is_quiet(self._frames[-1].snapshot, frame.snapshot):
            self._frames[-1] = replace(frame, number=number - 1, lines=self._frames[-1].lines)
        else:
            self._frames = [*self._frames[1 - FRAMES_KEPT :],
                            replace(frame, number=number, lines=tuple(lines))]  # fmt: skip
        return True

    def _shown(self, whole: Snapshot) -> Snapshot:
        self._words.names |= {
            uuids.from_text(topic["id"]): name for name, topic in whole["topics"].items()
        }
        known, held = {}, {}
        for each, seen in whole.get("controllers", {}).items():
            files = self._files_of(each)
            if files is not None:
                held[each] = self._read(each, files)
                if "voted" not in seen:  # a Kafka, seen from outside
                    seen = {**seen, **remembered(files.folder.parent, each)}
            known[each] = seen
        before = self._frames[-1].snapshot if self._frames else None
        return of_quorum({**whole, "controllers": known}, held, before)

    def _files_of(self, controller: int) -> LogFiles | None:
        """The files of a controller; None if they cannot be read from here."""
        if controller not in self._files:
            try:
                folder: Path | None = data_dir(self.cluster, controller)
            except ClusterError:
                folder = None
            self._files[controller] = LogFiles(folder, self._words) if folder else None
        return self._files[controller]

    def _read(self, controller: int, files: LogFiles) -> Sequence[Stored]:
        """The newest batches; what was known while the files change under the reader."""
        try:
            return tuple(files.read())
        except (OSError, CorruptBatch):
            return tuple(files.batches)

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
    def picture(self) -> Scene:
        """What is drawn of the moment in view."""
        return build(self.frame.snapshot)

    @property
    def text(self) -> str:
        """The panel in words, for readers without a picture."""
        return text.render(self.picture, self._caption)

    def _show(self) -> None:
        frames, frame = self._frames, self.frame
        self._caption = story.caption(frames, frame.number)
        with self.hold_sync():
            self.scene = self._plain(frame)
            self.timeline = {
                "first": frames[0].number,
                "last": frames[-1].number,
                "at": frame.number,
                "marks": self._marks(),
            }

    def _plain(self, frame: Frame) -> dict[str, Any]:
        """What the browser draws, as plain data."""
        plain = drawn(self.picture, self._refusals, frame)
        for row in plain["rows"]:
            row |= row.pop("controls")
        return {
            **plain,
            "offsets": [0, len(plain["columns"])],
            "caption": self._caption,
            "text": self.text,
            "time": self._since_start(frame),
            "trace": trace_lines.listing(self._frames, frame.number),
        }

    def _marks(self) -> list[list[Any]]:
        """The timeline's named events."""
        named = self._named(self._frames, lambda before, frame: story.tell(before, frame).label)
        return [[frame.number, said] for frame, said in named]

    def _picture(self) -> str:
        return still.draw(self.picture, self._caption)


def _is_quiet(was: Snapshot, now: Snapshot) -> bool:
    """Whether nothing is new but NoOps, and how far they are committed."""
    return _news(was) == _news(now)


def _news(snapshot: Snapshot) -> list[Any]:
    return [snapshot["links"], *(_voter_news(each) for each in snapshot["voters"].values())]


def _voter_news(voter: Any) -> list[Any]:
    facts = [voter.get(name) for name in ("state", "role", "epoch", "leader", "voted", "is_active")]
    kept = [each for each in voter["batches"] if not logs.is_quiet(each)]
    last = kept[-1]["last_offset"] if kept else -1
    return [*facts, last, kept[-1]["epoch"] if kept else -1, voter.get("high_watermark", -1) > last]
