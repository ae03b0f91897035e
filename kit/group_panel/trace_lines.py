"""The trace beside the picture: what the coordinator decided, and what happened to members."""

from __future__ import annotations

from collections.abc import Sequence

from kit.film.source import Frame, Line, Snapshot
from kit.group_panel.seats import with_names

LINES_MOST = 40
NODES = frozenset(
    ("started", "stopping", "stopped", "killed", "paused", "resumed", "power-lost", "defect",
     "cut", "healed", "slow")
)  # fmt: skip
QUIET = frozenset(("polled", "heartbeat", "fetched", "sent", "answered", "received"))
SAYS = {
    "reads": "reads its first record of",
    "assigned": "gets",
    "revoked": "gives up",
    "lost": "has lost",
    "left": "has left",
    "thawed": "goes on",
}


def concerns(line: Line, group: str) -> bool:
    """Whether a line tells of the group, its members or a process."""
    if line["client"] is not None:
        return line.kind not in QUIET
    if line["group"] is not None:
        return bool(line["group"] == group)
    return line.kind in NODES and not line.partition


def listing(frames: Sequence[Frame], number: int) -> list[tuple[Line, str, bool]]:
    """The newest lines up to a frame: the line, its words, and whether it is of that frame."""
    listed: list[tuple[Line, str, bool]] = []
    began = frames[0].time_us
    for frame in reversed(frames[: number - frames[0].number + 1]):
        for line in reversed(frame.lines):
            if line.time_us < began or not concerns(line, frame.snapshot["id"]):
                continue
            if len(listed) < LINES_MOST:
                listed.append((line, say(line, frame.snapshot), frame.number == number))
        if len(listed) >= LINES_MOST:
            break
    return listed[::-1]


def say(line: Line, snapshot: Snapshot) -> str:
    """A line in a few words, without its time."""
    if line["client"] is not None:
        which = " ".join(short(line["partitions"] or ()))
        return f"{line['client']} {SAYS.get(line.kind, line.kind)} {which}".strip()
    if line.kind == "group":
        number = f" {line['generation']}" if line["generation"] is not None else ""
        return f"{line['state']}{number}: {with_names(line.why, snapshot)}".removesuffix(": ")
    fields = {name: part for name, part in (line.fields or {}).items() if name != "group"}
    shown = " ".join(f"{name}={part}" for name, part in fields.items())
    return with_names(f"{line.kind} {shown}".strip(), snapshot)


def short(partitions: Sequence[str]) -> list[str]:
    """Partitions by their numbers; of several topics by their full names."""
    parted = [each.rpartition("-") for each in partitions]
    one = len({topic for topic, _, _ in parted}) <= 1
    return [index if one else f"{topic}-{index}" for topic, _, index in parted]
