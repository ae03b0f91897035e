"""The shapes of a still picture: boxes, words and signs as SVG.

Everything is text in, text out; colours are named in the picture's own style, so that they
follow the reader's system for light or dark.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

PALETTE = ("#56b4e9", "#e69f00", "#009e73", "#cc79a7", "#f0e442", "#0072b2")

STYLE = """
svg{--bg:#fff;--card:#f6f7f9;--ink:#1c2430;--soft:#5b6675;--line:#d5dae1;--accent:#0072b2;
--two:#a03d74;--bad:#c04a00;--good:#00735a}
@media(prefers-color-scheme:dark){svg{--bg:#111418;--card:#1a1f26;--ink:#e8ebf0;--soft:#9aa5b4;
--line:#323a45;--accent:#56b4e9;--two:#ef9ccb;--bad:#ff8a50;--good:#3ccfa4}}
text{font:12px system-ui,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;fill:var(--ink)}
.b{font-weight:700}.big{font-size:15px;font-weight:700}.s{fill:var(--soft);font-size:11px}
.m{text-anchor:middle}.e{text-anchor:end}.bad{fill:var(--bad)}.good{fill:var(--good)}
.one{fill:var(--accent)}.two{fill:var(--two)}
.open{stroke-dasharray:4 3}.halo{paint-order:stroke;stroke:var(--bg);stroke-width:3.5px}
"""


def box(
    x: float,
    y: float,
    width: float,
    height: float,
    radius: float,
    fill: str,
    stroke: str,
    stroke_width: float = 1,
    more: str = "",
) -> str:
    return (
        f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="{radius}" fill="{fill}" '
        f'stroke="{stroke}" stroke-width="{stroke_width}" {more}/>'
    )


def text(x: float, y: float, words: str, kind: str = "", size: float | None = None) -> str:
    style = f' style="font-size:{size}px"' if size else ""
    return f'<text x="{x}" y="{y}" class="{kind}"{style}>{escape(words)}</text>'


def stripes(number: int, colour: str) -> str:
    return (
        f'<pattern id="kio-still-{number}" width="7" height="7" patternUnits="userSpaceOnUse" '
        'patternTransform="rotate(45)"><rect width="7" height="7" fill="var(--bg)"/>'
        f'<rect width="2" height="7" fill="{colour}" fill-opacity=".6"/></pattern>'
    )


def coloured(
    numbers: Iterable[int], full: str, hatched: str, edge: str = "", more: str = ""
) -> str:
    """Styles of two classes for each colour's number, as `k0` and `o0`: full, and hatched.

    `edge` is the edge of what is hatched, its own colour by default; `more` are other styles.
    """
    used = sorted({*numbers})
    styles = "".join(
        f".{full}{at}{{fill:{PALETTE[at]};fill-opacity:.36;stroke:{PALETTE[at]}}}"
        f".{hatched}{at}{{fill:url(#kio-still-{at});stroke:{edge or PALETTE[at]};"
        "stroke-dasharray:4 3}"
        for at in used
    )
    patterns = "".join(stripes(at, PALETTE[at]) for at in used)
    return f"<style>{more}{styles}</style><defs>{patterns}</defs>"
