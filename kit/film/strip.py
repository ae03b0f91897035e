"""A strip: up to five moments of a timeline, one below the other, like a comic.

It is a recorded world's still picture, for notebooks that are read without a kernel.  On the left
are the time and the sentence of a moment, on the right a small picture of it, which each panel
draws itself.  The moment in view has a bar at its side.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from kit.film.film import Film
from kit.film.output import RERUN
from kit.film.shapes import STYLE, box, text
from kit.film.steps import plain

MOST = 5
WIDTH, LEFT, RIGHT = 820, 326, 802
"""Between LEFT and RIGHT is the room of the small pictures."""
ACROSS, LINE = 46, 16
SHAPES = ".f{font-size:11px}.v{font-size:10px}"


@dataclass(frozen=True)
class Small:
    """A small picture: SVG whose upper edge is at 0, and its height."""

    parts: Sequence[str]
    high: float


@dataclass(frozen=True)
class Look:
    """What a panel brings: a title, a small picture per moment, their styles, and what they mean.

    `head` is drawn once, in the line of the title, and `foot` below the moments.
    """

    title: str
    smalls: Sequence[Small]
    shapes: str
    legend: str
    head: Sequence[str] = ()
    foot: Small = Small((), 0)


@dataclass(frozen=True)
class Shot:
    """A moment of the strip; `at_s` is the virtual time since the recording began."""

    at_s: float
    caption: str
    in_view: bool


def chosen(film: Film, place: int) -> list[int]:
    """The moments of the strip: the one in view, and the weightiest of those that have a name.

    Of equals, those that are nearer to the moment in view.
    """
    weights = {
        at: max(film.weight(each) for each in named)
        for at in range(len(film.moments))
        if (named := [each for _, each in film.told(at) if each.label])
    }
    others = sorted(weights.keys() - {place}, key=lambda at: (-weights[at], abs(at - place), at))
    return sorted({place, *others[: MOST - 1]})


def draw(shots: Sequence[Shot], look: Look) -> str:
    """The strip as SVG."""
    parts: list[str] = []
    y = 46.0
    for shot, small in zip(shots, look.smalls, strict=True):
        lines = textwrap.wrap(plain(shot.caption), ACROSS)
        high = max(30 + LINE * len(lines), small.high + 18)
        parts += _shot(shot, small, lines, y, high)
        y += high
    parts += [f'<g transform="translate(0 {y})">', *look.foot.parts, "</g>"]
    y += look.foot.high
    aloud = f"{look.title}, {len(shots)} moments. " + " ".join(
        f"In view, {shot.at_s:.3f} s: {plain(shot.caption)}" for shot in shots if shot.in_view
    )
    return "".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{y + 34:.0f}" '
            f'viewBox="0 0 {WIDTH} {y + 34:.0f}" style="max-width:100%;height:auto" '
            f'role="img" aria-label="{escape(aloud)}">',
            f"<style>{STYLE}{SHAPES}</style>{look.shapes}",
            box(0.5, 0.5, WIDTH - 1, round(y) + 33, 10, "var(--bg)", "var(--line)"),
            text(18, 30, look.title, "big"),
            '<g transform="translate(0 40)">',
            *look.head,
            "</g>",
            *parts,
            f'<path d="M0 {y:.0f}H{WIDTH}" stroke="var(--line)"/>',
            text(18, y + 21, look.legend, "s"),
            text(RIGHT, y + 21, RERUN, "s e"),
            "</svg>",
        ]
    )


def _shot(shot: Shot, small: Small, lines: Sequence[str], y: float, high: float) -> Iterator[str]:
    if shot.in_view:
        yield f'<path d="M4 {y + 6}V{y + high - 6}" stroke="var(--accent)" stroke-width="3"/>'
    yield f'<path d="M18 {y}H{RIGHT}" stroke="var(--line)"/>'
    seen = '<tspan class="one" dx="8">in view</tspan>' if shot.in_view else ""
    yield f'<text x="18" y="{y + 19}" class="b">{shot.at_s:.3f} s{seen}</text>'
    words = (f'<tspan x="18" dy="{LINE}">{escape(line)}</tspan>' for line in lines)
    yield f'<text y="{y + 20}">{"".join(words)}</text>'
    yield f'<g transform="translate({LEFT} {y + 9})">{"".join(small.parts)}</g>'
