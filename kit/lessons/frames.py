"""One partition's replicas as a strip of frames, to be read like a comic.

    offset       0    1    2    3    4
    ★ 101        A·0  B·0  C·0| D·0  E·0     HW 3   leads epoch 0        ISR
      102        A·0  B·0  C·0| D·0          HW 3   follows 101          ISR
      103        A·0  B·0| C·0               HW 2   follows 101          ISR

A cell is a record and the epoch it was written in; `|` is the replica's own high watermark,
and what lies behind it is, as far as this replica knows, not committed.  The same frame
serves a simulated cluster (kit/lessons/walkthrough.py) and the explorer's model
(kit/lessons/ladder.py), as text and as HTML in JupyterLab's colours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

PALETTE = ("86,180,233", "230,159,0", "0,158,115", "204,121,167", "240,228,66", "0,114,178")
"""Okabe and Ito's colours, one an epoch; the digit in the cell says the same."""
FREE = 1


@dataclass(frozen=True)
class Replica:
    """One replica: what it holds as (record, epoch), and what it believes.

    `does` is its role in words; `alive` is False for a dead broker, whose log is on its disk.
    """

    broker: int
    log: tuple[tuple[str, int], ...]
    high_watermark: int
    does: str
    leads: bool = False
    in_isr: bool = True
    alive: bool = True

    @property
    def mark(self) -> str:
        if not self.alive:
            return "✝"
        return "★" if self.leads else " "


@dataclass(frozen=True)
class Frame:
    """A moment: its title, what was said since the last one, the replicas, and a note."""

    title: str
    replicas: tuple[Replica, ...]
    said: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True)
class Strip:
    """Frames in their order; `.text`, or HTML in a notebook.  `first` numbers the first one."""

    frames: tuple[Frame, ...]
    first: int = 1
    narrow: bool = False

    @property
    def text(self) -> str:
        return "\n\n".join(
            _text(number, frame) for number, frame in enumerate(self.frames, self.first)
        )

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        width = "250px" if self.narrow else "430px"
        cards = "".join(
            _card(number, frame) for number, frame in enumerate(self.frames, self.first)
        )
        return (
            "<div style='display:grid;gap:12px;color:var(--jp-content-font-color1,inherit);"
            f"grid-template-columns:repeat(auto-fill,minmax(min(100%,{width}),1fr))'>{cards}</div>"
        )


def columns(frame: Frame) -> int:
    """How many offsets a frame shows: the longest log and a free place."""
    return max((len(replica.log) for replica in frame.replicas), default=0) + FREE


# -- as text


def _text(number: int, frame: Frame) -> str:
    cells = [[_cell(replica, at) for at in range(columns(frame))] for replica in frame.replicas]
    width = max(3, *(len(cell) for row in cells for cell in row)) + 1
    head = "".join(str(at).ljust(width + 1) for at in range(columns(frame)))
    lines = [f"{number} · {frame.title}", *(f"   {line}" for line in frame.said)]
    lines.append(f"   offset  {head}".rstrip())
    for replica, row in zip(frame.replicas, cells, strict=True):
        shown = "".join(
            ("|" if at == replica.high_watermark else " ") + cell.ljust(width)
            for at, cell in enumerate(row)
        )
        isr = "ISR" if replica.in_isr else "not in the ISR"
        knows = f"HW {replica.high_watermark}  {replica.does}, {isr}"
        lines.append(f"   {replica.mark} {replica.broker}  {shown}  {knows}")
    if frame.note:
        lines.append(f"   {frame.note}")
    return "\n".join(lines)


def _cell(replica: Replica, at: int) -> str:
    if at >= len(replica.log):
        return ""
    record, epoch = replica.log[at]
    return f"{record}·{epoch}"


# -- as HTML

_CARD = (
    "border:1px solid var(--jp-border-color2,#ccc);border-radius:8px;padding:8px 12px 10px;"
    "overflow-x:auto"
)
_SAID = (
    "margin:2px 0;padding-left:8px;border-left:3px solid var(--jp-brand-color1,#0072b2);"
    "font-size:var(--jp-code-font-size,13px);font-family:var(--jp-code-font-family,monospace)"
)
_SOFT = "color:var(--jp-content-font-color2,inherit);font-size:12px"


def _card(number: int, frame: Frame) -> str:
    said = "".join(f"<div style='{_SAID}'>{escape(line)}</div>" for line in frame.said)
    note = f"<div style='margin-top:4px'>{escape(frame.note)}</div>" if frame.note else ""
    return (
        f"<div style='{_CARD}'><div style='margin-bottom:4px'><strong>{number} · "
        f"{escape(frame.title)}</strong></div>{said}{_table(frame)}{note}</div>"
    )


def _table(frame: Frame) -> str:
    places: Sequence[int] = range(columns(frame))
    head = f"scope='col' style='border:0;background:none;padding:0;{_SOFT};text-align:"
    heads = "".join(f"<th {head}center'>{at}</th>" for at in places)
    rows = "".join(_row(replica, places) for replica in frame.replicas)
    return (
        "<table style='border-collapse:separate;border-spacing:2px 3px;margin:4px 0 0'>"
        f"<thead><tr style='background:none'><th {head}left'>offset</th>{heads}</tr></thead>"
        f"<tbody>{rows}</tbody></table>"
    )


def _row(replica: Replica, places: Sequence[int]) -> str:
    plain = "border:0;background:none;text-align:left;white-space:nowrap"
    cells = "".join(_box(replica, at) for at in places)
    isr = "✓ ISR" if replica.in_isr else "not in the ISR"
    faded = "" if replica.alive else ";opacity:.6"
    return (
        f"<tr style='background:none{faded}'><th scope='row' style='{plain};padding:0 10px 0 0;"
        f"font-weight:normal;line-height:1.25'><strong>{replica.mark} {replica.broker}</strong> "
        f"<span style='{_SOFT}'>{escape(replica.does)}</span><br><span style='{_SOFT}'>"
        f"<strong>HW {replica.high_watermark}</strong> · {isr}</span></th>{cells}</tr>"
    )


def _box(replica: Replica, at: int) -> str:
    """A record: full up to the replica's high watermark, hatched and dashed beyond it."""
    bar = "inset 4px 0 0 var(--jp-content-font-color1,#000)" if at == replica.high_watermark else ""
    shadow = f"box-shadow:{bar};" if bar else ""
    base = f"{shadow}min-width:26px;height:34px;padding:0 3px;text-align:center;line-height:1.15"
    if at >= len(replica.log):
        free = base.replace("min-width:26px", "min-width:8px")
        return f"<td style='border:0;background:none;{free}'></td>"
    record, epoch = replica.log[at]
    colour = PALETTE[epoch % len(PALETTE)]
    if at < replica.high_watermark:
        face = f"background:rgba({colour},.42);border:1px solid rgb({colour})"
    else:
        face = (
            f"background:repeating-linear-gradient(45deg,rgba({colour},.3) 0 2px,transparent 2px "
            f"7px);border:1px dashed rgb({colour})"
        )
    return (
        f"<td style='{face};border-radius:4px;{base}'><strong>{escape(record)}</strong><br>"
        f"<span style='font-size:10px'>ep {epoch}</span></td>"
    )
