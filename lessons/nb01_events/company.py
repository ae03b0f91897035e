"""An order company before and after: a new team needs the orders, by calls or on a log.

The arrows are those of two designs in change_cost.py: a -> b says that a's code names b.  A call
uses the protocol of the service that is called; every arrow to the log has Kafka's.  The new
team's arrow follows from what the design says must change.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from math import hypot

from kit.drawings.picture import Picture, picture
from lessons.nb01_events.change_cost import Design

SPEAKS = {"payment": "HTTP", "stock": "JDBC", "mail": "SMTP", "loyalty": "gRPC", "log": "Kafka"}
"""The protocol in which each of them is asked."""
HUB = "log"
Arrow = tuple[str, str]

WIDTH, HEIGHT, TITLE, BOX_WIDTH, BOX_HEIGHT = 680, 300, 26, 78, 28
MIDDLE = 165.0
BEFORE = {
    "checkout": (60.0, MIDDLE),
    "payment": (270.0, 65.0),
    "stock": (270.0, 130.0),
    "mail": (270.0, 200.0),
    "loyalty": (270.0, 265.0),
}
AFTER = {
    "checkout": (400.0, MIDDLE),
    "log": (505.0, MIDDLE),
    "payment": (625.0, 65.0),
    "stock": (625.0, 130.0),
    "mail": (625.0, 200.0),
    "loyalty": (625.0, 265.0),
}
STYLE = (
    ".kio-company{--bg:#fff;--ink:#1c2430;--soft:#5b6675;--new:#d55e00}"
    "@media(prefers-color-scheme:dark){.kio-company{--bg:#111418;--ink:#e8ebf0;--soft:#9aa5b4;"
    "--new:#ff9248}}"
    '.kio-company text{font:13px system-ui,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;'
    "fill:var(--ink);text-anchor:middle}.kio-company .b{font-weight:700;font-size:14px}"
    ".kio-company .s{fill:var(--soft);paint-order:stroke;stroke:var(--bg);stroke-width:5px}"
)


def arrows(design: Design) -> list[Arrow]:
    """Those that are there before the new team."""
    return [(part, named) for part, all_named in design.names.items() for named in all_named]


def new_arrow(design: Design, team: str) -> Arrow:
    """From each part that must name the team, or else from the team to the log."""
    changed, _ = design.added(team)
    return (min(changed), team) if changed else (team, HUB)


@dataclass(frozen=True, repr=False)
class Company(Picture):
    """`calling` and `on_log` are the same parts; `team` is the one that is added."""

    calling: Design
    on_log: Design
    team: str = "loyalty"

    @property
    def text(self) -> str:
        lines = [f"The {self.team} team needs the orders"]
        for when, design in (("by calls", self.calling), ("on a log", self.on_log)):
            there = ", ".join(map(_said, arrows(design)))
            lines.append(f"{when}: {there}; new: {_said(new_arrow(design, self.team))}")
        return "\n".join(lines)

    def svg(self) -> str:
        parts = [f'<path d="M340 {TITLE - 10}V{HEIGHT - 20}" stroke="var(--soft)"/>']
        for title, middle, design, places in (
            ("before: calls", 170, self.calling, BEFORE),
            ("after: a log", 510, self.on_log, AFTER),
        ):
            parts.append(f'<text class="b" x="{middle}" y="{TITLE}">{title}</text>')
            parts += self._half(design, places)
        parts.append('<text class="s" x="430" y="215">one protocol: Kafka\'s</text>')
        return picture("kio-company", WIDTH, HEIGHT, self.text, STYLE, parts)

    def _half(self, design: Design, places: dict[str, tuple[float, float]]) -> Iterator[str]:
        new = new_arrow(design, self.team)
        for arrow in [*arrows(design), new]:
            (x, y), (to_x, to_y) = (places[name] for name in arrow)
            words = "" if arrow[1] == HUB else SPEAKS[arrow[1]]
            yield from _line(x, y, to_x, to_y, words, arrow == new)
        for name, (x, y) in places.items():
            ink = "var(--new)" if name == self.team else "var(--ink)"
            yield (
                f'<rect x="{x - BOX_WIDTH / 2:.1f}" y="{y - BOX_HEIGHT / 2:.1f}" '
                f'width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="6" fill="var(--bg)" '
                f'stroke="{ink}" stroke-width="1.5"/>'
                f'<text x="{x:.1f}" y="{y + 5:.1f}">{escape(name)}</text>'
            )


def _said(arrow: Arrow) -> str:
    return f"{arrow[0]} → {arrow[1]} ({SPEAKS[arrow[1]]})"


def _line(x: float, y: float, to_x: float, to_y: float, words: str, new: bool) -> Iterator[str]:
    """An arrow between two boxes' middles, cut off at their edges, and its protocol."""
    across, down = to_x - x, to_y - y
    length = hypot(across, down)
    cut = min(
        BOX_WIDTH / 2 / abs(across) if across else 1.0,
        BOX_HEIGHT / 2 / abs(down) if down else 1.0,
    )
    tip_x, tip_y = to_x - across * cut, to_y - down * cut
    step_x, step_y = across / length, down / length
    ink = "var(--new)" if new else "var(--ink)"
    dashes = ' stroke-dasharray="6 4"' if new else ""
    wings = " ".join(
        f"{tip_x - 9 * step_x + side * step_y:.1f},{tip_y - 9 * step_y - side * step_x:.1f}"
        for side in (-4, 4)
    )
    middle_x, middle_y = (x + across * cut + tip_x) / 2, (y + down * cut + tip_y) / 2
    yield (
        f'<path d="M{x:.1f} {y:.1f}L{tip_x:.1f} {tip_y:.1f}" stroke="{ink}" '
        f'stroke-width="1.5"{dashes}/>'
        f'<polygon points="{tip_x:.1f},{tip_y:.1f} {wings}" fill="{ink}"/>'
        f'<text class="s" x="{middle_x:.1f}" y="{middle_y + 4:.1f}">{escape(words)}</text>'
    )
