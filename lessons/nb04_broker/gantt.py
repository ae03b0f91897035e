"""Draws spans of time below each other, as a picture and as a text that says the same.

    Gantt("One Produce request", "ms", [Span("network", 0, 0.6, "on its way"), …])

A span has a kind: its colour (Okabe–Ito) and its shape name the part that is busy, so that
colour is never the only sign.  A span without length is a moment, drawn as a diamond.  The
picture brings its own background and follows the reader's system for light or dark.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from kit.drawings.picture import Picture, picture

NETWORK, BROKER, WAITING, OTHERS, MUTED = "network", "broker", "waiting", "others", "muted"
WIDTH, ROW, LEFT, RIGHT, TOP = 820, 30, 190, 16, 46
STYLE = """
.kio-gantt{--bg:#fff;--ink:#1c2430;--soft:#5b6675;--line:#d5dae1;--network:#0072b2;
--broker:#d55e00;
--waiting:#e69f00;--others:#009e73;--muted:#cc79a7}
@media(prefers-color-scheme:dark){.kio-gantt{--bg:#111418;--ink:#e8ebf0;--soft:#9aa5b4;
--line:#323a45;
--network:#56b4e9;--broker:#ff8a50;--waiting:#f0c24b;--others:#2fc09a;--muted:#e2a2c6}}
.kio-gantt text{font:12px system-ui,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;fill:var(--ink)}
.kio-gantt .s{fill:var(--soft);font-size:11px}.kio-gantt .b{font-weight:700}
.kio-gantt .m{text-anchor:middle}.kio-gantt .e{text-anchor:end}
"""
_WORDS = {
    NETWORK: "under way",
    BROKER: "the broker works",
    WAITING: "the request waits",
    OTHERS: "other brokers work",
    MUTED: "the client is muted",
}
# Height and dash tell the kinds apart where colours do not.
_SHAPES = {
    NETWORK: 'height="6" rx="3"',
    BROKER: 'height="14"',
    WAITING: 'height="14" fill-opacity=".35" stroke-dasharray="4 3" stroke-width="1.5"',
    OTHERS: 'height="10" rx="5"',
    MUTED: 'height="14" fill-opacity=".15" stroke-dasharray="1 4" stroke-width="2"',
}
_HEIGHT = {NETWORK: 6, BROKER: 14, WAITING: 14, OTHERS: 10, MUTED: 14}


@dataclass(frozen=True)
class Span:
    """A wait or piece of work from `start` to `end`; `says` is its label."""

    name: str
    kind: str
    start: float
    end: float
    says: str = ""


class Gantt(Picture):
    """`spans` in the order of their rows; all times in `unit`, counted from 0."""

    def __init__(self, title: str, unit: str, spans: Sequence[Span]) -> None:
        self.title = title
        self.unit = unit
        self.spans = tuple(spans)

    @property
    def text(self) -> str:
        wide = max(len(span.name) for span in self.spans)
        lines = [self.title]
        for span in self.spans:
            when = f"{span.start:8.2f}"
            when += " " * 11 if span.start == span.end else f" – {span.end:8.2f}"
            lines.append(f"{when} {self.unit}  {span.name:<{wide}}  {span.says}".rstrip())
        return "\n".join(lines)

    def svg(self) -> str:
        last = max(span.end for span in self.spans) or 1.0
        scale = (WIDTH - LEFT - RIGHT) / last
        height = TOP + ROW * len(self.spans) + 52
        parts = [f'<text class="b" x="16" y="24">{escape(self.title)}</text>']
        floor = TOP + ROW * len(self.spans)
        for mark in ticks(last):
            x = LEFT + mark * scale
            parts.append(
                f'<path d="M{x:.1f} {TOP - 8}V{floor}" stroke="var(--line)"/>'
                f'<text class="s m" x="{x:.1f}" y="{floor + 16}">{mark:g} {self.unit}</text>'
            )
        for row, span in enumerate(self.spans):
            parts += self._row(span, TOP + ROW * row, scale)
        parts.append(self._legend(floor + 40))
        return picture("kio-gantt", WIDTH, height, self.text, STYLE, parts)

    def _row(self, span: Span, top: float, scale: float) -> list[str]:
        start, end = LEFT + span.start * scale, LEFT + span.end * scale
        middle, colour = top + ROW / 2 - 4, f"var(--{span.kind})"
        if span.start == span.end:
            shape = (
                f'<path d="M{start:.1f} {middle - 7:.1f}l7 7-7 7-7-7z" fill="{colour}" '
                'stroke="var(--bg)"/>'
            )
            end += 7
        else:
            shape = _bar(span.kind, start, middle, max(end - start, 2.0))
        says, wide = escape(span.says), 6.4 * len(span.says) + 8
        if wide < WIDTH - RIGHT - end:
            x, anchor = end + 8, ""
        elif wide < start - LEFT:
            x, anchor = start - 8, " e"
        else:
            x, anchor = (start + end) / 2, " m"
        return [
            f'<text class="e" x="{LEFT - 12}" y="{middle + 4:.1f}">{escape(span.name)}</text>',
            shape,
            f'<text class="s{anchor}" x="{x:.1f}" y="{middle + 4:.1f}">{says}</text>',
        ]

    def _legend(self, y: float) -> str:
        kinds = [kind for kind in _WORDS if any(span.kind == kind for span in self.spans)]
        parts, x = [], float(LEFT)
        for kind in kinds:
            parts.append(_bar(kind, x, y - 4, 22))
            parts.append(f'<text class="s" x="{x + 28}" y="{y}">{_WORDS[kind]}</text>')
            x += 28 + 6.2 * len(_WORDS[kind]) + 18
        return "".join(parts)


def _bar(kind: str, x: float, middle: float, width: float) -> str:
    colour = f"var(--{kind})"
    return (
        f'<rect x="{x:.1f}" y="{middle - _HEIGHT[kind] / 2:.1f}" width="{width:.1f}" '
        f'fill="{colour}" stroke="{colour}" {_SHAPES[kind]}/>'
    )


def ticks(last: float) -> list[float]:
    """Round marks from 0 up to `last`, at most seven."""
    power = 10.0 ** math.floor(math.log10(last / 6))
    step = next(power * factor for factor in (1, 2, 5, 10) if last / (power * factor) <= 6)
    return [round(step * number, 6) for number in range(int(last / step) + 1)]
