"""Draws a finding of the history checker: the clients' steps, and the log.

    HistoryView(check(history))             the first finding of each kind
    HistoryView(check(history), limit=3)    the first three findings, of any kind

Each client has a lane and each step a column, in order of time; the steps are the few that
prove the anomaly.  Below are the offsets in question: the records acknowledged there, and the
records read there.  Shapes and words carry the meaning, and colour only helps.  The text form
is the finding's own sentence and timeline.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape

from engine.sim.history import (
    Commit,
    EndTransaction,
    Finding,
    Findings,
    Operation,
    Poll,
    Process,
    Reached,
    Seek,
    Send,
)
from kit.drawings.picture import Picture, picture

WIDTH, LEFT, LANE, CELL, ROW = 820, 130, 68, 62, 30
MARKS: dict[type, str] = {
    Send: "M0-9V7M-5 1L0 8L5 1",
    Poll: "M-6-6H6V6H-6Z",
    Seek: "M-6-6L6 0L-6 6Z",
    Reached: "M-2-8V8M2-8V8",
    EndTransaction: "M0-8L8 0L0 8L-8 0Z",
    Process: "M-6 0L-2 5L6-6",
    Commit: "M-6-6H6M0-6V8",
}
STYLE = """
.kio-history{--bg:#fff;--ink:#1c2430;--soft:#5b6675;--line:#d5dae1;--good:#0072b2;--read:#d5e8f5;
--bad:#c04a00}
@media(prefers-color-scheme:dark){.kio-history{--bg:#111418;--ink:#e8ebf0;--soft:#9aa5b4;
--line:#323a45;
--good:#56b4e9;--read:#173247;--bad:#ff8a50}}
.kio-history text{font:12px system-ui,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;fill:var(--ink)}
.kio-history .s{fill:var(--soft);font-size:11px}.kio-history .b{font-weight:700}
.kio-history .m{text-anchor:middle}.kio-history .e{text-anchor:end}
.kio-history .bad{fill:var(--bad)}.kio-history .box{fill:var(--read);stroke:var(--good)}
.kio-history .no{fill:none;stroke:var(--bad);stroke-dasharray:4 3}
.kio-history .mark{fill:none;stroke:var(--good);stroke-width:2}
"""


class HistoryView(Picture):
    """Findings drawn; `text` says the same in words."""

    def __init__(self, findings: Findings, limit: int | None = None) -> None:
        self.findings = findings
        chosen = [findings.of(kind)[0] for kind in findings.kinds]
        self.shown = list(findings.items[:limit]) if limit is not None else chosen

    @property
    def text(self) -> str:
        kinds = ", ".join(f"{number} {kind}" for kind, number in self.findings.kinds.items())
        lines = [f"{self.findings.summary}: {kinds or 'no anomaly'}"]
        for finding in self.shown:
            lines += ["", str(finding), finding.timeline]
        return "\n".join(lines)

    def svg(self) -> str:
        """A standalone picture; it follows the reader's system for light or dark."""
        parts, top = [_text(20, 28, self.text.partition("\n")[0], "b")], 44
        for finding in self.shown:
            drawing = _Drawing(finding, top)
            parts += drawing.parts()
            top += drawing.height
        return picture("kio-history", WIDTH, top, self.text, STYLE, parts)


@dataclass
class _Drawing:
    """One finding, drawn from `top` down."""

    finding: Finding
    top: int
    steps: list[Operation] = field(init=False)
    lanes: list[str] = field(init=False)
    words: list[str] = field(init=False)

    def __post_init__(self) -> None:
        self.steps = sorted(self.finding.operations, key=lambda each: each.at_us)
        self.lanes = list(dict.fromkeys(each.client for each in self.steps))
        self.words = _wrap(str(self.finding), 118)

    @property
    def lanes_top(self) -> int:
        return self.top + 20 + 17 * len(self.words)

    @property
    def log_top(self) -> int:
        return self.lanes_top + LANE * len(self.lanes) + 16

    @property
    def height(self) -> int:
        return self.log_top + 3 * ROW + 18 - self.top

    def parts(self) -> list[str]:
        out = [f'<path d="M20 {self.top}H{WIDTH - 20}" stroke="var(--line)"/>']
        for number, line in enumerate(self.words):
            out.append(
                _text(20, self.top + 20 + 17 * number, line, "bad b" if not number else "bad")
            )
        for lane, client in enumerate(self.lanes):
            y = self.lanes_top + LANE * lane + 22
            out.append(_text(LEFT - 14, y + 4, client, "b e"))
            out.append(f'<path d="M{LEFT} {y}H{WIDTH - 20}" stroke="var(--line)"/>')
        step = (WIDTH - LEFT - 40) / len(self.steps)
        for number, operation in enumerate(self.steps):
            y = self.lanes_top + LANE * self.lanes.index(operation.client) + 22
            out += _step(round(LEFT + step * (number + 0.5)), y, operation)
        return [*out, *self._log()]

    def _log(self) -> list[str]:
        """The offsets in question: promised above, read below."""
        promised: dict[int, list[str]] = {}
        seen: dict[int, list[str]] = {}
        offsets = [self.finding.offset] if self.finding.offset >= 0 else []
        for each in self.steps:
            if isinstance(each, Send) and each.offset >= 0:
                promised.setdefault(each.offset, []).append(each.value)
            elif isinstance(each, Poll):
                for read in each.reads:
                    seen.setdefault(read.offset, []).append(read.value)
            elif isinstance(each, Reached):
                seen.setdefault(each.offset, []).append("the end")
        columns = sorted({*offsets, *promised, *seen})
        rows = [("promised", promised), ("read", seen)]
        # Two acknowledgements alone may contradict each other; then the reads do not matter.
        rows = rows if seen or self.finding.kind in ("lost", "unseen") else rows[:1]
        out = []
        for row, name in enumerate(("offset", *(name for name, _ in rows))):
            out.append(_text(LEFT - 14, self.log_top + ROW * row + 11, name, "s e"))
        for column, offset in enumerate(columns):
            x = LEFT + column * (CELL + 8)
            out.append(_text(x + CELL // 2, self.log_top + 11, str(offset), "s m"))
            for row, (_, cells) in enumerate(rows, start=1):
                y = self.log_top + ROW * row - 5
                if offset in cells or offset == self.finding.offset:
                    out += _cell(x, y, cells.get(offset, []))
        return out


def _step(x: int, y: int, operation: Operation) -> list[str]:
    """A mark by kind of step, its words below it, its time above it."""
    path = f'<path class="mark" transform="translate({x} {y})" d="{MARKS[type(operation)]}"/>'
    words = _brief(operation)
    return [
        _text(x, y - 12, f"{operation.at_us / 1e6:.3f} s", "s m"),
        path,
        *(_text(x, y + 22 + 14 * number, line, "m") for number, line in enumerate(words)),
    ]


def _brief(operation: Operation) -> tuple[str, ...]:
    """A step and its outcome."""
    match operation:
        case Send():
            at = f" at {operation.offset}" if operation.offset >= 0 else ""
            return f"sends {_short(operation.value)}", f"{operation.verdict}{at}"
        case Poll():
            return tuple(f"reads {_short(r.value)} at {r.offset}" for r in operation.reads)
        case Seek():
            return (f"goes to {operation.offset}" if operation.offset >= 0 else "begins",)
        case Reached():
            return (f"the end is at {operation.offset}",)
        case EndTransaction():
            return f"ends {_short(operation.transaction)}", operation.outcome
        case Process():
            return (f"processes {_short(operation.value)}",)
        case Commit():
            return (f"commits {operation.offset}",)


def _cell(x: int, y: int, values: list[str]) -> list[str]:
    box = f'<rect x="{x}" y="{y}" width="{CELL}" height="24" rx="4" '
    if not values:
        return [f'{box}class="no"/>', _text(x + CELL // 2, y + 16, "–", "s m")]
    words = " | ".join(dict.fromkeys(_short(value) for value in values))
    return [f'{box}class="box"/>', _text(x + CELL // 2, y + 16, words, "m")]


def _short(value: str) -> str:
    return value if len(value) <= 14 else value[:13] + "…"


def _text(x: int, y: int, words: str, style: str) -> str:
    return f'<text class="{style}" x="{x}" y="{y}">{escape(words)}</text>'


def _wrap(sentence: str, width: int) -> list[str]:
    lines = [""]
    for word in sentence.split():
        if len(lines[-1]) + len(word) >= width:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines
