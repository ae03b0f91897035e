"""The Cluster panel's own signs in a still picture: a timeline, a difference, an empty place."""

from __future__ import annotations

from kit.film.shapes import box, text

CELL_WIDTH, CELL_HEIGHT, GAP = 52, 40, 6


def badge(x: float, y: float, take: int) -> str:
    colour, kind = (("var(--accent)", "one"), ("var(--two)", "two"))[take]
    return (
        f'<circle cx="{x}" cy="{y}" r="8" fill="none" stroke="{colour}" stroke-width="1.4"/>'
        + text(x, y + 4, str(take + 1), f"b m {kind}", size=11)
    )


def unequal(x: float, top: int) -> str:
    y = top + CELL_HEIGHT / 2
    return (
        f'<circle cx="{x - 1}" cy="{y}" r="7.5" fill="var(--bg)" stroke="var(--two)" '
        'stroke-width="1.4"/>' + text(x - 1, y + 4, "≠", "b m two", size=11)
    )


def nothing(x: float, top: int) -> str:
    """The place of a record that only the other timeline has."""
    dotted = 'stroke-dasharray="1 4" stroke-linecap="round"'
    return box(x, top, CELL_WIDTH - GAP, CELL_HEIGHT, 6, "none", "var(--two)", 1.2, dotted)
