"""Packs recordings of a group for a browser: everything a picture needs, each thing once.

A *take* is one timeline: its frames, their sentences, its bars.  A film has one take or two, and
moments, the slider's positions (kit/film/moments.py).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from kit.film import film
from kit.film.film import Told
from kit.film.moments import merge
from kit.film.pool import Pool, line_with_source
from kit.film.source import Frame
from kit.group_panel import controls, members, story, text, trace_lines
from kit.group_panel.ownership import Ownership
from kit.group_panel.recording import GroupRecording
from kit.group_panel.scene import build
from kit.group_panel.seats import name_of
from kit.group_panel.story import seconds

POOLS = ("facts", "members", "pieces", "lags")


@dataclass
class Take:
    """One timeline of a group."""

    recording: GroupRecording
    frames: list[Frame]
    told: list[Told]
    ownership: Ownership

    @classmethod
    def of(cls, recording: GroupRecording, past: Take | None = None, at: int = 0) -> Take:
        """`past` up to its frame `at` is what happened before this take begins."""
        ownership = Ownership()
        if past is not None:
            ownership.follow(past.frames[: at + 1])
            ownership.last = -1
        told = []
        for place, frame in enumerate(recording.frames):
            ownership.follow([frame])
            before = recording.frames[place - 1] if place else None
            told.append(story.tell(before, frame, recording.topic, ownership))
        return cls(recording, recording.frames, told, ownership)

    @property
    def protocols(self) -> str:
        """How its members join."""
        clients = [each.protocol for each in self.recording.beliefs.values()]
        return ", ".join(dict.fromkeys(clients)) or "no member"

    def cost(self, since_us: int) -> str:
        """What the pauses from a moment on come to."""
        last = self.frames[-1].time_us
        pauses = [each for each in self.ownership.pauses(self.recording.topic)
                  if each.start_us >= since_us]  # fmt: skip
        if not pauses:
            return "no partition stopped"
        whole = sum(each.lasts_us(last) for each in pauses)
        times = "once" if len(pauses) == 1 else f"**{len(pauses)}** times"
        return f"partitions stopped {times}, for **{seconds(whole)}** in all"


@dataclass
class Film(film.Film):
    """A film of timelines of this kind."""

    @classmethod
    def of(cls, first: GroupRecording, second: GroupRecording | None = None, at: int = 0) -> Film:
        one = Take.of(first)
        if second is None:
            return cls([one], merge(one.frames))
        other = Take.of(second, one, at)
        other.told[0] = film.FORK
        return cls([one, other], merge(one.frames, other.frames, at), at)

    @property
    def compared(self) -> str:
        """What the two timelines cost, from the fork on."""
        if len(self.takes) < 2:
            return ""
        since = self.takes[1].frames[0].time_us
        costs = [f"timeline {number + 1} ({take.protocols}): {take.cost(since)}"
                 for number, take in enumerate(self.takes)]  # fmt: skip
        return f"From the fork on, {'; '.join(costs)}."

    def to_plain(self) -> dict[str, Any]:
        """The film as plain data."""
        pools = {name: Pool() for name in POOLS}
        sources: dict[str, Any] = {}
        recording, start = self.takes[0].recording, self.takes[0].frames[0].time_us
        return {
            "group": recording.group,
            "topic": recording.topic,
            "takes": [self._take(take, pools, sources, start) for take in self.takes],
            "moments": [[each.first, each.second] for each in self.moments],
            "forked_at": self.forked_at,
            "compared": self.compared,
            "pools": {name: pool.things for name, pool in pools.items()},
            "sources": sources,
            "protocols": list(members.PROTOCOLS),
        }

    def _take(
        self, take: Take, pools: dict[str, Pool], sources: dict[str, Any], start: int
    ) -> dict[str, Any]:
        topic, last = take.recording.topic, take.frames[-1]
        return {
            "name": take.protocols,
            "steps": [
                _step(take, place, pools, sources, start) for place in range(len(take.frames))
            ],
            "end": last.time_us - start,
            "rows": {
                index: [
                    [max(0, begin - start), end - start, kind,
                     owner if owner in last.snapshot["clients"] else name_of(last.snapshot, owner)]
                    for begin, end, kind, owner in row
                ]
                for index, row in take.ownership.spans(topic, last.time_us).items()
            },
        }  # fmt: skip


def _step(
    take: Take, place: int, pools: dict[str, Pool], sources: dict[str, Any], start: int
) -> dict[str, Any]:
    frame, told = take.frames[place], take.told[place]
    scene = build(frame.snapshot, take.recording.topic)
    plain, cards = scene.to_plain(), []
    for card, member in zip(plain["members"], scene.members, strict=True):
        card["buttons"] = [asdict(button) for button in controls.buttons(member)]
        card["text"] = text.member(scene, member)
        cards.append(pools["members"].place(card))
    lines = [
        line_with_source(line, trace_lines.say(line, frame.snapshot), sources)
        for line in frame.lines
        if trace_lines.concerns(line, frame.snapshot["id"])
    ]
    return {
        "t": frame.time_us - start,
        "event": frame.event,
        "facts": pools["facts"].place(plain["facts"]),
        "members": cards,
        "pieces": pools["pieces"].place(plain["pieces"]),
        "lags": [pools["lags"].place(each) for each in plain["lags"]],
        "caption": told.sentence,
        "label": told.label,
        "lines": lines,
    }
