"""The teacher's page: one file without requests to anywhere but its own room."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from pathlib import Path

_HERE = Path(__file__).parent
SCRIPT = (_HERE / "page.js").read_text("utf-8")
STYLE = (_HERE / "page.css").read_text("utf-8")
_DIGEST = base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()
POLICY = (
    f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{_DIGEST}'; "
    "connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)


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
