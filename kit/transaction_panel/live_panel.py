"""The Transaction panel over a running cluster, or over a broker's data directory.

    from kit import lab
    panel = lab.transactions(cluster, "accounts")
    panel.start("transfer")                     # a real producer, in a process of its own
    panel.press("begin", "app")                 # what a button does
    panel.send("app", "Alice -10", partition=0)
    panel.press("commit", "app")
    panel.start("transfer")                     # a second one: the first is a zombie now
    panel.press("kill", "app-2"); panel.kill(101)

    lab.transactions("/var/lib/kafka/data")     # one broker's directory, as it is now

It shows every transactional id of the cluster, also those of other programs.  What a producer
believes is known of the panel's own.  Batches and markers come from the brokers' files
(`folders.py`), so those must be within reach: the engine's and a local Kafka's are.

All state is in traits, so a test needs no browser: `scene` is what is drawn, `position` the place
on the timeline (-1: now).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import traitlets

from kit.clusters.interface import ClusterError
from kit.film.live_panel import FramesPanel
from kit.film.pool import line_with_source
from kit.film.source import Frame, Line, LiveSource, Snapshot
from kit.transaction_panel import controls, export, still, story, text, trace_lines
from kit.transaction_panel.film import drawn
from kit.transaction_panel.folders import Folders, of_cluster, of_folder
from kit.transaction_panel.producer_processes import ProducerProcesses
from kit.transaction_panel.scene import EDGES, Scene, build
from kit.transaction_panel.view import Word

FRAMES_KEPT = 480
FILES_ONLY = "These are the files of a broker: nothing can be done to them here."
GROUP = "panel"
CALLS = {
    "begin": "begin_transaction",
    "commit": "commit_transaction",
    "abort": "abort_transaction",
}


class TransactionPanel(FramesPanel):
    """A live picture of a cluster's transactions."""

    _esm = export.live_script()
    _css = export.style()

    sources = traitlets.Dict().tag(sync=True)

    def __init__(
        self,
        cluster: Any,
        *topics: str,
        interval_s: float = 0.3,
        settings: Mapping[str, Any] | None = None,
        processes: Any = None,
    ) -> None:
        """`cluster` or a data directory; `settings` are the panel's own producers' beside the
        kit's.
        """
        super().__init__()
        self.cluster, self.topics = cluster, topics
        self.is_folder = isinstance(cluster, str | Path)
        self.processes = processes or ProducerProcesses(getattr(cluster, "bootstrap", ""), settings)
        self._folders = Folders()
        self._frames: list[Frame] = []
        self._sent = 0
        self._is_traced = False
        source = _Directory(cluster, topics) if self.is_folder else cluster
        self._source = LiveSource(
            source, FRAMES_KEPT, tail=0, shown=self._shown, more=self.processes.lines
        )
        self._begin(interval_s)
        self._look()  # what is not there is an error here, and a notice later
        self._show()

    # -- looking

    @property
    def frames(self) -> Sequence[Frame]:
        return self._frames

    def _end(self) -> None:
        self.processes.close()

    def _look(self) -> bool:
        if not self._source.poll():
            return False
        frame = self._source.frames[-1]
        before = self._frames[-1] if self._frames else None
        self._is_traced = self._is_traced or any(line.node >= 0 for line in frame.lines)
        told = _telling(frame) if self._is_traced or before is None else grown(before, frame)
        self._frames = [*self._frames[1 - FRAMES_KEPT :], told]
        return True

    def _shown(self, whole: Snapshot) -> Snapshot:
        if self.is_folder:
            return whole
        before = self._frames[-1].snapshot if self._frames else None
        words: Mapping[str, Word] = self.processes.words()
        return of_cluster(self.cluster, whole, self.topics, self._folders, words, before)

    # -- acting

    def start(self, transactional_id: str) -> str:
        """Starts a producer with this id; returns its name when init_transactions has returned."""
        self._check()
        return str(self.processes.start(transactional_id))

    def send(self, name: str, value: str, *, topic: str = "", partition: int = 0) -> None:
        """Sends a record; the panel's first topic unless another is named."""
        self._check()
        sent = self.processes.ask(
            name, "send", topic=topic or self._topic(), value=value, partition=partition
        )
        self.attention.carry_out(f"{name} sends {value}", sent.wait)

    def press(self, action: str, name: str) -> None:
        """What a producer's button does.  On the kernel's loop it returns at once."""
        if action not in controls.ACTIONS:
            named = ", ".join(controls.ACTIONS)
            self.notice = f"There is no button named {action!r}; there are {named}."
        elif self._is_now():
            try:
                self._check()
                act = self._act(action, name)
            except ClusterError as error:
                self.notice = str(error)
                return
            self.attention.carry_out(f"{action} {name}", act)

    def kill(self, broker: int) -> None:
        """Kills a broker, such as a coordinator."""
        self._check()
        self.attention.carry_out(f"kill {broker}", partial(self.cluster.kill, broker))

    def start_broker(self, broker: int) -> None:
        self._check()
        self.attention.carry_out(f"start {broker}", partial(self.cluster.start, broker))

    def _act(self, action: str, name: str) -> Callable[[], None]:
        """Hands a call over; what is returned waits for it."""
        if action == "kill":
            return partial(self.processes.kill, name)
        if action == "send":
            self._sent += 1
            count = sum(each["topic"] == self._topic()
                        for each in self._frames[-1].snapshot["partitions"].values())  # fmt: skip
            where = (self._sent - 1) % max(1, min(count, 2))
            value = f"{name} {self._sent}"
            call = self.processes.ask(
                name, "send", topic=self._topic(), value=value, partition=where
            )
        elif action == "offsets":
            self._sent += 1
            call = self.processes.ask(
                name, "send_offsets_to_transaction", topic=self._topic(), partition=0,
                offset=self._sent, group=GROUP,
            )  # fmt: skip
        else:
            call = self.processes.ask(name, CALLS[action])
        return call.wait

    def _topic(self) -> str:
        shown = [each["topic"] for each in self._frames[-1].snapshot["partitions"].values()]
        found = [*self.topics, *shown]
        if not found:
            raise ClusterError("There is no topic yet: create one first.")
        return str(found[0])

    def _check(self) -> None:
        if self.is_folder:
            raise ClusterError(FILES_ONLY)

    def _do(self, content: dict[str, Any]) -> None:
        match content:
            case {"type": "press", "action": str(action), "name": str(name)}:
                self.press(action, name)
            case {"type": "zombie" | "add", "id": str(name)} if name.strip():
                self.attention.carry_out(
                    f"start a producer {name.strip()}", partial(self._add, name)
                )
            case {"type": "broker", "action": "kill", "broker": int(broker)}:
                self.kill(broker)
            case {"type": "broker", "action": "start broker", "broker": int(broker)}:
                self.start_broker(broker)

    def _add(self, name: str) -> None:
        self.start(name.strip())

    # -- showing

    @property
    def picture(self) -> Scene:
        """What is drawn of the moment in view."""
        return build(self.frame.snapshot, self.frame.lines)

    @property
    def text(self) -> str:
        """The panel in words, for readers without a picture."""
        return text.render(self.picture, self._caption)

    def _show(self) -> None:
        frame = self.frame
        self._caption = story.caption(self._frames, frame.number)
        with self.hold_sync():
            self.scene = self._plain(frame)
            self.timeline = self._timeline(frame)

    def _plain(self, frame: Frame) -> dict[str, Any]:
        """What the browser draws, as plain data."""
        start, sources = self._frames[0].time_us, dict(self.sources)
        lines = [
            [(line.time_us - start) / 1e6, *line_with_source(line, said, sources), now]
            for line, said, now in trace_lines.listing(self._frames, frame.number)
        ]
        if len(sources) != len(self.sources):
            self.sources = sources
        plain = drawn(self.picture)
        if self.is_folder:
            for each in plain["ids"]:
                each["buttons"] = []
        return {
            **plain,
            "title": str(self.cluster) if self.is_folder else ", ".join(self.topics),
            "edges": EDGES,
            "caption": self._caption,
            "text": self.text,
            "time": self._since_start(frame),
            "trace": lines,
            "files": self.is_folder,
        }

    def _timeline(self, frame: Frame) -> dict[str, Any]:
        frames = self._frames
        first = frames[0].number
        rows: dict[str, list[list[Any]]] = {}
        for at, each in enumerate(frames):
            for name, known in each.snapshot["transactions"].items():
                spans = rows.setdefault(name, [])
                if spans and spans[-1][2] == known["state"] and spans[-1][1] == at:
                    spans[-1][1] = at + 1
                else:
                    spans.append([at, at + 1, known["state"]])
        return {
            "first": first,
            "last": frames[-1].number,
            "at": frame.number,
            "now": frame.number - first,
            "end": len(frames) - 1,
            "times": [[each.number, at] for at, each in enumerate(frames)],
            "rows": list(rows.items()),
            "marks": self._marks(),
        }

    def _marks(self) -> list[list[Any]]:
        """The timeline's named events."""
        named = self._named(self._frames, lambda before, frame: story.tell(before, frame).label)
        first = self._frames[0].number
        return [[frame.number, frame.number - first, said] for frame, said in named]

    def _picture(self) -> str:
        return still.draw(self.picture, self._caption)


