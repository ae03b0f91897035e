"""The Segment panel: a replica's folder, one batch of it opened, and look-ups step by step.

    from kit import lab
    panel = lab.segments(cluster, "orders", 0)      # the leader's files; broker=102: another's
    panel.open_batch(0, 3)                          # the fourth batch of segment 0
    panel.look_up(offset=1234)                      # and panel.look_up(time=1700000000000)
    print(panel.text)

Over a simulated world there is time travel: `panel.goto(20)` is the 21st moment of its recording,
`panel.jump("kill 101")` the next one of that name.

Without a choice the newest batch is open, and the panel follows the log.  A look-up keeps its
steps as they were when it was made, while the broker goes on writing.

All state is in traits, so a test needs no browser: `scene` is what is drawn; `segment` is a base
offset and `batch` a position in that segment's file (-1: the newest); `record` is the first record
that is opened, `step` the step of the look-up in view, `position` the moment of a recorded world.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

import traitlets

from engine.records.batch import CorruptBatch
from kit.film.live_panel import LivePanel
from kit.film.steps import plain
from kit.segment_panel import export, lookups, still, story, text
from kit.segment_panel.batches import RECORDS_SHOWN, Opened, open_batch
from kit.segment_panel.folder import Batch, OneSegment, Replica
from kit.segment_panel.lookups import LookUp
from kit.segment_panel.recording import WorldSource
from kit.segment_panel.scene import lookup_to_plain, to_plain
from kit.segment_panel.source import LiveSource, Source
from kit.segment_panel.wording import milliseconds

NEWEST = -1


class SegmentPanel(LivePanel):
    """A live picture of one replica's files."""

    _esm = export.script()
    _css = export.style()

    scene = traitlets.Dict().tag(sync=True)
    segment = traitlets.Int(NEWEST).tag(sync=True)
    batch = traitlets.Int(NEWEST).tag(sync=True)
    record = traitlets.Int(0).tag(sync=True)
    step = traitlets.Int(0).tag(sync=True)
    position = traitlets.Int(NEWEST).tag(sync=True)

    def __init__(
        self,
        cluster: Any,
        topic: str,
        partition: int = 0,
        *,
        broker: int | None = None,
        interval_s: float = 0.5,
        source: Source | None = None,
    ) -> None:
        self._film: WorldSource | None = None
        if source is None and hasattr(cluster, "goto"):
            source = self._film = WorldSource(cluster, topic, partition, broker)
        self._source: Source = source or LiveSource(cluster, topic, partition, broker)
        super().__init__()
        self.topic, self.partition = topic, partition
        self._lookup: LookUp | None = None
        self._lookup_plain: dict[str, Any] = {}
        self._source.poll()  # what is not there is an error here, and a notice later
        self._begin(interval_s, "segment", "batch", "record", "step")
        self.observe(lambda change: self._travel(), ["position"])
        self._show()

    # -- looking

    def _look(self) -> bool:
        return self._source.poll()

    @property
    def broker(self) -> int:
        """The broker whose files are shown."""
        return self._source.broker

    @broker.setter
    def broker(self, broker: int) -> None:
        self._source.broker = broker
        with self.hold_trait_notifications():
            self.segment = self.batch = NEWEST
            self.record = 0
        self._forget()
        self.refresh()

    @property
    def replica(self) -> Replica:
        """The folder as it was when it was last looked at."""
        assert self._source.replica is not None
        return self._source.replica

    # -- the moments of a recorded world

    def __len__(self) -> int:
        """How many moments the timeline has; one on a running cluster."""
        return len(self._film.frames) if self._film else 1

    def __bool__(self) -> bool:
        return True

    def goto(self, place: int) -> None:
        """To a moment, counted from 0; -1 is the last."""
        if self._film is None:
            self.notice = "A running cluster has no timeline: lab.world() has one."
        else:
            self.position = min(max(0, place if place >= 0 else len(self) + place), len(self) - 1)

    def jump(self, words: str) -> bool:
        """To the next moment whose name has these words; False if there is none."""
        place = self._film.next_with(words) if self._film else None
        if place is None:
            self.notice = f"There is no {words!r} after this moment."
            return False
        self.goto(place)
        return True

    def _travel(self) -> None:
        if self._film is not None:
            at = self.position if self.position >= 0 else len(self) - 1
            self._film.place = min(at, len(self) - 1)
            self._film.poll()
            self._forget()
            self._show()

    # -- one batch

    def open_batch(self, segment: int, number: int = 0, record: int = 0) -> None:
        """Opens a batch by its segment's base offset and its number there, from `record` on."""
        found = self.replica.segment(segment)
        if found is None:
            bases = ", ".join(str(each.base_offset) for each in self.replica.segments)
            self.notice = f"No segment begins at {segment}; there are {bases}."
        elif not found.batches:
            self._choose(segment, 0, 0)
        else:
            number = min(max(number, -len(found.batches)), len(found.batches) - 1)
            self._choose(segment, found.batches[number].position, record)

    def walk(self, by: int) -> None:
        """To a neighboring batch, across segments."""
        every = [(s.base_offset, b.position) for s in self.replica.segments for b in s.batches]
        segment, batch = self._chosen()
        if not every or segment is None:
            return
        here = (segment.base_offset, batch.position if batch else 0)
        at = max(0, bisect_right(every, here) - 1) + by
        if not 0 <= at < len(every):
            self.notice = "That is the log's end." if by > 0 else "That is the log's beginning."
        else:
            self._choose(*every[at], 0)

    def turn(self, by: int) -> None:
        """To the records before or behind those that are opened."""
        opened = self.opened
        if opened is not None:
            most = max(0, opened.header.records_count - 1)
            self.record = min(max(0, opened.first + by * RECORDS_SHOWN), most)

    def follow(self) -> None:
        """Back to the newest batch, and on with each newer one."""
        self._choose(NEWEST, NEWEST, 0)

    def _choose(self, segment: int, batch: int, record: int) -> None:
        with self.hold_trait_notifications():
            self.segment, self.batch, self.record = segment, batch, record
        self.notice = ""

    def _chosen(self) -> tuple[OneSegment | None, Batch | None]:
        """The segment and the batch in view; the newest if none was chosen."""
        replica = self.replica
        if self.segment == NEWEST:
            held = [each for each in replica.segments if each.batches]
            if held:
                return held[-1], held[-1].batches[-1]
            return (replica.segments[-1], None) if replica.segments else (None, None)
        found = replica.segment(self.segment)
        batches = found.batches if found else ()
        return found, next((each for each in batches if each.position == self.batch), None)

    @property
    def opened(self) -> Opened | None:
        """The batch in view, opened; None if there is none."""
        segment, batch = self._chosen()
        if segment is None or batch is None:
            return None
        replica = self.replica
        path = f"{replica.directory}/{segment.name}"
        try:
            data = replica.moment.read(path, batch.position, batch.size)
            if len(data) < batch.size:
                return None
            return open_batch(data, batch.position, self.record)
        except (FileNotFoundError, CorruptBatch):
            return None

    # -- a look-up

    def look_up(self, *, offset: int | None = None, time: int | str | None = None) -> str:
        """Looks an offset up, or a time (milliseconds, or `2026-11-23 08:44:16` in UTC).

        Gives the answer.  The steps are in `text`, and `go` goes through them in the picture.
        """
        try:
            if offset is not None:
                found = lookups.of_offset(self.replica, int(offset))
            else:
                found = lookups.of_timestamp(self.replica, milliseconds(time))
            self._lookup_plain = lookup_to_plain(self.replica, found)
        except ValueError as error:
            self.notice = str(error)
            return self.notice
        except FileNotFoundError:
            self.notice = "The files changed in between. Look again."
            return self.notice
        self._lookup, self.notice = found, ""
        if found.position >= 0:
            self._choose(found.segment, found.position, self._record_of(found))
        self.step = 0
        self._show()
        return found.answer

    def go(self, step: int) -> None:
        """To a step of the look-up, counted from 0; -1 is the last."""
        count = len(self._lookup.steps) if self._lookup else 0
        self.step = min(max(0, step if step >= 0 else count + step), max(0, count - 1))

    def _record_of(self, found: LookUp) -> int:
        """The window of records with the offset in it, unless compaction has left gaps."""
        segment = self.replica.segment(found.segment)
        batches = segment.batches if segment else ()
        for batch in batches:
            if batch.position == found.position:
                number = max(0, found.offset - batch.header.base_offset)
                return number - number % RECORDS_SHOWN
        return 0

    def _forget(self) -> None:
        self._lookup, self._lookup_plain, self.step = None, {}, 0

    # -- talking with the browser

    def _hear(self, widget: Any, content: dict[str, Any], buffers: Any) -> None:
        if self._film is None or content.get("type") != "watch":  # a film does not change
            super()._hear(widget, content, buffers)

    def _do(self, content: dict[str, Any]) -> None:
        match content:
            case {"type": "open", "segment": int(segment), "position": int(position)}:
                self._choose(segment, position, 0)
            case {"type": "end", "last": bool(last)}:
                held = [each.base_offset for each in self.replica.segments if each.batches]
                if held:
                    self.open_batch(held[-1 if last else 0], -1 if last else 0)
            case {"type": "walk", "by": int(by)}:
                self.walk(by)
            case {"type": "turn", "by": int(by)}:
                self.turn(by)
            case {"type": "follow"}:
                self.follow()
            case {"type": "look_up", "what": "offset", "value": str(value)}:
                if value.strip().lstrip("-").isdigit():
                    self.look_up(offset=int(value))
                else:
                    self.notice = f"{value!r} is no offset: type a number, such as 42."
            case {"type": "look_up", "value": str(value)}:
                self.look_up(time=value)
            case {"type": "forget"}:
                self._forget()
                self._show()
            case {"type": "broker", "broker": int(broker)}:
                self.broker = broker

    # -- showing

    @property
    def title(self) -> str:
        return f"{self.topic}-{self.partition} on broker {self.broker}"

    @property
    def text(self) -> str:
        """The panel in words, for readers without a picture."""
        chosen, _ = self._chosen()
        said = text.render(
            self.title, self.replica, self._source.known, chosen, self.opened, self._lookup
        )
        lines = [said, plain(self.caption)]
        if self._film is not None:
            place = f"moment {self._film.place + 1} of {len(self)}, {self._film.seconds:.3f} s"
            lines.insert(0, f"{place}: {plain(self._film.sentence)}")
        return "\n".join(lines)

    @property
    def caption(self) -> str:
        """One sentence on what is in view."""
        segment, _ = self._chosen()
        return story.caption(self.broker, self.replica, segment, self.opened)

    def _show(self) -> None:
        chosen, _ = self._chosen()
        with self.hold_sync():
            self.scene = {
                **to_plain(self.replica, self._source.known, chosen, self.opened),
                "lookup": self._lookup_plain,
                "title": f"{self.topic}-{self.partition}",
                "broker": self.broker,
                "brokers": self._source.brokers,
                "follows": self.segment == NEWEST,
                "timeline": self._timeline(),
                "caption": self.caption,
                "text": self.text,
            }

    def _timeline(self) -> dict[str, Any] | None:
        film = self._film
        if film is None:
            return None
        return {
            "at": film.place,
            "last": len(self) - 1,
            "seconds": film.seconds,
            "says": film.sentence,
            "marks": [list(mark) for mark in film.marks],
        }

    def _picture(self) -> str:
        chosen, _ = self._chosen()
        return still.draw(
            self.title, self.replica, self._source.known, chosen, self.opened, self.caption
        )
