"""Packs recordings for a browser: everything a picture needs, each thing once.

Most of a scene is the same as in the step before.  So records, replicas and headings are
kept in pools, and a step only names their places.  A step costs some hundred bytes, and a
recording of a thousand steps is smaller than a photograph.  The film is plain data: it is
a widget's trait and the contents of an exported page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine.replication.truncation import RULES
from kit.clusters.faults import BUTTONS
from kit.film import film
from kit.film.flights import Flight
from kit.film.moments import Moment, merge
from kit.film.pool import Pool, line_with_source
from kit.film.source import Frame, Line, Snapshot
from kit.panel import controls, moments, step_story, text, trace_lines
from kit.panel.known import Known, known
from kit.panel.moments import Differs
from kit.panel.promises import Promise, promises
from kit.panel.recording import Recording
from kit.panel.scene import Controller, Row, build
from kit.panel.step_story import Caption

BY_WEIGHT = (
    "start",
    "",
    "write",
    "ack",
    "fault",
    "election",
    "parted",
    "truncation",
    "lost",
    "fork",
)
"""Kinds of steps, by weight."""
OFFERED = dict.fromkeys(BUTTONS, "")


@dataclass
class Take:
    """One timeline of one partition: its frames and their sentences."""

    recording: Recording
    frames: list[Frame]
    told: list[Caption]
    promised: list[tuple[Promise, ...]]
    known: list[Known]

    @classmethod
    def of(
        cls,
        recording: Recording,
        topic: str,
        partition: int,
        before: Sequence[Promise] = (),
        knew: Known | None = None,
    ) -> Take:
        """`before` is what clients had been promised, and `knew` what the replicas had known to
        be committed, before this take begins.
        """
        frames = moments.concerning(recording.frames, topic, partition)
        name = f"{topic}-{partition}"
        promised = [(*before, *each) for each in promises(frames, name)]
        by = known(frames, topic, partition, knew)
        told = [
            step_story.tell(
                frames[place - 1] if place else None,
                frame,
                topic,
                partition,
                promised[place],
                by[place - 1] if place else knew,
            )
            for place, frame in enumerate(frames)
        ]
        return cls(recording, frames, told, promised, by)


@dataclass
class Film(film.Film):
    """A film of one partition."""

    topic: str = ""
    partition: int = 0

    @classmethod
    def of(
        cls,
        topic: str,
        partition: int,
        first: Recording,
        second: Recording | None = None,
        forked_from: Frame | None = None,
    ) -> Film:
        one = Take.of(first, topic, partition)
        one.told[0] = step_story.begin(one.frames[0], topic, partition)
        if second is None or forked_from is None:
            return cls([one], merge(one.frames), topic=topic, partition=partition)
        earlier = [
            place for place, frame in enumerate(one.frames) if frame.number <= forked_from.number
        ]
        at = earlier[-1] if earlier else 0
        other = Take.of(second, topic, partition, one.promised[at], one.known[at])
        changed = f"truncation rule {second.rule}" if second.rule != first.rule else "the same rule"
        said = f"Timeline 2 begins: the same past, and from here on {changed}."
        other.told[0] = Caption(said, "fork", "fork")
        merged = merge(one.frames, other.frames, at)
        return cls([one, other], merged, at, topic, partition)

    def weight(self, told: Caption) -> int:
        return BY_WEIGHT.index(told.mark)

    def flights(self, take: int) -> list[Flight]:
        """A take's messages about the partition, also those in flight at the fork."""
        found = list(self.takes[take].recording.flights)
        if take:
            began = self.takes[1].frames[0].time_us
            past = self.takes[0].recording.flights
            found = [each for each in past if each.sent_us <= began and not each.held] + found
        return [each for each in found if each.message.partition == self.partition]

    def differs(self, moment: Moment) -> Differs | None:
        """What differs at a moment; None where there is one timeline."""
        if not moment.active:
            return None
        states = [
            moments.state_of(self.frame(moment, take), self.topic, self.partition)
            for take in (0, 1)
        ]
        made = self.takes[0].promised[moment.first], self.takes[1].promised[moment.second]
        return moments.compare(states[0], states[1], made)

    def to_plain(self) -> dict[str, Any]:
        """The film as plain data."""
        pools = {name: Pool() for name in ("cells", "rows", "heads", "strips", "controls", "diffs")}
        sources: dict[str, Any] = {}
        start_us = self.takes[0].frames[0].time_us
        takes = [self._take(number, pools, sources, start_us) for number in range(len(self.takes))]
        differ = [self.differs(moment) for moment in self.moments]
        compared = [
            pools["diffs"].place({"cells": dict(each.cells), "says": each.sentence}) if each else -1
            for each in differ
        ]
        parts = [place for place, each in enumerate(differ) if each and each.cells]
        state = self.takes[0].frames[-1].snapshot["topics"].get(self.topic, {})
        return {
            "topic": self.topic,
            "partition": self.partition,
            "partitions": sorted(state.get("partitions", {})),
            "takes": takes,
            "moments": [[each.first, each.second] for each in self.moments],
            "forked_at": self.forked_at,
            "parts_at": parts[0] if parts else -1,
            "compared": compared,
            "pools": {name: pool.things for name, pool in pools.items()},
            "sources": sources,
            "rules": list(RULES),
        }

    def _take(
        self, number: int, pools: Mapping[str, Pool], sources: dict[str, Any], start_us: int
    ) -> dict[str, Any]:
        take = self.takes[number]
        places = range(len(take.frames))
        return {
            "rule": take.recording.rule,
            "steps": [self._step(take, place, pools, sources, start_us) for place in places],
            "flights": [_flight(each, start_us) for each in self.flights(number)],
        }

    def _step(
        self,
        take: Take,
        place: int,
        pools: Mapping[str, Pool],
        sources: dict[str, Any],
        start_us: int,
    ) -> dict[str, Any]:
        frame, caption = take.frames[place], take.told[place]
        scene = build(frame, self.topic, self.partition)
        promised = {(each.offset, each.value) for each in take.promised[place]}
        plain, rows = scene.to_plain(), []
        for row, drawn in zip(plain["rows"], scene.rows, strict=True):
            for cell in row["cells"]:
                cell["promised"] = (cell["offset"], cell["value"]) in promised
            row["cells"] = [pools["cells"].place(cell) for cell in row["cells"]]
            row["controls"] = pools["controls"].place(_controls(frame.snapshot, drawn))
            row["text"] = text.row(drawn)
            rows.append(pools["rows"].place(row))
        shown = [line for line in frame.lines if self._shown(line)]
        lines = [line_with_source(line, trace_lines.say(line), sources) for line in shown]
        head = {name: plain[name] for name in ("leader", "leader_epoch", "facts", "controller")}
        if scene.controllers:
            head["controllers"] = [
                {**shown, **_controls(frame.snapshot, each)}
                for shown, each in zip(plain["controllers"], scene.controllers, strict=True)
            ]
        return {
            "t": frame.time_us - start_us,
            "event": frame.event,
            "head": pools["heads"].place(head),
            "rows": rows,
            "strip": pools["strips"].place(plain["strip"]),
            "offsets": plain["offsets"],
            "parts_at": plain["parts_at"],
            "caption": caption.sentence,
            "label": caption.label,
            "mark": caption.mark,
            "lines": lines,
            "source": _weightiest(shown, lines),
        }

    def _shown(self, line: Line) -> bool:
        return line.partition in ("", f"{self.topic}-{self.partition}")


def _weightiest(shown: Sequence[Line], lines: Sequence[list[Any]]) -> str:
    """The source of the line that the caption tells."""
    weights = [step_story.weight(line) for line in shown]
    return str(lines[weights.index(max(weights))][4]) if weights else ""


def _controls(snapshot: Snapshot, row: Row | Controller) -> dict[str, Any]:
    """A node's buttons and links to cut, where every fault is offered."""
    pressed = controls.buttons(OFFERED, row.state, row.id)
    linked = controls.links(OFFERED, snapshot, row.id)
    return {"buttons": [vars(each) for each in pressed], "links": [vars(each) for each in linked]}


def _flight(flight: Flight, start_us: int) -> list[Any]:
    source, destination = flight.source, flight.destination
    return [
        flight.sent_us - start_us,
        flight.arrives_us - start_us,
        source if isinstance(source, int) else "client",
        destination if isinstance(destination, int) else "client",
        flight.message.kind,
        flight.message.brief,
        int(flight.held),
    ]
