"""The teacher's page: one file without requests to anywhere but its own room."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from kit.page_server import policy_for

_HERE = Path(__file__).parent
SCRIPT = (_HERE / "page.js").read_text("utf-8")
STYLE = (_HERE / "page.css").read_text("utf-8")
POLICY = policy_for(SCRIPT)


@cache
def html() -> str:
    return (
        "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<title>Who is stuck where</title><style>{STYLE}</style></head><body>"
        "<header><h1>Who is stuck where</h1><p id='room' role='status'></p></header>"
        "<nav id='notebooks' aria-label='Notebooks'></nav>"
        "<main><div class='scroll'><table id='grid'></table></div><p id='empty'></p></main>"
        "<footer><span><span class='cell solved'><b>✓</b></span>solved</span>"
        "<span><span class='cell trying'><b>2</b></span>attempts, a dot for each hint, "
        "time since</span><span><span class='cell stuck'><b>5</b><b>!</b></span>four attempts, "
        "or five minutes without one</span></footer>"
        f"<script>{SCRIPT}</script></body></html>\n"
    )
