"""The Cluster panel's scripts and styles, and a recording as one HTML page for a lecture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kit.film import page

HERE = Path(__file__).parent
LIVE = [HERE / name for name in ("drawing.js", "panel.js")]
TIME_TRAVEL = [
    HERE / name for name in ("drawing.js", "film.js", "messages.js", "timeline.js", "time_panel.js")
]
"""What a panel of rows is drawn with, live and over a recorded world."""


def live_script() -> str:
    return page.together([*page.LIVE, *LIVE, HERE / "live.js"])


def live_style() -> str:
    return page.together([page.LOOK, HERE / "panel.css"])


def script() -> str:
    """One module; its last file exports `render`."""
    return page.together([*page.RECORDED, page.ASKING, *TIME_TRAVEL, HERE / "time.js"])


def style() -> str:
    return page.together([page.LOOK, HERE / "panel.css", HERE / "time_panel.css"])


def write(file: Path, films: dict[int, dict[str, Any]], position: int, partition: int) -> Path:
    """Writes the page; `films` by partition."""
    title = f"{films[partition]['topic']} · partition {partition}"
    by_name = {str(index): each for index, each in films.items()}
    return page.write(file, title, style(), script(), by_name, (partition, position))
