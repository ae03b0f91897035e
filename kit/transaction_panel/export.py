"""The Transaction panel's scripts and styles, and a recording as one HTML page for a lecture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kit.film import page

HERE = Path(__file__).parent
BOTH = [HERE / "diagram.js", HERE / "ledger.js", *page.TIMED, HERE / "bands.js"]


def style() -> str:
    return page.together([page.LOOK, page.TIMED_LOOK, HERE / "transactions.css"])


def live_script() -> str:
    return page.together([*page.RECORDED, *BOTH, page.WATCHED, HERE / "live.js"])


def time_script() -> str:
    return page.together([*page.RECORDED, *BOTH, *page.TAKES, HERE / "time.js"])


def write(file: Path, film: dict[str, Any], position: int) -> Path:
    """Writes a recording as a page."""
    title = f"transactions · {film['title']}"
    return page.write(file, title, style(), time_script(), film, (position,))
