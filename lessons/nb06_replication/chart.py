"""Acknowledged records per 100 ms around a failure, a strip for each side, as one picture.

It is an SVG picture and needs no plot library: it is small enough to stay in the notebook's
file, so a reader without a kernel sees it.  It brings its own background and follows the
reader's system for light or dark, as the panel's still picture does.
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from kit.probes.background_load import BackgroundLoad

WIDTH, STRIP, LEFT, RIGHT, BAR_S = 820, 120, 90, 20, 0.1
STYLE = """
svg{--bg:#fff;--ink:#1c2430;--soft:#5b6675;--line:#d5dae1;--bar:#0072b2;--gap:#fbe6da;--bad:#c04a00}
@media(prefers-color-scheme:dark){svg{--bg:#111418;--ink:#e8ebf0;--soft:#9aa5b4;--line:#323a45;
--bar:#56b4e9;--gap:#3a2418;--bad:#ff8a50}}
text{font:12px system-ui,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;fill:var(--ink)}
.s{fill:var(--soft);font-size:11px}.b{font-weight:700}.m{text-anchor:middle}.e{text-anchor:end}
.bad{fill:var(--bad)}
"""


class AcknowledgedPerMoment:
    """`loads` by the name of the cluster they ran on; time 0 is the first event of each."""

    def __init__(self, loads: Mapping[str, BackgroundLoad]) -> None:
        loads = {name: loads[name] for name in sorted(loads, key=lambda name: name != "engine")}
        self.sides = {name: _bars(load) for name, load in loads.items()}
        self.gaps = {name: _gap(load) for name, load in loads.items()}
        self.events = {
            name: [(at - load.events[0][0], what) for at, what in load.events]
            for name, load in loads.items()
        }

    @property
    def text(self) -> str:
        return "\n".join(
            f"{name}: nothing acknowledged from {abs(start):.1f} s to {end:.1f} s after the kill"
            for name, (start, end) in self.gaps.items()
        )

    def __repr__(self) -> str:
        return self.text

    def _repr_mimebundle_(self, **kwargs: object) -> dict[str, str]:
        return {"text/plain": self.text, "image/svg+xml": self.svg()}

    def svg(self) -> str:
        first = min(min(bars, default=0) for bars in self.sides.values()) * BAR_S
        last = max(max(bars, default=0) for bars in self.sides.values()) * BAR_S + BAR_S
        scale = (WIDTH - LEFT - RIGHT) / (last - first)

        def x(seconds: float) -> float:
            return round(LEFT + (seconds - first) * scale, 1)

        height = STRIP * len(self.sides) + 44
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
            f'viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(self.text)}">'
            f"<style>{STYLE}</style>"
            f'<rect width="{WIDTH}" height="{height}" rx="10" fill="var(--bg)"/>'
        ]
        for place, name in enumerate(self.sides):
            parts += self._strip(name, place * STRIP + 18, x, scale)
        base = STRIP * len(self.sides) + 14
        for second in range(int(first), int(last) + 1):
            parts.append(f'<text class="s m" x="{x(second)}" y="{base}">{second} s</text>')
        words = "acknowledged records per 100 ms; 0 s is the kill"
        parts.append(f'<text class="s m" x="{WIDTH / 2}" y="{base + 18}">{words}</text></svg>')
        return "".join(parts)

    def _strip(self, name: str, top: int, x, scale: float) -> list[str]:  # type: ignore[no-untyped-def]
        bars, (start, end) = self.sides[name], self.gaps[name]
        floor, tallest = top + 84, max(bars.values(), default=1)
        parts = [
            f'<text class="b e" x="{LEFT - 12}" y="{floor - 30}">{escape(name)}</text>'
            f'<rect x="{x(start)}" y="{top + 14}" width="{x(end) - x(start):.1f}" height="70" '
            f'fill="var(--gap)"/><path d="M{LEFT} {floor}H{WIDTH - RIGHT}" stroke="var(--line)"/>'
        ]
        width = max(1.0, scale * BAR_S - 1)
        for bar, count in bars.items():
            tall = 66 * count / tallest
            parts.append(
                f'<rect x="{x(bar * BAR_S)}" y="{floor - tall:.1f}" width="{width:.1f}" '
                f'height="{tall:.1f}" fill="var(--bar)"/>'
            )
        for at, what in self.events[name]:
            anchor = "e" if at <= 0 else ""
            parts.append(
                f'<path d="M{x(at)} {top + 6}V{floor}" stroke="var(--bad)" stroke-dasharray="4 3"/>'
                f'<text class="bad {anchor}" x="{x(at) + (-5 if anchor else 5)}" y="{top + 10}">'
                f"{escape(what)}</text>"
            )
        return parts


def _bars(load: BackgroundLoad) -> dict[int, int]:
    """Acknowledgements per bar; bar 0 begins with the first event."""
    bars: dict[int, int] = {}
    for at in load.moments:
        bar = int((at - load.events[0][0]) // BAR_S)
        bars[bar] = bars.get(bar, 0) + 1
    return bars


def _gap(load: BackgroundLoad) -> tuple[float, float]:
    """The longest stretch without an acknowledgement, in seconds after the first event."""
    start = load.events[0][0]
    pairs = list(zip(load.moments, load.moments[1:], strict=False))
    earlier, later = max(pairs, key=lambda pair: pair[1] - pair[0])
    return earlier - start, later - start
