"""How many links n systems need, in pairs and through a log.

Left, each system is wired to every other one.  Right, each system has one link, to the log.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import cos, pi, sin

from kit.drawings.picture import picture

WIDTH, HEIGHT, RADIUS, DOT = 680, 300, 104, 7
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
        return drawn(self.systems, self.text)


def drawn(systems: int, text: str) -> str:
    left, right, middle = WIDTH * 0.25, WIDTH * 0.75, 128.0
    parts: list[str] = []
    wired = ring(systems, left, middle)
    lines = "".join(
        f"M{a[0]:.1f} {a[1]:.1f}L{b[0]:.1f} {b[1]:.1f}"
        for place, a in enumerate(wired)
        for b in wired[place + 1 :]
    )
    parts.append(f'<path d="{lines}" stroke="var(--pair)" stroke-width="1" fill="none"/>')
    spokes = ring(systems, right, middle)
    lines = "".join(f"M{x:.1f} {y:.1f}L{right:.1f} {middle:.1f}" for x, y in spokes)
    parts.append(
        f'<path d="{lines}" stroke="var(--hub)" stroke-width="1.5" stroke-dasharray="5 3" '
        'fill="none"/>'
    )
    for x, y in [*wired, *spokes]:
        parts.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{DOT}" fill="var(--bg)" stroke="var(--ink)" '
            'stroke-width="1.5"/>'
        )
    parts.append(
        f'<rect x="{right - 26}" y="{middle - 13}" width="52" height="26" rx="5" '
        f'fill="var(--bg)" stroke="var(--hub)" stroke-width="2"/>'
        f'<text x="{right}" y="{middle + 5}">log</text>'
        f'<text class="n" x="{left}" y="{HEIGHT - 30}">{_counted(pairs(systems))}</text>'
        f'<text class="n" x="{right}" y="{HEIGHT - 30}">{_counted(through_a_log(systems))}</text>'
        f'<text x="{left}" y="{HEIGHT - 10}">wired in pairs</text>'
        f'<text x="{right}" y="{HEIGHT - 10}">through a log</text>'
    )
    return picture("kio-links", WIDTH, HEIGHT, text, STYLE, parts)


def _counted(links: int) -> str:
    return f"{links} link" if links == 1 else f"{links} links"


def ring(count: int, x: float, y: float) -> list[tuple[float, float]]:
    """Places on a circle, the first at the top."""
    angles = [2 * pi * place / count - pi / 2 for place in range(count)]
    return [(x + RADIUS * cos(angle), y + RADIUS * sin(angle)) for angle in angles]
