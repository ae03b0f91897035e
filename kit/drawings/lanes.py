"""A sequence diagram as a table: a lane per node, a row per message or note, in order of time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

REQUEST, ANSWER, NOTE = "request", "answer", "note"
_COLOURS = {REQUEST: "#D55E00", ANSWER: "#0072B2", NOTE: "#009E73"}


@dataclass(frozen=True)
class Heard:
    """One row: a message from `source` to `destination`, or a note in the lane of both.

    `what` is a message's kind (kit/probes/messages.py), or the trace's word for a decision.
    """

    at_us: int
    kind: str
    what: str
    source: str
    destination: str
    says: str


def text(heard: Sequence[Heard], since_us: int) -> str:
    """One line per row, times in milliseconds."""
    lines = []
    for each in heard:
        at = f"{(each.at_us - since_us) / 1000:8.2f} ms"
        if each.kind == NOTE:
            lines.append(f"{at}  {each.source:<8} {each.says}")
        else:
            lines.append(f"{at}  {each.source} → {each.destination}: {each.says}")
    return "\n".join(lines)


def html(heard: Sequence[Heard], lanes: Sequence[str], since_us: int) -> str:
    head = "".join(f"<th scope='col' style='{_HEAD}'>{escape(name)}</th>" for name in lanes)
    width = f"{92 / len(lanes):.0f}%"
    columns = "<col style='width:8%'>" + f"<col style='width:{width}'>" * len(lanes)
    rows = "".join(_row(each, lanes, since_us) for each in heard)
    return (
        "<table style='width:100%;max-width:860px;table-layout:fixed;border-collapse:collapse;"
        "color:var(--jp-content-font-color1,inherit)'>"
        f"<colgroup>{columns}</colgroup><thead><tr><th style='{_HEAD}'>ms</th>{head}</tr>"
        f"</thead><tbody>{rows}</tbody></table>"
    )


def _row(heard: Heard, lanes: Sequence[str], since_us: int) -> str:
    first, last = sorted((lanes.index(heard.source), lanes.index(heard.destination)))
    span = last - first + 1
    at = f"{(heard.at_us - since_us) / 1000:.1f}"
    idle = f"<td style='{_CELL};{_lifelines(1)}'></td>"
    drawn = _note(heard) if heard.kind == NOTE else _arrow(heard, span, lanes)
    return (
        f"<tr style='background:none'><td style='{_CELL};text-align:right;opacity:.7'>{at}</td>"
        f"{idle * first}<td colspan='{span}' style='{_CELL};{_lifelines(span)}'>{drawn}</td>"
        f"{idle * (len(lanes) - 1 - last)}</tr>"
    )


_HEAD = "text-align:center;padding:3px 0;border-bottom:1px solid var(--jp-border-color1,#bbb)"
_CELL = "padding:1px 0;vertical-align:bottom"
_PAPER = "background:var(--jp-layout-color0,transparent)"


def _lifelines(span: int) -> str:
    """A thin line down the middle of each lane that a cell covers."""
    ink = "linear-gradient(var(--jp-border-color2,#ccc),var(--jp-border-color2,#ccc))"
    places = (f"{100 * (lane + 0.5) / span:.2f}%" for lane in range(span))
    return "background:" + ",".join(f"{ink} {place} 0/1px 100% no-repeat" for place in places)


def _note(heard: Heard) -> str:
    """What a replica decided, on its own line."""
    colour = _COLOURS[NOTE]
    return (
        f"<div style='margin-left:50%;border-left:4px solid {colour};padding-left:8px;"
        f"text-align:left;white-space:nowrap'><strong>{escape(heard.says)}</strong></div>"
    )


def _arrow(heard: Heard, span: int, lanes: Sequence[str]) -> str:
    """A message, from the middle of one lane to the middle of another."""
    colour, margin = _COLOURS[heard.kind], f"{50 / span:.2f}%"
    rightwards = lanes.index(heard.source) < lanes.index(heard.destination)
    head = f"<span aria-hidden='true' style='color:{colour}'>{'▶' if rightwards else '◀'}</span>"
    words = f"<span style='{_PAPER};padding:0 4px'>{escape(heard.says)}</span>"
    left, right = ("<span></span>", head) if rightwards else (head, "<span></span>")
    return (
        f"<div style='margin:0 {margin};border-bottom:2px solid {colour};display:flex;"
        f"justify-content:space-between;align-items:flex-end'>{left}{words}{right}</div>"
    )
