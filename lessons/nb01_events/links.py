"""How many links n systems need, in pairs and through a log.

Left, each system is wired to every other one, or each sender to each receiver.  Right, each system
has one link, to the log.  Both sides are drawn from the same list of pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, product
from math import cos, pi, sin

from kit.drawings.picture import picture

WIDTH, HEIGHT, RADIUS, DOT = 680, 300, 104, 7
MIDDLE, COLUMN = 128.0, 110.0
Pairs = Sequence[tuple[int, int]]
Places = Sequence[tuple[float, float]]
STYLE = (
    ".kio-links{--bg:#fff;--ink:#1c2430;--soft:#5b6675;--pair:#d55e00;--hub:#0072b2}"
    "@media(prefers-color-scheme:dark){.kio-links{--bg:#111418;--ink:#e8ebf0;--soft:#9aa5b4;"
    "--pair:#ff9248;--hub:#56b4e9}}"
    '.kio-links text{font:14px system-ui,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;'
    "fill:var(--ink);text-anchor:middle}.kio-links .n{font-weight:700;font-size:17px}"
)


def pairs(systems: int) -> int:
    """Links if each system talks to every other one."""
    return systems * (systems - 1) // 2


def through_a_log(systems: int) -> int:
    """Links if each system talks to the log."""
    return systems


@dataclass(frozen=True)
class Links:
    """The links of so many systems."""

    systems: int = 5

    @property
    def text(self) -> str:
        n = self.systems
        return (
            f"{n} systems: {pairs(n)} links if each is wired to every other one, "
            f"{through_a_log(n)} through a log."
        )

    def svg(self) -> str:
        wired = list(combinations(range(self.systems), 2))
        left, right = (ring(self.systems, WIDTH * side, MIDDLE) for side in (0.25, 0.75))
        return drawn(wired, left, right, self.text)


@dataclass(frozen=True)
class Feeds:
    """The links of senders whose data each receiver needs."""

    senders: int = 6
    receivers: int = 4

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Which system depends on which: receivers are numbered after the senders."""
        receivers = range(self.senders, self.senders + self.receivers)
        return list(product(range(self.senders), receivers))

    @property
    def text(self) -> str:
        wired = self.pairs
        return (
            f"{self.senders} senders, {self.receivers} receivers: {_counted(len(wired))} if each "
            f"sender is wired to each receiver, {len(systems_in(wired))} through a log."
        )

    def svg(self) -> str:
        sides = (WIDTH * 0.25, WIDTH * 0.75)
        left, right = (
            [
                *column(self.senders, middle - COLUMN, MIDDLE),
                *column(self.receivers, middle + COLUMN, MIDDLE),
            ]
            for middle in sides
        )
        return drawn(self.pairs, left, right, self.text)


def systems_in(wired: Pairs) -> list[int]:
    """Each system that a list of pairs names, once: it has one link to the log."""
    return sorted({system for pair in wired for system in pair})


def drawn(wired: Pairs, left: Places, right: Places, text: str) -> str:
    """The pairs as lines between the places on the left, and the same systems around the log."""
    hub_x = WIDTH * 0.75
    parts: list[str] = []
    lines = "".join(
        f"M{left[a][0]:.1f} {left[a][1]:.1f}L{left[b][0]:.1f} {left[b][1]:.1f}" for a, b in wired
    )
    parts.append(f'<path d="{lines}" stroke="var(--pair)" stroke-width="1" fill="none"/>')
    joined = systems_in(wired)
    lines = "".join(
        f"M{right[n][0]:.1f} {right[n][1]:.1f}L{hub_x:.1f} {MIDDLE:.1f}" for n in joined
    )
    parts.append(
        f'<path d="{lines}" stroke="var(--hub)" stroke-width="1.5" stroke-dasharray="5 3" '
        'fill="none"/>'
    )
    for x, y in [*left, *right]:
        parts.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{DOT}" fill="var(--bg)" stroke="var(--ink)" '
            'stroke-width="1.5"/>'
        )
    middle = WIDTH * 0.25
    parts.append(
        f'<rect x="{hub_x - 26}" y="{MIDDLE - 13}" width="52" height="26" rx="5" '
        f'fill="var(--bg)" stroke="var(--hub)" stroke-width="2"/>'
        f'<text x="{hub_x}" y="{MIDDLE + 5}">log</text>'
        f'<text class="n" x="{middle}" y="{HEIGHT - 30}">{_counted(len(wired))}</text>'
        f'<text class="n" x="{hub_x}" y="{HEIGHT - 30}">{_counted(len(joined))}</text>'
        f'<text x="{middle}" y="{HEIGHT - 10}">wired in pairs</text>'
        f'<text x="{hub_x}" y="{HEIGHT - 10}">through a log</text>'
    )
    return picture("kio-links", WIDTH, HEIGHT, text, STYLE, parts)


def _counted(links: int) -> str:
    return f"{links} link" if links == 1 else f"{links} links"


def ring(count: int, x: float, y: float) -> list[tuple[float, float]]:
    """Places on a circle, the first at the top."""
    angles = [2 * pi * place / count - pi / 2 for place in range(count)]
    return [(x + RADIUS * cos(angle), y + RADIUS * sin(angle)) for angle in angles]


def column(count: int, x: float, y: float) -> list[tuple[float, float]]:
    """Places one below the other, around a middle."""
    step = 2 * RADIUS / count
    return [(x, y - RADIUS + step * (place + 0.5)) for place in range(count)]
