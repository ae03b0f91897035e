"""The trace beside the picture: each line of the engine's story, short enough for a margin."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kit.film.source import Frame, Line

QUIET = frozenset({"fetch", "heartbeat"})


def say(line: Line) -> str:
    """A trace line in a few words, without its time and place."""
    match line.kind:
        case "append":
            base, last = line["base"], line["last"]
            which = str(base) if base == last else f"{base}–{last}"
            return f"append {which}{_epoch(line)}"
        case "truncate":
            was = line["was"] if line["was"] is not None else line["from"]
            return (
                f"truncate {was} → {line['to']}" if was is not None else f"truncate to {line['to']}"
            )
        case "high_watermark":
            return f"HW → {line['to']}"
        case "leader_epoch":
            return f"epoch {line['epoch']} starts at {line['start']}"
        case "isr":
            return f"ISR {' '.join(map(str, line['isr'] or [])) or 'empty'}"
        case "leader":
            leads = line["leader"] if line["leader"] is not None else line.node
            known = "leads" if leads == line.node else f"follows {leads}"
            return f"{known if leads != -1 else 'no leader'}{_epoch(line)}"
        case "diverging":
            return f"learns: epoch {line['epoch']} ends at {line['end']}"
        case "elected":
            reason = f" ({line['reason']})" if line["reason"] else ""
            return f"elects {line['leader']}{_epoch(line)}{reason}"
        case "controller":
            return f"leads the quorum{_epoch(line)}"
        case "active" | "follower":
            return f"{line.kind}{_epoch(line)}"
        case "resigned":
            return f"resigns{_epoch(line)}"
        case "registered" | "fenced" | "unfenced" if line["broker"] is not None:
            action = "registers" if line.kind == "registered" else line.kind.removesuffix("d") + "s"
            return f"{action} {line['broker']}"
        case "acknowledged":
            listed, first = line["values"] or (), line["offset"]
            where = f"{first}–{first + len(listed) - 1}" if len(listed) > 1 else f"{first}"
            return " ".join(["acknowledges", *listed, "at", where])
        case "refused":
            return f"refuses {' '.join(line['values'] or ())}: {line['says']}"
        case "topic-created" | "topic-deleted":
            return f"{line.kind.removeprefix('topic-').removesuffix('d')}s {line['topic']}"
        case "cut" | "slow" | "healed" if line["peer"] is not None:
            return f"{line.kind}: link to {line['peer']}"
        case _:
            shown = " ".join(f"{name}={value}" for name, value in (line.fields or {}).items())
            return f"{line.kind} {shown}".strip()


def _epoch(line: Line) -> str:
    return f", epoch {line['epoch']}" if line["epoch"] is not None else ""


def listing(
    frames: Sequence[Frame], number: int, topic: str, partition: int, most: int = 40
) -> list[dict[str, Any]]:
    """The newest lines up to a frame that concern a partition or the whole cluster."""
    here, start = f"{topic}-{partition}", frames[0].time_us
    listed: list[dict[str, Any]] = []
    for frame in reversed(frames[: number - frames[0].number + 1]):
        for line in reversed(frame.lines):
            if line.kind in QUIET or line.partition not in ("", here):
                continue
            listed.append(
                {
                    "at": f"{max(0, line.time_us - start) / 1e6:.3f}",
                    "node": line.node,
                    "says": say(line),
                    "why": line.why,
                    "rule": line.rule,
                    "now": frame.number == number,
                }
            )
            if len(listed) == most:
                return listed[::-1]
    return listed[::-1]
