"""Packs recordings of the quorum for a browser, in the shape of kit/panel/film.py.

Two timelines are drawn over the same offsets, so a moment has its view: columns, and records.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from kit.film import film
from kit.film.film import FORK
from kit.film.flights import Flight
from kit.film.moments import Moment, merge
from kit.film.pool import Pool, line_with_source
from kit.film.source import Frame
from kit.panel.film import BY_WEIGHT
from kit.panel.moments import Differs
from kit.panel.scene import records
from kit.panel.step_story import Caption
from kit.quorum_panel import controls, story, text, trace_lines
from kit.quorum_panel.recording import QuorumRecording
from kit.quorum_panel.scene import Column, Scene, build, columns, entries
from kit.quorum_panel.standings import leader_of

POOLS = ("cells", "rows", "heads", "strips", "controls", "diffs", "views")


@dataclass
class Take:
    """One timeline: its frames and their sentences."""

    recording: QuorumRecording
    frames: list[Frame]
    told: list[Caption]

    @classmethod
    def of(cls, recording: QuorumRecording) -> Take:
        frames = recording.frames
        befores = [None, *frames]
        told = [story.tell(was, frame) for was, frame in zip(befores, frames, strict=False)]
        return cls(recording, frames, told)

    @cached_property
    def scenes(self) -> list[Scene]:
        return [build(frame.snapshot) for frame in self.frames]


@dataclass
class Film(film.Film):
    """A film of the quorum."""

    @classmethod
    def of(
        cls,
        first: QuorumRecording,
        second: QuorumRecording | None = None,
        forked_from: Frame | None = None,
    ) -> Film:
        one = Take.of(first)
        if second is None or forked_from is None:
            return cls([one], merge(one.frames))
        other = Take.of(second)
        other.told[0] = Caption(FORK.sentence, FORK.label, "fork")
        at = forked_from.number
        return cls([one, other], merge(one.frames, other.frames, at), at)

    def weight(self, told: Caption) -> int:
        return BY_WEIGHT.index(told.mark)

    def flights(self, take: int) -> list[Flight]:
        """A take's messages, also those in flight at the fork."""
        found = list(self.takes[take].recording.flights)
        if take:
            began = self.takes[1].frames[0].time_us
            past = self.takes[0].recording.flights
            found = [each for each in past if each.sent_us <= began and not each.held] + found
        return found

    def scene(self, moment: Moment, take: int) -> Scene:
        shown, step = moment.shows(take)
        scene: Scene = self.takes[shown].scenes[step]
        return scene

    def differs(self, moment: Moment) -> Differs | None:
        """What differs at a moment; None where there is one timeline."""
        if not moment.active:
            return None
        one, other = (self.frame(moment, take).snapshot["voters"] for take in (0, 1))
        return Differs(tuple(_cells(one, other)), _compared(one, other))

    def columns(self, moment: Moment) -> tuple[Column, ...]:
        """The offsets that are drawn at a moment: those where the two timelines part, if any."""
        if (found := self.differs(moment)) is None:
            return self.scene(moment, 0).columns
        rows = [row for take in (0, 1) for row in self.scene(moment, take).rows]
        apart = [offsets[0] for _, offsets in found.cells]
        apart += [cell.offset for row in rows for cell in row.cells if cell.parted]
        return columns(rows, min(apart, default=None))

    # -- plain data

    def _view(self, moment: Moment) -> dict[str, Any]:
        """What a moment shows: the offsets, and the records there in words."""
        shown = self.columns(moment)
        rows = self.scene(moment, moment.active).rows
        return {
            "columns": [asdict(each) for each in shown],
            "entries": [asdict(each) for each in entries(rows, shown)],
        }

    def to_plain(self) -> dict[str, Any]:
        """The film as plain data."""
        pools = {name: Pool() for name in POOLS}
        sources: dict[str, Any] = {}
        start = self.takes[0].frames[0].time_us
        differ = [self.differs(moment) for moment in self.moments]
        parts = [place for place, each in enumerate(differ) if each and each.cells]
        takes = []
        for number, take in enumerate(self.takes):
            steps = [_step(take, at, pools, sources, start) for at in range(len(take.frames))]
            seen = _in_view(self.flights(number), take.frames)
            flights = [_flight(each, start) for each in seen]
            takes.append({"rule": "", "steps": steps, "flights": flights})
        return {
            "topic": "quorum",
            "partition": 0,
            "partitions": [],
            "takes": takes,
            "moments": [[each.first, each.second] for each in self.moments],
            "forked_at": self.forked_at,
            "parts_at": parts[0] if parts else -1,
            "compared": [
                pools["diffs"].place({"cells": dict(each.cells), "says": each.sentence})
                if each
                else -1
                for each in differ
            ],
            "views": [pools["views"].place(self._view(moment)) for moment in self.moments],
            "pools": {name: pool.things for name, pool in pools.items()},
            "sources": sources,
            "rules": [],
        }


