"""The Quorum panel's scripts and styles, and a recording as one HTML page for a lecture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kit.film import page
from kit.panel import export

HERE = Path(__file__).parent


def live_script() -> str:
    return page.together([*page.LIVE, *export.LIVE, HERE / "rows.js", HERE / "live.js"])


def live_style() -> str:
    return "\n".join((export.live_style(), page.together([HERE / "quorum.css"])))


def time_script() -> str:
    shared = [*page.RECORDED, page.ASKING, *export.TIME_TRAVEL]
    return page.together([*shared, HERE / "rows.js", HERE / "time.js"])


def time_style() -> str:
    return "\n".join((export.style(), page.together([HERE / "quorum.css"])))


def write(file: Path, film: dict[str, Any], position: int) -> Path:
    """Writes a recording as a page."""
    title = "quorum of controllers"
    return page.write(file, title, time_style(), time_script(), {"0": film}, (0, position))
