"""How the series of a chart differ: a colour for each, and a shape for readers without colours.

The colours are Okabe and Ito's.  Two of them change places with a lighter one on a dark page.
"""

from __future__ import annotations

COLOURS = (
    ".kio-chart{--c0:#0072b2;--c1:#d55e00;--c2:#009e73;--c3:#cc79a7;--c4:#e69f00;--c5:#56b4e9}"
    "@media(prefers-color-scheme:dark){.kio-chart{--c0:#56b4e9;--c5:#3d95d0}}"
)
DASHES = ("", "7 4", "2 3", "10 3 2 3", "12 5", "4 2 1 2")
SHAPES = (
    "M{l} {y}A4 4 0 1 1 {r} {y}A4 4 0 1 1 {l} {y}Z",
    "M{l} {t}H{r}V{b}H{l}Z",
    "M{x} {t}L{r} {b}H{l}Z",
    "M{x} {t}L{r} {y}L{x} {b}L{l} {y}Z",
    "M{l} {t}L{r} {b}M{l} {b}L{r} {t}",
    "M{x} {t}V{b}M{l} {y}H{r}",
)
STRIPES = (
    "",
    "M0 8L8 0M-2 2L2 -2M6 10L10 6",
    "M2 2h1M6 6h1",
    "M0 2H8M0 6H8",
    "M2 0V8M6 0V8",
    "M0 0L8 8M0 8L8 0",
)
MOST = len(SHAPES)


def marker(number: int, x: float, y: float) -> str:
    """The shape of a series around a point."""
    sides = {"x": x, "y": y, "l": x - 4, "r": x + 4, "t": y - 4, "b": y + 4}
    path = SHAPES[number].format(**{side: px(value) for side, value in sides.items()})
    return (
        f'<path d="{path}" fill="var(--c{number})" stroke="var(--c{number})" stroke-width="1.6"/>'
    )


def stripes(name: str, number: int) -> str:
    """What fills a series' bars, to be used as `url(#name)`; the first series needs none."""
    return (
        f'<pattern id="{name}" width="8" height="8" patternUnits="userSpaceOnUse">'
        f'<rect width="8" height="8" fill="var(--c{number})" fill-opacity=".25"/>'
        f'<path d="{STRIPES[number]}" stroke="var(--c{number})" stroke-width="2"/></pattern>'
    )


def px(pixels: float) -> str:
    """A coordinate with at most one decimal."""
    return f"{pixels:.1f}".removesuffix(".0")
