"""The Segment panel's script and style."""

from __future__ import annotations

from pathlib import Path

from kit.film import page

HERE = Path(__file__).parent
SCRIPTS = ("bars.js", "grid.js", "lookup.js", "time.js", "panel.js")


def script() -> str:
    return page.together([*page.RECORDED, *(HERE / name for name in SCRIPTS)])


def style() -> str:
    return page.together([page.LOOK, HERE / "panel.css"])
