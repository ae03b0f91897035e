"""The stop-the-world bars of several protocols and sides, one above the other.

    stops = Stops(partitions=7)
    stops.note("engine", "range", since_us, pauses, generations=1)
    stops                                # one picture; all share one axis of time

A row is a partition; a bar is a time in which no member read it.  Nothing is drawn that the
members have not reported: a bar begins when a partition is given back and ends with the first
record that its next owner has processed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape

from kit.drawings.picture import Picture, picture
from kit.group_panel.ownership import Pause

WIDTH, LEFT, RIGHT, TOP = 680, 150, 84, 52
ROW, GAP, AXIS = 9, 16, 34
STYLE = (
    ".kio-stops{--bg:#fff;--ink:#1c2430;--soft:#5b6675;--line:#e2e6ec;--bar:#c04a00}"
    "@media(prefers-color-scheme:dark){.kio-stops{--bg:#111418;--ink:#e8ebf0;--soft:#9aa5b4;"
    "--line:#2a313b;--bar:#ff8a50}}"
    '.kio-stops text{font:13px system-ui,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;'
    "fill:var(--ink)}.kio-stops .s{fill:var(--soft);font-size:12px}"
    ".kio-stops .b{font-weight:700;font-size:14px}.kio-stops .e{text-anchor:end}"
    ".kio-stops .m{text-anchor:middle}"
)
Bar = tuple[int, float, float]
"""Partition, and from when to when in seconds."""


class Stops(Picture):
    """The pauses that were noted, by protocol and side."""

    def __init__(self, partitions: int) -> None:
        self.partitions = partitions
        self.noted: dict[tuple[str, str], list[Bar]] = {}
        self.generations: dict[tuple[str, str], int] = {}
        self.gaps_s: dict[tuple[str, str], float] = {}

    def note(
        self,
        side: str,
        protocol: str,
        since_us: int,
        pauses: Iterable[Pause],
        generations: int,
        gap_s: float = 0.0,
    ) -> list[Bar]:
        """The pauses of one group on one side, as bars; one that has not ended is left out.

        `generations` is how many began meanwhile, `gap_s` the longest time without a record for
        any member.
        """
        self.generations[protocol, side] = generations
        self.gaps_s[protocol, side] = gap_s
        bars = self.noted[protocol, side] = [
            (each.partition[1], (each.start_us - since_us) / 1e6, (each.end_us - since_us) / 1e6)
            for each in pauses
            if each.end_us is not None
        ]
        return bars

    @property
    def text(self) -> str:
        return "\n".join(
            f"{protocol}, {side}: {_told(bars)}, {self._generations(protocol, side)}; "
            f"no member read for {self.gaps_s[protocol, side]:.1f} s at most"
            for protocol, side, bars in self._in_order()
        )

    def svg(self) -> str:
        groups = list(self._in_order())
        block = ROW * self.partitions
        bottom = TOP + len(groups) * (block + GAP)
        height = bottom + AXIS
        last = max((to for _, _, bars in groups for _, _, to in bars), default=1.0)
        scale = (WIDTH - LEFT - RIGHT) / max(last, 0.1)
        parts = [
            '<text class="b" x="18" y="25">When no worker read a partition</text>',
            f'<text class="s" x="18" y="42">a row is one of {self.partitions} partitions; '
            "D joins at 0</text>",
        ]
        for number, (protocol, side, bars) in enumerate(groups):
            parts += self._block(protocol, side, bars, TOP + number * (block + GAP) + 6, scale)
        step = next(each for each in (0.5, 1, 2, 5, 10, 30, 60, 600) if last / each <= 8)
        for count in range(int(last / step) + 1):
            at = LEFT + count * step * scale
            parts.append(
                f'<text class="s m" x="{at:.1f}" y="{bottom + 14}">{count * step:g}</text>'
            )
        parts.append(f'<text class="s" x="{WIDTH - RIGHT + 8}" y="{bottom + 14}">seconds</text>')
        return picture("kio-stops", WIDTH, height, self.text, STYLE, parts)

    def _block(
        self, protocol: str, side: str, bars: list[Bar], top: float, scale: float
    ) -> Iterator[str]:
        middle = top + ROW * self.partitions / 2
        yield f'<text class="e" x="{LEFT - 12}" y="{middle - 2}">{escape(protocol)}</text>'
        words = f"{side}, {self._generations(protocol, side)}"
        yield f'<text class="s e" x="{LEFT - 12}" y="{middle + 14}">{escape(words)}</text>'
        for row in range(self.partitions):
            yield (
                f'<rect x="{LEFT}" y="{top + row * ROW}" width="{WIDTH - LEFT - RIGHT}" '
                f'height="{ROW - 2}" fill="var(--line)"/>'
            )
        for index, since, to in bars:
            yield (
                f'<rect x="{LEFT + max(0.0, since) * scale:.1f}" y="{top + index * ROW}" '
                f'width="{max(2.0, (to - max(0.0, since)) * scale):.1f}" height="{ROW - 2}" '
                f'fill="var(--bar)"/>'
            )
        yield f'<text class="s" x="{WIDTH - RIGHT + 8}" y="{middle + 4}">{total(bars):.1f} s</text>'

    def _generations(self, protocol: str, side: str) -> str:
        count = self.generations[protocol, side]
        return "1 generation" if count == 1 else f"{count} generations"

    def _in_order(self) -> Iterator[tuple[str, str, list[Bar]]]:
        for protocol, side in sorted(self.noted, key=_place):
            yield protocol, side, self.noted[protocol, side]


def _place(noted: tuple[str, str]) -> tuple[int, str, str]:
    """Eager first, then cooperative, then the consumer protocol."""
    protocol, side = noted
    return {"cooperative-sticky": 1, "consumer": 2}.get(protocol, 0), protocol, side


def total(bars: Iterable[Bar]) -> float:
    """Seconds, all bars together."""
    return sum(to - since for _, since, to in bars)


def _told(bars: list[Bar]) -> str:
    stopped = len({index for index, _, _ in bars})
    what = "partition" if stopped == 1 else "partitions"
    return f"{stopped} {what} stopped, {total(bars):.1f} s added up"
