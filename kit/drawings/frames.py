"""One partition's replicas as a strip of frames, to be read like a comic.

    offset       0    1    2    3    4
    ★ 101        A·0  B·0  C·0| D·0  E·0     HW 3   leads epoch 0        ISR
      102        A·0  B·0  C·0| D·0          HW 3   follows 101          ISR
      103        A·0  B·0| C·0               HW 2   follows 101          ISR

A cell is a record and the epoch it was written in; `|` is the replica's own high watermark.
As far as this replica knows, records behind it are not committed.  The same frame serves a
simulated cluster (kit/drawings/walkthrough.py) and the explorer's model
(lessons/nb07_reconciliation/ladder.py), as text and as HTML in JupyterLab's colours.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

PALETTE = ("#56b4e9", "#e69f00", "#009e73", "#cc79a7", "#f0e442", "#0072b2")
"""Okabe and Ito's colours, one per epoch; the digit in the cell says the same."""
FREE = 1
LABEL_PX = 175
COLUMN_PX = 37


@dataclass(frozen=True)
class Replica:
    """One replica: its log as (record, epoch) pairs, and what it believes.

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
    """A moment: its title, the messages since the last frame, the replicas, and a note."""

    title: str
    replicas: tuple[Replica, ...]
    said: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True)
class Strip:
    """Frames in their order; `.text`, or HTML in a notebook.  `first` numbers the first one."""

    frames: tuple[Frame, ...]
    first: int = 1

    @property
    def places(self) -> int:
        """How many offsets every frame shows: the longest log and a free place."""
        logs = [len(replica.log) for frame in self.frames for replica in frame.replicas]
        return max(logs, default=0) + FREE

    @property
    def text(self) -> str:
        return "\n\n".join(
            _text(number, frame, self.places)
            for number, frame in enumerate(self.frames, self.first)
        )

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        width = LABEL_PX + COLUMN_PX * self.places
        epochs = {e for f in self.frames for replica in f.replicas for _, e in replica.log}
        hatches = "".join(f"--e{epoch}:{_hatch(epoch)};" for epoch in sorted(epochs))
        cards = "".join(
            _card(number, frame, self.places)
            for number, frame in enumerate(self.frames, self.first)
        )
        return (
            f"<div style='{hatches}display:grid;gap:12px;line-height:1.2;"
            "color:var(--jp-content-font-color1,inherit);"
            f"grid-template-columns:repeat(auto-fill,minmax(min(100%,{width}px),1fr))'>{cards}</div>"
        )


# -- as text


def _text(number: int, frame: Frame, places: int) -> str:
    cells = [[_cell(replica, at) for at in range(places)] for replica in frame.replicas]
    width = max(3, *(len(cell) for row in cells for cell in row)) + 1
    head = "".join(str(at).ljust(width + 1) for at in range(places))
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


# -- as HTML: divs, because notebooks style tables themselves, and short

_CARD = "border:1px solid #8886;border-radius:8px;padding:8px 12px;overflow-x:auto"
_SAID = (
    "border-left:3px solid #0072b2;padding-left:8px;margin:4px 0;line-height:1.4;"
    "font-family:monospace"
)
_GRID = "display:grid;gap:4px;text-align:center;white-space:nowrap"
_COLUMNS = ";grid-template-columns:max-content"
_LABEL = "text-align:left;padding-right:8px"


def _card(number: int, frame: Frame, places: int) -> str:
    said = "<br>".join(map(escape, frame.said))
    said = f"<div style='{_SAID}'>{said}</div>" if said else ""
    note = f"<div style='margin-top:6px'>{escape(frame.note)}</div>" if frame.note else ""
    heads = "".join(f"<small>{at}</small>" for at in range(places))
    rows = "".join(_row(replica, places) for replica in frame.replicas)
    return (
        f"<div style='{_CARD}'><b>{number} · {escape(frame.title)}</b>{said}"
        f"<div style='{_GRID}{_COLUMNS} repeat({places - FREE},2.2em) 1em'>"
        f"<small style='{_LABEL}'>offset</small>{heads}{rows}</div>{note}</div>"
    )


def _row(replica: Replica, places: int) -> str:
    faded = "" if replica.alive else ";opacity:.6"
    cells = "".join(_box(replica, at, faded) for at in range(places))
    isr = "✓ ISR" if replica.in_isr else "not in the ISR"
    return (
        f"<div style='{_LABEL}{faded}'><b>{replica.mark} {replica.broker}</b> "
        f"<small>{escape(replica.does)}<br><b>HW {replica.high_watermark}</b> · {isr}</small></div>"
        f"{cells}"
    )


def _hatch(epoch: int) -> str:
    """Defined once per strip, as a variable: it is long, and used in many cells."""
    return f"repeating-linear-gradient(45deg,{PALETTE[epoch % len(PALETTE)]}4d 0 2px,#0000 2px 7px)"


def _box(replica: Replica, at: int, faded: str) -> str:
    """A record: full up to the replica's high watermark, hatched and dashed beyond it."""
    bar = "box-shadow:-4px 0 currentcolor;" if at == replica.high_watermark else ""
    if at >= len(replica.log):
        return f"<i style='{bar}{faded}'></i>" if bar else "<i></i>"
    record, epoch = replica.log[at]
    colour = PALETTE[epoch % len(PALETTE)]
    if at < replica.high_watermark:
        face = f"background:{colour}85"
    else:
        face = f"background:var(--e{epoch});border:1px dashed {colour}"
    return (
        f"<div style='{bar}{face}{faded}'><b>{escape(record)}</b><br>"
        f"<small>ep {epoch}</small></div>"
    )
