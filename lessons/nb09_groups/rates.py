"""How many records whole groups read, step after step, while their workers restart.

    rates = Rates(0.5, ["range", "static"])
    rates.note("range", polls_s, [("A", 0.0), ("B", 3.1)])
    rates                                # one picture; all share one axis of time

A curve is a group; a letter below it is the moment at which that worker was closed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape

from kit.drawings.picture import Picture, picture

WIDTH, LEFT, RIGHT, TOP = 680, 150, 84, 36
CURVE, GAP, AXIS = 44, 18, 32
STYLE = (
    ".kio-rates{--bg:#fff;--ink:#1c2430;--soft:#5b6675;--bar:#0072b2}"
    "@media(prefers-color-scheme:dark){.kio-rates{--bg:#111418;--ink:#e8ebf0;--soft:#9aa5b4;"
    "--bar:#56b4e9}}"
    '.kio-rates text{font:13px system-ui,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;'
    "fill:var(--ink)}.kio-rates .s{fill:var(--soft);font-size:12px}"
    ".kio-rates .b{font-weight:700;font-size:14px}.kio-rates .e{text-anchor:end}"
    ".kio-rates .m{text-anchor:middle}"
)
Restart = tuple[str, float]
"""A worker, and the second at which it was closed."""


class Rates(Picture):
    """A curve for each group, in the order of `names`; a step of time has `step_s` seconds."""

    def __init__(self, step_s: float, names: Iterable[str]) -> None:
        self.step_s = step_s
        self.noted: dict[str, list[int]] = {name: [] for name in names}
        self.restarts: dict[str, tuple[Restart, ...]] = dict.fromkeys(self.noted, ())

    def note(
        self, name: str, polls_s: Iterable[float], restarts: Sequence[Restart] = ()
    ) -> list[int]:
        """Records of each step of time, from the seconds at which polls returned one.

        The last step is left out: it is not over.
        """
        steps = [int(at / self.step_s) for at in polls_s]
        counts = [0] * max(steps, default=0)
        for step in steps:
            if step < len(counts):
                counts[step] += 1
        self.noted[name], self.restarts[name] = counts, tuple(restarts)
        return counts

    @property
    def title(self) -> str:
        return f"Records read in each {self.step_s:g} s"

    @property
    def text(self) -> str:
        lines = [self.title]
        for name, counts in self.noted.items():
            closed = ", ".join(f"{worker} at {at:.1f} s" for worker, at in self.restarts[name])
            lines.append(f"{name}: {' '.join(map(str, counts))}; closed: {closed or 'no worker'}")
        return "\n".join(lines)

    def svg(self) -> str:
        bottom = TOP + len(self.noted) * (CURVE + GAP)
        steps = max(map(len, self.noted.values()), default=0) or 1
        most = max((max(counts, default=0) for counts in self.noted.values()), default=0) or 1
        width = (WIDTH - LEFT - RIGHT) / steps
        parts = [
            f'<text class="b" x="18" y="25">{self.title}</text>',
            f'<text class="s" x="{LEFT + 96}" y="25">a letter: that worker closes</text>',
        ]
        for number, name in enumerate(self.noted):
            floor = TOP + number * (CURVE + GAP) + CURVE
            parts += self._curve(name, floor, width, CURVE / most)
        every = next(each for each in (1, 2, 5, 10, 30, 60, 600) if steps * self.step_s <= 9 * each)
        for at in range(0, int(steps * self.step_s) + 1, every):
            x = LEFT + at / self.step_s * width
            parts.append(f'<text class="s m" x="{x:.0f}" y="{bottom + 14}">{at}</text>')
        parts.append(f'<text class="s" x="{WIDTH - RIGHT + 18}" y="{bottom + 14}">seconds</text>')
        words = f"{self.title}: {', '.join(self.noted)}"
        return picture("kio-rates", WIDTH, bottom + AXIS, words, STYLE, parts)

    def _curve(self, name: str, floor: int, width: float, height: float) -> Iterator[str]:
        yield f'<text class="e" x="{LEFT - 12}" y="{floor - 16}">{escape(name)}</text>'
        tops = "".join(f"V{count}h1" for count in self.noted[name])
        scaled = f"translate({LEFT} {floor}) scale({width:.2f} {-height:.4f})"
        yield f'<path transform="{scaled}" d="M0 0{tops}V0Z" fill="var(--bar)"/>'
        for worker, at in self.restarts[name]:
            x = LEFT + at / self.step_s * width
            yield f'<text class="s m" x="{x:.0f}" y="{floor + 12}">{escape(worker)}</text>'
