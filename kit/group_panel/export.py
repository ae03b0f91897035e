"""The Group panel's scripts and styles, and a recording as one HTML page for a lecture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kit.film import page

HERE = Path(__file__).parent
BOTH = [HERE / "board.js", *page.TIMED, HERE / "bars.js"]


def live_script() -> str:
    return page.together([*page.RECORDED, *BOTH, page.WATCHED, HERE / "live.js"])


def style() -> str:
    return page.together([page.LOOK, page.TIMED_LOOK, HERE / "group.css"])


def time_script() -> str:
    return page.together([*page.RECORDED, *BOTH, *page.TAKES, HERE / "time.js"])


def write(file: Path, film: dict[str, Any], position: int) -> Path:
    """Writes a recording as a page."""
    title = f"{film['group']} · {film['topic']}"
    return page.write(file, title, style(), time_script(), film, (position,))
