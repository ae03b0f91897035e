"""Packs recordings of transactions for a browser: everything a picture needs, each thing once.

A *take* is one timeline: its frames and their sentences.  A film has one take or two, and moments,
the slider's positions (kit/film/moments.py).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from kit.film import film
from kit.film.film import Told
from kit.film.moments import merge
from kit.film.pool import Pool, line_with_source
from kit.film.source import Frame
from kit.transaction_panel import controls, story, text, trace_lines
from kit.transaction_panel.recording import TransactionRecording
from kit.transaction_panel.scene import EDGES, Scene, build

POOLS = ("ids", "clients", "rows", "records", "readers")
LISTS = {"ids": "ids", "clients": "clients", "rows": "rows"}


@dataclass
class Take:
    """One timeline of transactions."""

    recording: TransactionRecording
    frames: list[Frame]
    told: list[Told]

    @classmethod
    def of(cls, recording: TransactionRecording) -> Take:
        frames = recording.frames
        befores = [None, *frames]
        told = [story.tell(was, frame) for was, frame in zip(befores, frames, strict=False)]
        return cls(recording, frames, told)


@dataclass
class Film(film.Film):
    """A film of timelines of this kind."""

    @classmethod
    def of(
        cls, first: TransactionRecording, second: TransactionRecording | None = None, at: int = 0
    ) -> Film:
        one = Take.of(first)
        if second is None:
            return cls([one], merge(one.frames))
        other = Take.of(second)
        other.told[0] = film.FORK
        return cls([one, other], merge(one.frames, other.frames, at), at)

    def to_plain(self) -> dict[str, Any]:
        """The film as plain data."""
        pools = {name: Pool() for name in POOLS}
        sources: dict[str, Any] = {}
        start = self.takes[0].frames[0].time_us
        return {
            "title": ", ".join(self.takes[0].recording.topics),
            "edges": EDGES,
            "takes": [
                {
                    "steps": [
                        _step(take, at, pools, sources, start) for at in range(len(take.frames))
                    ]
                }
                for take in self.takes
            ],
            "moments": [[each.first, each.second] for each in self.moments],
            "forked_at": self.forked_at,
            "pools": {name: pool.things for name, pool in pools.items()},
            "sources": sources,
        }


def drawn(scene: Scene) -> dict[str, Any]:
    """A scene as plain data, with its buttons and what a screen reader says."""
    plain = scene.to_plain()
    for card, one in zip(plain["ids"], scene.ids, strict=True):
        card["buttons"] = [asdict(button) for button in controls.of_id(one)]
    for card, client in zip(plain["clients"], scene.clients, strict=True):
        card["buttons"] = [asdict(button) for button in controls.of_client(client)]
        card["text"] = text.client(client)
    for line, row in zip(plain["rows"], scene.rows, strict=True):
        line["text"] = text.row(row)
    for line, reader in zip(plain["readers"], scene.readers, strict=True):
        line["text"] = text.reader(reader)
    return plain


def _step(
    take: Take, place: int, pools: dict[str, Pool], sources: dict[str, Any], start: int
) -> dict[str, Any]:
    frame, told = take.frames[place], take.told[place]
    plain = drawn(build(frame.snapshot, frame.lines))
    return {
        "t": frame.time_us - start,
        "event": frame.event,
        **{name: [pools[name].place(each) for each in plain[name]] for name in LISTS},
        "records": pools["records"].place(plain["records"]),
        "readers": pools["readers"].place(plain["readers"]),
        "empty": plain["empty"],
        "more": plain["more"],
        "facts": plain["facts"],
        "caption": told.sentence,
        "label": told.label,
        "lines": [line_with_source(line, trace_lines.say(line), sources) for line in frame.lines],
    }
