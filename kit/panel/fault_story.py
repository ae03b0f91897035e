"""Puts a fault of a process, a disk, a clock or a link into words.

A fault's line in the trace is enough; no partition is needed.  The steps that follow it tell
what the fault does to records (kit/panel/step_story.py).
"""

from __future__ import annotations

from collections.abc import Sequence

from kit.film.source import Line
from kit.film.words import join


def tell_fault(line: Line, beside: Sequence[Line]) -> tuple[str, str] | None:
    """A fault's sentence and its short name; `beside` are the lines of the same step.

    None for a line that tells of no fault.
    """
    node = line.node
    match line.kind:
        case "killed":
            return f"{node} is **killed**. Its log stays on its disk as it is.", f"kill {node}"
        case "power-lost":
            said = f"{node} **loses power**: what was not flushed to its disk is gone."
            return said, f"{node} dark"
        case "defect":
            return f"{node} met a **defect** of the engine: {line.why}.", f"{node}: a defect"
        case "disk-failed":
            return f"{node} **dies** of an error: {line.why}.", f"{node} dies"
        case "delay" | "drop" | "duplicate" | "strand" | "reorder":
            return f"A fault on the link from {node}: {line.why}.", line.kind
        case "disk-replaced":
            said = (
                f"{node} gets a **new disk**: it is empty, and everything on the old one is gone."
            )
            return said, f"new disk {node}"
        case "add-voter":
            return f"An operator makes {node} a **voter**: {line.why}.", f"add voter {node}"
        case "remove-voter":
            said = f"An operator takes {node} from the **voters**: {line.why}."
            return said, f"remove voter {node}"
        case "disk-freed":
            return f"There is room on {node}'s disk again.", f"room on {node}"
        case "written-back":
            said = f"{node}'s machine writes its cached pages to the disk: {line.why}."
            return said, f"write back {node}"
        case "clock" | "bit-flipped" | "disk-full":
            return f"A fault at {node}: {line.why}.", line.kind
        case "stopping":
            said = f"{node} is asked to stop: it hands its leaderships over first."
            return said, f"stop {node}"
        case "stopped":
            return f"{node} has stopped cleanly, with its files flushed and closed.", ""
        case "started":
            return f"{node} starts, with the log that is on its disk.", f"start {node}"
        case "paused":
            said = f"{node} is paused: its process is there, but it neither reads nor sends."
            return said, f"pause {node}"
        case "resumed":
            said = f"{node} resumes where it was paused, and does not know what it missed."
            return said, f"resume {node}"
        case "cut" if line["to"] is not None:
            said = f"The way from {node} to {line['to']} is **cut**; the way back is not."
            return said, f"cut {node}→{line['to']}"
        case "cut" | "slow" | "healed":
            return _links(line, beside)
    return None


def _links(line: Line, beside: Sequence[Line]) -> tuple[str, str]:
    """One link, or several that one action cut or healed together."""
    pairs = [
        (each.node, each["peer"]) for each in beside if each.kind == line.kind and each["peer"]
    ]
    ends = [peer for node, peer in pairs if node == line.node]
    if len(pairs) == 1:
        links, are = f"The link between {line.node} and {ends[0]}", "is"
    elif len(pairs) == len(ends):
        links, are = f"The links between {line.node} and each of {join(ends)}", "are"
    else:
        links = f"The links between {join(sorted({each for pair in pairs for each in pair}))}"
        are = "are"
    label = f"{line.node}–{' '.join(map(str, ends))}"
    match line.kind:
        case "cut":
            said = f"{links} {are} **cut**: no message gets through."
            return said, f"cut {label}"
        case "slow":
            return f"{links} {are} slow now.", f"slow {label}"
    return f"{links} {are} healed; the messages that were held back are delivered.", f"heal {label}"
