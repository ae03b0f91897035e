"""Shows where requests spent their time: a bar per situation and side, cut into five stages.

    StageChart({"engine": {"acks=all": requests, …}, "local": {…}})

All bars have the same length: compare the shares of the stages.  The mean total is
beside each bar.  Stages have a colour (Okabe–Ito) and a letter.  Throttle time is no part of
a request's time: the answer is out, and the broker does not read from the client.  It is in
a separate box of one width, with its number.
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from kit.clusters.broker_metrics import STAGES, Requests
from kit.drawings.picture import Picture, picture

WIDTH, BAR, GAP, LEFT, RIGHT, TOP = 820, 20, 14, 222, 90, 44
NARROWEST = 16.0
"""Pixels below which a part gets no letter."""
THROTTLE = "ThrottleTimeMs"
TIMED = tuple(stage for stage in STAGES if stage != THROTTLE)
MUTED_WIDTH = 128
COLOURS = ("#0072b2", "#d55e00", "#e69f00", "#56b4e9", "#009e73")
LETTERS = ("Q", "L", "R", "q", "S")
WORDS = ("request queue", "local", "remote", "response queue", "response send")
DARK_ON = ("#e69f00", "#56b4e9")
STYLE = """
.kio-stages{--bg:#fff;--ink:#1c2430;--soft:#5b6675}
@media(prefers-color-scheme:dark){.kio-stages{--bg:#111418;--ink:#e8ebf0;--soft:#9aa5b4}}
.kio-stages text{font:12px system-ui,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;fill:var(--ink)}
.kio-stages .s{fill:var(--soft);font-size:11px}.kio-stages .b{font-weight:700}
.kio-stages .m{text-anchor:middle}.kio-stages .e{text-anchor:end}
.kio-stages .w{fill:#fff;font-weight:700}.kio-stages .k{fill:#111;font-weight:700}
"""


class StageChart(Picture):
    """`sides` by the name of the cluster: the mean stages of each situation's requests."""

    def __init__(self, sides: Mapping[str, Mapping[str, Requests]]) -> None:
        self.sides = {name: sides[name] for name in sorted(sides, key=lambda s: s != "engine")}
        self.situations = list(next(iter(self.sides.values()), {}))

    @property
    def text(self) -> str:
        head = ("situation", "side", "requests", *WORDS, "then muted")
        rows = [head, *self._rows()]
        widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
        lines = ["  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip()
                 for row in rows]  # fmt: skip
        title = "Mean time of a request in each stage, and of the client's silence after it, in ms"
        return "\n".join([title, *lines])

    def _rows(self) -> list[tuple[str, ...]]:
        return [
            (
                situation,
                side,
                str(table[situation].count),
                *(f"{table[situation].mean_ms(stage):.2f}" for stage in (*TIMED, THROTTLE)),
            )
            for situation in self.situations
            for side, table in self.sides.items()
        ]

    def svg(self) -> str:
        block = (BAR + 3) * len(self.sides) + GAP
        height = TOP + block * len(self.situations) + 40
        parts = [
            '<text class="b" x="16" y="24">Where the time of a request went</text>'
            f'<text class="s e" x="{WIDTH - 14}" y="24">mean of a request</text>'
        ]
        for place, situation in enumerate(self.situations):
            top = TOP + block * place
            middle = top + (block - GAP) / 2 + 4
            parts.append(f'<text class="b" x="16" y="{middle:.0f}">{escape(situation)}</text>')
            for row, (side, table) in enumerate(self.sides.items()):
                parts += _bar(side, table[situation], top + (BAR + 3) * row)
        parts += _legend(height - 18)
        return picture("kio-stages", WIDTH, height, self.text, STYLE, parts)


def _bar(side: str, requests: Requests, top: float) -> list[str]:
    """One bar: parts in the order in which a request meets them."""
    means = [requests.mean_ms(stage) for stage in TIMED]
    whole, muted = sum(means) or 1.0, requests.mean_ms(THROTTLE)
    wide, x = WIDTH - LEFT - RIGHT - (MUTED_WIDTH + 8 if muted else 0), float(LEFT)
    parts = [f'<text class="s e" x="{LEFT - 8}" y="{top + 14:.0f}">{escape(side)}</text>']
    for mean, colour, letter in zip(means, COLOURS, LETTERS, strict=True):
        width = wide * mean / whole
        if width < 0.5:
            continue
        parts.append(
            f'<rect x="{x:.1f}" y="{top:.0f}" width="{width:.1f}" height="{BAR}" fill="{colour}" '
            'stroke="var(--bg)"/>'
        )
        if width >= NARROWEST:
            ink = "k" if colour in DARK_ON else "w"
            parts.append(
                f'<text class="m {ink}" x="{x + width / 2:.1f}" y="{top + 14:.0f}">{letter}</text>'
            )
        x += width
    if muted:
        x = LEFT + wide + 8
        parts.append(
            f'<rect x="{x}" y="{top + 1:.0f}" width="{MUTED_WIDTH}" height="{BAR - 2}" '
            'fill="none" stroke="var(--soft)" stroke-dasharray="2 3"/>'
            f'<text class="s m" x="{x + MUTED_WIDTH / 2:.1f}" y="{top + 14:.0f}">'
            f"then muted {muted:.0f} ms</text>"
        )
    shown = f"{whole:.2f} ms" if whole < 100 else f"{whole:.0f} ms"
    parts.append(f'<text class="s e" x="{WIDTH - 14}" y="{top + 14:.0f}">{shown}</text>')
    return parts


def _legend(y: float) -> list[str]:
    parts, x = [], 16.0
    for colour, letter, words in zip(COLOURS, LETTERS, WORDS, strict=True):
        ink = "k" if colour in DARK_ON else "w"
        parts.append(
            f'<rect x="{x:.0f}" y="{y - 12:.0f}" width="16" height="16" fill="{colour}"/>'
            f'<text class="m {ink}" x="{x + 8:.0f}" y="{y:.0f}">{letter}</text>'
            f'<text class="s" x="{x + 22:.0f}" y="{y:.0f}">{words}</text>'
        )
        x += 22 + 6.3 * len(words) + 20
    return parts
