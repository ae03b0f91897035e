"""Keys before and after a change of the partition count, as ribbons from left to right.

    KeyMoves(["hash modulo n", "consistent hashing"], [(before, after), (before, after)])

A ribbon is as thick as its share of the keys.  Keys that stay are grey, keys that move are orange.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from html import escape

from kit.drawings.picture import Picture, picture

Placed = Mapping[str, int]
"""Key to partition."""
WIDTH, TOP, HEIGHT, BAR, GAP = 760, 58, 230, 14, 6
STYLE = (
    ".kio-moves{--bg:#fff;--ink:#1c2430;--soft:#5b6675;--stay:#8b94a1;--move:#d55e00}"
    "@media(prefers-color-scheme:dark){.kio-moves{--bg:#111418;--ink:#e8ebf0;--soft:#9aa5b4;"
    "--stay:#7b8594;--move:#e69f00}}"
    '.kio-moves text{font:13px system-ui,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;'
    "fill:var(--ink)}.kio-moves .s{fill:var(--soft)}.kio-moves .b{font-weight:700;font-size:14px}"
    ".kio-moves .e{text-anchor:end}"
)


def moved(before: Placed, after: Placed) -> int:
    """How many keys have another partition."""
    return sum(after[key] != partition for key, partition in before.items())


class KeyMoves(Picture):
    """One panel for each rule, side by side."""

    def __init__(self, rules: Sequence[str], placed: Sequence[tuple[Placed, Placed]]) -> None:
        self.panels = list(zip(rules, placed, strict=True))

    @property
    def text(self) -> str:
        return "\n".join(
            f"{rule}, {_count(before)} to {_count(after)} partitions: "
            f"{moved(before, after)} of {len(before)} keys move"
            for rule, (before, after) in self.panels
        )

    def svg(self) -> str:
        height = TOP + HEIGHT + 22
        wide = WIDTH / len(self.panels)
        parts: list[str] = []
        for number, (rule, (before, after)) in enumerate(self.panels):
            share = moved(before, after) / max(1, len(before))
            left = number * wide
            parts.append(
                f'<text class="b" x="{left + 20:.0f}" y="26">{escape(rule)}</text>'
                f'<text class="s" x="{left + 20:.0f}" y="45">{_count(before)} to {_count(after)}: '
                f"{share:.0%} of the keys move</text>"
            )
            parts += _panel(before, after, left + 46, left + wide - 46)
        return picture("kio-moves", WIDTH, height, self.text, STYLE, parts)


def _count(placed: Placed) -> int:
    return max(placed.values(), default=-1) + 1


def _panel(before: Placed, after: Placed, left: float, right: float) -> Iterator[str]:
    flows = Counter((before[key], after[key]) for key in before)
    starts = _tops(Counter(before.values()), _count(before))
    ends = _tops(Counter(after.values()), _count(after))
    scale = {"from": _scale(before), "to": _scale(after)}
    at = dict(starts), dict(ends)
    stay: list[str] = []
    move: list[str] = []
    for (source, goal), keys in sorted(flows.items()):
        a, b = at[0][source], at[1][goal]
        thick = keys * scale["from"], keys * scale["to"]
        at[0][source], at[1][goal] = a + thick[0], b + thick[1]
        x1, x2, mid = left + BAR, right - BAR, (left + right) / 2
        (stay if source == goal else move).append(
            f'<path d="M{x1:.1f} {a:.1f}C{mid:.1f} {a:.1f} {mid:.1f} {b:.1f} {x2:.1f} {b:.1f}'
            f'V{b + thick[1]:.1f}C{mid:.1f} {b + thick[1]:.1f} {mid:.1f} {a + thick[0]:.1f} '
            f'{x1:.1f} {a + thick[0]:.1f}Z">'
            f"<title>{keys} key{'s' * (keys != 1)} from {source} to {goal}</title></path>"
        )  # fmt: skip
    yield f'<g fill="var(--stay)" fill-opacity="0.55">{"".join(stay)}</g>'
    yield f'<g fill="var(--move)" fill-opacity="0.42">{"".join(move)}</g>'
    yield '<g fill="var(--ink)">'
    for x, tops, sizes, per_key, anchor, words in (
        (left, starts, Counter(before.values()), scale["from"], ' class="e"', left - 8),
        (right - BAR, ends, Counter(after.values()), scale["to"], "", right + 8),
    ):
        for partition, top in tops.items():
            high = max(1.0, sizes[partition] * per_key)
            yield (
                f'<rect x="{x:.1f}" y="{top:.1f}" width="{BAR}" height="{high:.1f}" rx="2"/>'
                f'<text{anchor} x="{words:.1f}" y="{top + high / 2 + 5:.1f}">p{partition}</text>'
            )
    yield "</g>"


def _scale(placed: Placed) -> float:
    """Pixels for one key."""
    return (HEIGHT - GAP * (_count(placed) - 1)) / max(1, len(placed))


def _tops(sizes: Counter[int], partitions: int) -> dict[int, float]:
    per_key = (HEIGHT - GAP * (partitions - 1)) / max(1, sizes.total())
    found, y = {}, float(TOP)
    for partition in range(partitions):
        found[partition] = y
        y += sizes[partition] * per_key + GAP
    return found
