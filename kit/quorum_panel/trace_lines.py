"""The trace beside the picture: what the controllers did, short enough for a margin."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engine.quorum.election_state import NONE
from engine.quorum.roles import Role
from kit.film.source import Frame, Line
from kit.panel import trace_lines

LINES_MOST = 40


def say(line: Line) -> str:
    """A trace line in a few words, without its time and place."""
    if line.kind in list(Role):
        return f"{line.kind}, epoch {line['epoch']}"
    match line.kind:
        case "heard":
            asks = "would you vote?" if line["what"] == "prevote" else "no"
            return f"← {line['from']}: {asks}"
        case "voted":
            return f"votes for {line['candidate']}, epoch {line['epoch']}"
        case "truncated":
            return f"truncate {line['before']} → {line['to']}"
        case "elected" if line["leader"] == NONE:
            return f"{line.partition}: no leader, epoch {line['epoch']}"
        case "eligible":
            named = " ".join(map(str, line["elr"] or ())) or "empty"
            return f"{line.partition}: ELR {named}"
    return " ".join(each for each in (line.partition, trace_lines.say(line)) if each)


def listing(frames: Sequence[Frame], number: int) -> list[dict[str, Any]]:
    """The newest lines up to a frame."""
    listed: list[dict[str, Any]] = []
    for frame in reversed(frames[: number - frames[0].number + 1]):
        for line in reversed(frame.lines):
            if len(listed) == LINES_MOST:
                return listed[::-1]
            listed.append(
                {
                    "at": f"{max(0, line.time_us - frames[0].time_us) / 1e6:.3f}",
                    "node": line.node,
                    "says": say(line),
                    "why": line.why,
                    "rule": line.rule,
                    "now": frame.number == number,
                }
            )
    return listed[::-1]
