"""Draws a crash test: the loop's source with a mark per line, and one trial record by record.

    9  ↻ repeats 1  process(message)
   10  ✓ no harm    consumer.commit(message, asynchronous=False)

    offset                       0   1 ┃ 2   3   4
    processed before the crash   ✓   ✓ ┃ ✓   ·   ·
    processed after the restart  ·   · ┃ ✓   ✓   ✓
                                       ┃ 2×              ┃ committed: 2

Divs in JupyterLab's colours, so that they follow its light and dark themes.  Signs and words carry
the meaning; colour (Okabe and Ito's) only helps.  Wide source and rows scroll by themselves.
"""

from __future__ import annotations

from html import escape

from kit.crashes.evidence import Evidence
from kit.crashes.facts import Mistake
from kit.crashes.outcome import (
    Cell,
    LineOutcome,
    Outcome,
    cells,
    halves,
    mark,
    outcome,
    times,
    title,
    verb,
)

LOST, REPEATED, FINE = "#d55e00", "#0072b2", "#009e73"
_FRAME = "border:1px solid #8886;border-radius:8px;padding:8px 12px;margin-top:10px;overflow-x:auto"
_MONO = "font-family:var(--jp-code-font-family,monospace);font-size:12px;line-height:1.5"
_SOURCE = (
    f"{_MONO};display:grid;grid-template-columns:max-content max-content max-content;"
    "column-gap:14px;align-items:baseline;white-space:pre"
)
_ROWS = "display:grid;gap:3px;text-align:center;white-space:nowrap;align-items:center"
_LABEL = "text-align:left;padding-right:8px"
_NUMBER = "text-align:right;opacity:.65"


def html(result: Outcome) -> str:
    """The whole drawing; a loop without a verdict gets its one sentence."""
    if result.problem:
        return _box(f"<b>{escape(result.headline)}</b>")
    sign, colour = ("✓", FINE) if result else ("✗", LOST)
    head = (
        f"<div style='border-left:5px solid {colour};padding-left:10px'><b>{sign} "
        f"{escape(result.headline)}</b><div style='opacity:.8'>{escape(result.tally)}</div></div>"
    )
    parts = [head, _source(result), *(_mistake(each) for each in result.mistakes)]
    trials = list({id(each.evidence): each.evidence for each in result.mistakes}.values())
    if not trials and result.worst is not None and (result.worst.lost or result.worst.repeated):
        trials = [result.worst]
    return _box("".join([*parts, *(_trial(result, each) for each in trials)]))


def _box(inside: str) -> str:
    return (
        "<div style='color:var(--jp-content-font-color1,inherit);line-height:1.4;"
        f"max-width:980px'>{inside}</div>"
    )


# -- the source


def _source(result: Outcome) -> str:
    worst = result.worst
    at = result.source.number(worst.line) if worst is not None and worst.crash else 0
    rows = "".join(_line(each, each.number == at) for each in result.lines)
    return f"<div style='{_FRAME}'><div style='{_SOURCE}'>{rows}</div></div>"


def _line(line: LineOutcome, is_shown: bool) -> str:
    weight = ";font-weight:bold" if is_shown else ""
    return (
        f"<span style='{_NUMBER}'>{line.number}</span>"
        f"<span style='text-align:left'>{_badge(line)}</span>"
        f"<span style='text-align:left{weight}'>{escape(line.text) or ' '}</span>"
    )


def _badge(line: LineOutcome) -> str:
    words = mark(line)
    if not words:
        return ""
    if line.lost:
        return _tag(f"✗ {words}", LOST, "dashed")
    if line.repeated:
        return _tag(f"↻ {words}", REPEATED, "solid")
    return f"<span style='opacity:.7'>✓ {words}</span>"


def _tag(words: str, colour: str, border: str) -> str:
    return (
        f"<span style='border:1.5px {border} {colour};background:{colour}26;border-radius:4px;"
        f"padding:0 6px'>{escape(words)}</span>"
    )


def _mistake(mistake: Mistake) -> str:
    return (
        f"<div style='{_FRAME};border-left:5px solid {LOST}'><b>{escape(mistake.name)}</b>"
        f"<div>{escape(mistake.sentence)}</div>"
        f"<div style='margin-top:4px'><i>{escape(mistake.remedy)}</i></div></div>"
    )


# -- one trial


def _trial(result: Outcome, evidence: Evidence) -> str:
    parts = [f"<b>{escape(title(result, evidence))}</b>"]
    for partition in sorted(evidence.values):
        if len(evidence.values) > 1:
            parts.append(f"<div style='margin-top:6px'>partition {partition}</div>")
        parts.append(_partition(evidence, partition))
    return f"<div style='{_FRAME}'>{''.join(parts)}</div>"


def _partition(evidence: Evidence, partition: int) -> str:
    row, committed = cells(evidence, partition), evidence.committed(partition)
    before, after = halves(evidence)
    lines = [_row("offset", [_small(str(cell.offset)) for cell in row], row, committed)]
    lines.append(
        _row(
            f"{verb(evidence)} {before}",
            [_done(cell.before, cell.failed) for cell in row],
            row,
            committed,
        )
    )
    if after:
        lines.append(
            _row(f"{verb(evidence)} {after}", [_done(cell.after) for cell in row], row, committed)
        )
    lines.append(_row("outcome", [_outcome(cell) for cell in row], row, committed))
    words = f"committed: {committed}, where the next one starts"
    if committed >= len(row):
        words = f"committed: {committed}, the end"
    return (
        f"<div style='{_ROWS};grid-template-columns:max-content repeat({len(row)},3em)'>"
        f"{''.join(lines)}</div><div><span style='border-left:3px solid currentcolor'></span> "
        f"<small>{escape(words)}</small></div>"
    )


def _row(name: str, inside: list[str], row: list[Cell], committed: int) -> str:
    """A label and its cells; a bar is before the first record that is not committed."""
    parts = [f"<small style='{_LABEL}'>{escape(name)}</small>"]
    for cell, text in zip(row, inside, strict=True):
        bar = "border-left:3px solid currentcolor" if cell.offset == committed else (
            "border-left:3px solid transparent")  # fmt: skip
        if committed == len(row) and cell.offset == len(row) - 1:
            bar += ";border-right:3px solid currentcolor"
        parts.append(f"<span style='{bar}'>{text}</span>")
    return "".join(parts)


def _small(text: str) -> str:
    return f"<small>{text}</small>"


def _done(count: int, failed: bool = False) -> str:
    if not count and not failed:
        return "<span style='opacity:.4'>·</span>"
    back = f"{FINE}33" if count else f"{LOST}26"
    words = times(count, failed)
    return f"<span style='background:{back};border-radius:4px;padding:0 5px'>{words}</span>"


def _outcome(cell: Cell) -> str:
    words = outcome(cell)
    if not words:
        return ""
    if cell.lost:
        return _tag(words, LOST, "dashed")
    return _tag(words, REPEATED, "solid") if words.endswith("×") else _small(words)
