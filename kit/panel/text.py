"""The panel in plain words: for screen readers, terminals and notebooks without a kernel.

        orders, partition 0: leader 102 · epoch 1 · ISR 102, 103
        offset           0    1    2      3      4
        101 follower     A/0  B/0 |[X1/0] [X2/0] [X3/0]   HW 2  LEO 5  not in the ISR
        102 leader       A/0  B/0  Y1/1 |                 HW 3  LEO 3  in the ISR

A record is `value/epoch`, in brackets while it is not known to be committed; `|` is the
high watermark.
"""

from __future__ import annotations

from kit.film.steps import plain
from kit.panel.scene import Cell, Controller, Row, Scene

WIDEST_VALUE = 12


def render(scene: Scene, caption: str) -> str:
    """The scene as lines of text, its caption last."""
    if not scene.topic or not scene.facts:
        states = [f"{row.id} {state(row)}" for row in scene.rows]
        return "\n".join([*states, plain(caption)])
    facts = " · ".join(f"{name} {value}" for name, value in scene.facts)
    offsets = range(*scene.offsets)
    grid = [[_cell(row, offset) for offset in offsets] for row in scene.rows]
    last = max((at for line in grid for at, cell in enumerate(line) if cell.strip(" |")), default=0)
    shown = range(min(last + 2, len(offsets)))
    widths = [max(len(str(offsets[at])) + 1, *(len(line[at]) for line in grid)) for at in shown]
    heads = [f"{row.id} {row.role}" for row in scene.rows]
    margin = max(map(len, heads)) + 2
    lines = [
        f"{scene.topic}, partition {scene.partition}: {facts}",
        _line("offset", [f" {offsets[at]}" for at in shown], widths, margin),
    ]
    for head, row, cells in zip(heads, scene.rows, grid, strict=True):
        lines.append(_line(head, cells, widths, margin) + f"  {_marks(row)}  {state(row)}")
    if scene.parts_at is not None:
        lines.append(f"Logs diverge at offset {scene.parts_at}.")
    lines.append(controllers(scene))
    return "\n".join([*lines, plain(caption)])


def controllers(scene: Scene) -> str:
    """The controller, or several, each as a voter; the active one is named first."""
    if not scene.controllers:
        return f"controller {scene.controller[0]} {scene.controller[1]}"
    active = [str(each.id) for each in scene.controllers if each.is_active]
    first = f"active controller {active[-1]}" if active else "no active controller"
    return "; ".join([first, *map(controller, scene.controllers)])


def controller(each: Controller) -> str:
    """One of several controllers in words."""
    words = [each.role] if each.role else []
    words += [each.state] if each.state != "running" or not words else []
    if each.cut_from:
        words.append(f"cut from {', '.join(map(str, each.cut_from))}")
    return f"{each.id} {', '.join(words)}"


def row(row: Row) -> str:
    """One replica in a sentence, as a screen reader tells it."""
    held = [f"{cell.offset}: {_words(cell)}" for cell in row.cells]
    records = "; ".join(held) if held else "no records in view"
    return f"{row.id}, {row.role}, {state(row)}. {_marks(row)}. {records}."


def state(row: Row) -> str:
    """A replica's state in words."""
    words = [row.state]
    if row.fenced:
        words.append("fenced")
    if row.log_end_offset >= 0:
        words.append("in the ISR" if row.in_isr else "not in the ISR")
    if row.eligible:
        words.append("eligible to lead (ELR)")
    if row.cut_from:
        words.append(f"cut from {', '.join(map(str, row.cut_from))}")
    return ", ".join(words)


def _words(cell: Cell) -> str:
    fate = "" if cell.committed else ", not committed"
    return f"{cell.value or 'a record'} of epoch {cell.epoch}{fate}"


def _cell(row: Row, offset: int) -> str:
    mark = "|" if offset == row.high_watermark else " "
    for cell in row.cells:
        if cell.offset == offset:
            value = cell.value or "·"
            if len(value) > WIDEST_VALUE:
                value = value[: WIDEST_VALUE - 1] + "…"
            record = f"{value}/{cell.epoch}"
            return mark + (record if cell.committed else f"[{record}]")
    return mark


def _marks(row: Row) -> str:
    if row.log_end_offset < 0:
        return "log not known"
    mark = row.high_watermark if row.high_watermark >= 0 else "?"
    return f"HW {mark}  LEO {row.log_end_offset}"


def _line(head: str, cells: list[str], widths: list[int], margin: int) -> str:
    padded = [cell.ljust(width) for cell, width in zip(cells, widths, strict=False)]
    return head.ljust(margin) + " ".join(padded)
