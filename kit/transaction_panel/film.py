"""Packs recordings of transactions for a browser: everything a picture needs, each thing once.

A *take* is one timeline: its frames and their sentences.  A film has one take or two, and moments,
the slider's positions (kit/film/moments.py).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from kit.film.moments import Moment, merge, new_steps, sentences
from kit.film.pool import Pool, line_with_source
from kit.film.source import Frame
from kit.transaction_panel import controls, story, text, trace_lines
from kit.transaction_panel.recording import TransactionRecording
from kit.transaction_panel.scene import EDGES, Scene, build
from kit.transaction_panel.story import Told

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
class Film:
    """One take or two, with the moments they make together."""

    takes: list[Take]
    moments: list[Moment]
    forked_at: int = -1

    @classmethod
    def of(
        cls, first: TransactionRecording, second: TransactionRecording | None = None, at: int = 0
    ) -> Film:
        one = Take.of(first)
        if second is None:
            return cls([one], merge(one.frames))
        other = Take.of(second)
        other.told[0] = Told("Timeline 2 begins: the same past, and another future.", "fork")
        return cls([one, other], merge(one.frames, other.frames, at), at)

    def frame(self, moment: Moment, take: int) -> Frame:
        """What a take shows at a moment."""
        shown, step = moment.shows(take)
        return self.takes[shown].frames[step]

    def told(self, place: int) -> list[tuple[int, Told]]:
        """The steps that are new at a moment, each with its take."""
        return [
            (take, self.takes[take].told[step]) for take, step in new_steps(self.moments, place)
        ]

    def captions(self, place: int) -> list[str]:
        """What is new at a moment, in words."""
        told = [(take, each.sentence, each.label == "fork") for take, each in self.told(place)]
        return sentences(self.moments[place], told)

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
