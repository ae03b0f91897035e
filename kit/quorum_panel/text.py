"""The panel in words: for readers without a picture, and for a notebook's `text/plain`.

quorum: active 200 · epoch 3 · committed below 17 · majority 2 of 3
100 follower, epoch 3, voted for 200. HW 17  LEO 18
200 leader, active, epoch 3. HW 17  LEO 18
300 killed, epoch 2. HW 15  LEO 15
records, with the controllers that have them ([…]: not committed):
  16 epoch 3  leader change: 200, epoch 3  (100 200)
 [17 epoch 3  topic orders created]  (100 200)
"""

from __future__ import annotations

from collections.abc import Sequence

from kit.film.steps import plain
from kit.film.words import plural
from kit.quorum_panel.logs import QUIET
from kit.quorum_panel.scene import Cell, Column, Entry, Row, Scene, in_view
from kit.quorum_panel.view import DOWN


def render(scene: Scene, caption: str) -> str:
    """The scene as lines of text, its caption last."""
    facts = " · ".join(f"{name} {value}" for name, value in scene.facts)
    lines = [f"quorum: {facts}", *(f"{standing(each)}. {marks(each)}" for each in scene.rows)]
    if scene.entries:
        lines.append("records, with the controllers that have them ([…]: not committed):")
        lines += map(entry, scene.entries)
    if scene.parts_at is not None:
        lines.append(f"Logs diverge at offset {scene.parts_at}.")
    lines += [scene.lacks] if scene.lacks else []
    return "\n".join([*lines, plain(caption)]).rstrip()


def standing(row: Row) -> str:
    """What a controller is: its role and its vote, or why it is none."""
    words = [row.state] if row.state in ("paused", *DOWN) or not row.role else []
    words += [row.role] if row.role else []
    words += ["active"] if row.is_active else []
    words += [f"epoch {row.epoch}"] if row.epoch >= 0 else []
    words += [vote] if (vote := voted(row)) else []
    if row.cut_from:
        words.append(f"cut from {', '.join(map(str, row.cut_from))}")
    return f"{row.id} {', '.join(words)}"


def voted(row: Row) -> str:
    """The vote that a controller gave in its epoch, and of a nominee the votes that it has."""
    if row.granted:
        would = "would vote" if row.role == "prospective" else "voted"
        return f"{would} for it: {' '.join(map(str, row.granted))}"
    if row.voted < 0:
        return ""
    return "voted for itself" if row.voted == row.id else f"voted for {row.voted}"


def marks(row: Row) -> str:
    mark = row.high_watermark if row.high_watermark >= 0 else "?"
    return f"HW {mark}  LEO {row.log_end_offset}" if row.log_end_offset >= 0 else "log not known"


def entry(each: Entry) -> str:
    said = f"{each.offset} epoch {each.epoch}  {each.says}"
    said = f"  {said}" if each.known_by else f" [{said}]"
    return f"{said}  ({' '.join(map(str, each.held_by))})"


def row(each: Row, shown: Sequence[Column]) -> str:
    """One controller in a sentence, as a screen reader says it."""
    held = "; ".join(map(_cell, in_view(each.cells, shown))) or "no records in view"
    return f"{standing(each)}. {marks(each)}. {held}."


def _cell(cell: Cell) -> str:
    if cell.kind == QUIET:
        return f"{cell.offset}: {plural(cell.last - cell.offset + 1, 'NoOp')}"
    fate = "" if cell.committed else ", not committed"
    return f"{cell.offset}: {cell.says}, epoch {cell.epoch}{fate}"
