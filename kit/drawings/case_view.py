"""Shows a named case in a notebook: old rule left, new rule right, differences marked.

    played = case("kip-279")
    played                        # HTML in JupyterLab's colours; printed, it is text
    played.old.world              # each side is a world, to be rewound and forked

Equal lines stand side by side.  A line that only one side has is bold and marked with ≠, so
the point where the two sides diverge is visible without colour.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import SequenceMatcher
from html import escape

from engine.sim.cases import Ending, Played, play_case

Pair = tuple[str, str]
_INK = "color:var(--jp-content-font-color1,inherit)"
_GRID = "display:grid;grid-template-columns:1fr 1fr;gap:0 24px"
_CODE = "font-family:var(--jp-code-font-family,monospace);font-size:.9em;line-height:1.35"
_EDGE = "border-left:4px solid {};padding:4px 12px;margin:6px 0"
_BAD, _GOOD = "var(--jp-error-color1,#d55e00)", "var(--jp-success-color1,#009e73)"


@dataclass(frozen=True)
class CaseView:
    """Both endings of a case; `text` is the same in two columns of characters."""

    played: Played

    @property
    def old(self) -> Ending:
        return self.played.old

    @property
    def new(self) -> Ending:
        return self.played.new

    @property
    def text(self) -> str:
        return self.played.side_by_side(118)

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        sections = [_section("what clients were told", self.old.answers, self.new.answers)]
        for place in dict.fromkeys((*self.old.stories, *self.new.stories)):
            left, right = (side.stories.get(place, []) for side in (self.old, self.new))
            sections.append(_section(place, left, right))
        case = self.played.case
        return (
            f"<div style='{_INK}'><strong>{escape(case.title)}</strong>"
            f"<p>{escape(case.story)}</p><div style='{_GRID}'>"
            f"{_verdict(self.old)}{_verdict(self.new)}</div>{''.join(sections)}</div>"
        )


def case(name: str, seed: int = 0) -> CaseView:
    """Plays a case by its name; for an unknown name, ValueError lists the cases."""
    return CaseView(play_case(name, seed))


def aligned(left: list[str], right: list[str]) -> list[Pair]:
    """Pairs equal lines; a line that only one side has stands alone in its row."""
    rows: list[Pair] = []
    matcher = SequenceMatcher(None, left, right, autojunk=False)
    for what, a, b, c, d in matcher.get_opcodes():
        if what == "equal":
            rows += zip(left[a:b], right[c:d], strict=True)
        else:
            ours, theirs = left[a:b], right[c:d]
            longest = max(len(ours), len(theirs))
            ours += [""] * (longest - len(ours))
            theirs += [""] * (longest - len(theirs))
            rows += zip(ours, theirs, strict=True)
    return rows


def _verdict(ending: Ending) -> str:
    edge = _EDGE.format(_BAD if ending.shown else _GOOD)
    mark = "✗" if ending.shown else "✓"
    return (
        f"<div style='{edge}'><b>{ending.side}: {escape(ending.words)}</b><br>"
        f"{mark} {escape(ending.sentence)}</div>"
    )


def _section(title: str, left: list[str], right: list[str]) -> str:
    rows = "".join(_row(*pair) for pair in aligned(left, right))
    return (
        f"<div style='margin-top:8px'><b>{escape(title)}</b></div>"
        f"<div style='{_GRID};{_CODE}'>{rows}</div>"
    )


def _row(left: str, right: str) -> str:
    if left == right:
        return f"<div>{escape(left)}</div><div>{escape(right)}</div>"
    cells = (f"<b>≠ {escape(line)}</b>" if line else "" for line in (left, right))
    return "".join(f"<div>{cell}</div>" for cell in cells)
