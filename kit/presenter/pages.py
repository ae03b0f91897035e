"""The two pages: one script holds the panel's own and the small part that feeds it."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from kit.film.page import EXPORTS
from kit.page_server import policy_for
from kit.panel import export

_HERE = Path(__file__).parent
SCRIPT = export.live_script().replace(EXPORTS, "") + (_HERE / "presenter.js").read_text("utf-8")
STYLE = export.live_style() + (_HERE / "presenter.css").read_text("utf-8")
POLICY = policy_for(SCRIPT)


@cache
def html(name: str) -> str:
    """`show` is for the projector, `remote` for the presenter's hand."""
    return (
        "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<title>Kafka Inside Out: {name}</title><style>{STYLE}</style></head>"
        f"<body class='{name}'><header class='scene'><h1></h1><p class='question'></p>"
        "<p class='to-press'></p></header><main></main><nav aria-label='Scenes'></nav>"
        f"<script type='module'>{SCRIPT}</script></body></html>\n"
    )