class _Directory:
    """A data directory with a cluster's face."""

    def __init__(self, root: str | Path, topics: Sequence[str]) -> None:
        self.root, self.topics = root, topics

    def snapshot(self, values: bool = False, tail: int = 0) -> dict[str, Any]:
        return of_folder(self.root, self.topics)


def _telling(frame: Frame) -> Frame:
    """The frame with those lines of the trace that tell of transactions."""
    shown = {*frame.snapshot["partitions"]}
    shown |= {f"__transaction_state-{each['partition']}" for each in frame.snapshot["records"]}
    lines = [line for line in frame.lines
             if trace_lines.concerns(line, shown, line["client"] is not None)]  # fmt: skip
    return replace(frame, lines=tuple(lines))


def grown(before: Frame, frame: Frame) -> Frame:
    """The frame with what was written since the one before: for brokers that have no trace."""
    was, now, at = before.snapshot, frame.snapshot, frame.time_us
    lines = [line for line in frame.lines if line["client"] is not None]
    for name, partition in now["partitions"].items():
        end = was["partitions"].get(name, {"end": 0})["end"]
        lines += [Line(at, partition["leader"], "append", name, {"base": each["base"]})
                  for each in partition["batches"] if each["base"] >= end]  # fmt: skip
    known = {(each["partition"], each["offset"]) for each in was["records"]}
    states = {each["id"]: each["state"] for each in was["records"]}
    for each in now["records"]:
        if (each["partition"], each["offset"]) in known:
            continue
        fields = {name: each.get(name) for name in ("id", "state", "producer_id", "epoch",
                                                    "partitions")}  # fmt: skip
        fields["before"] = states.get(each["id"], "Empty")
        states[each["id"]] = each["state"]
        place = f"__transaction_state-{each['partition']}"
        lines.append(Line(at, -2, "transaction", place, fields))
    return replace(frame, lines=tuple(lines))