def _flight(flight: Flight, start: int) -> list[Any]:
    return [
        flight.sent_us - start,
        flight.arrives_us - start,
        flight.source,
        flight.destination,
        flight.message.kind,
        flight.message.brief,
        int(flight.held),
    ]


def _in_view(flights: Sequence[Flight], frames: Sequence[Frame]) -> Iterator[Flight]:
    """The messages that are in the air at a frame.

    While no controller leads, they ask each other all the time; what no picture shows is left out.
    """
    times = [frame.time_us for frame in frames]
    for each in flights:
        if bisect_right(times, each.arrives_us) > bisect_left(times, each.sent_us):
            yield each


def drawn(scene: Scene, refusals: Mapping[str, str], frame: Frame) -> dict[str, Any]:
    """A scene as plain data, with its buttons and what a screen reader says."""
    plain = scene.to_plain()
    for line, row in zip(plain["rows"], scene.rows, strict=True):
        line["controls"] = controls.of_row(refusals, frame.snapshot, row)
        line["vote"] = text.voted(row)
        line["text"] = text.row(row, scene.columns)
    return plain


def _step(
    take: Take, place: int, pools: Mapping[str, Pool], sources: dict[str, Any], start: int
) -> dict[str, Any]:
    frame, caption, scene = take.frames[place], take.told[place], take.scenes[place]
    plain, rows = drawn(scene, controls.OFFERED, frame), []
    for row in plain["rows"]:
        row["cells"] = [pools["cells"].place(cell) for cell in row["cells"]]
        row["controls"] = pools["controls"].place(row["controls"])
        rows.append(pools["rows"].place(row))
    head = {name: plain[name] for name in ("leader", "facts", "lacks")}
    lines = [line_with_source(line, trace_lines.say(line), sources) for line in frame.lines]
    return {
        "t": frame.time_us - start,
        "event": frame.event,
        "head": pools["heads"].place(head),
        "rows": rows,
        "strip": pools["strips"].place([]),
        "offsets": [0, len(plain["columns"])],
        "parts_at": plain["parts_at"],
        "caption": caption.sentence,
        "label": caption.label,
        "mark": caption.mark,
        "lines": lines,
        "source": next((line[4] for line in reversed(lines) if line[4]), ""),
    }


# -- two timelines


def _cells(
    one: Mapping[int, Any], other: Mapping[int, Any]
) -> Iterator[tuple[int, tuple[int, ...]]]:
    for each in one:
        here, there = records(one[each]), records(other[each])
        parted = [at for at in sorted({*here, *there}) if here.get(at) != there.get(at)]
        if parted:
            yield each, tuple(parted)


def _compared(one: Mapping[int, Any], other: Mapping[int, Any]) -> str:
    here, there = _leads(one), _leads(other)
    if here != there:
        return f"Timeline 1: {here}; timeline 2: {there}."
    if [each for each, _ in _cells(one, other)]:
        return "The same controller leads in the same epoch, and the logs differ."
    return "Leader, epoch and logs are the same in both."


def _leads(voters: Mapping[int, Any]) -> str:
    leader = leader_of(voters)
    return (
        "no controller leads" if leader < 0 else f"{leader} leads epoch {voters[leader]['epoch']}"
    )
