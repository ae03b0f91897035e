"""The panel's script and style, and a recording as one HTML page for a lecture.

The page is the widget without a kernel: the same script, the film inside, nothing to load.
An action that needs the engine (another future) is a button that says so.
"""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
TIME_TRAVEL = ("drawing.js", "film.js", "messages.js", "timeline.js", "time_panel.js")
EXPORTS = "export default { render };"

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>
html {{ color-scheme: light dark; }}
body {{ margin: 0 auto; padding: 18px; max-width: 1280px; background: #fff; }}
@media (prefers-color-scheme: dark) {{ body {{ background: #0c0f12; }} }}
{style}
</style>
</head>
<body>
<main id="panel"></main>
<noscript><pre>{text}</pre></noscript>
<script type="application/json" id="films">{films}</script>
<script type="module">
{script}
const films = JSON.parse(document.getElementById("films").textContent);
playAlone(document.getElementById("panel"), films, {partition}, {position});
</script>
</body>
</html>
"""


def script(*names: str) -> str:
    """One module of the panel's scripts; the last of them exports `render`."""
    files = names or TIME_TRAVEL
    return "\n".join((HERE / name).read_text("utf-8") for name in files)


def style() -> str:
    return (HERE / "panel.css").read_text("utf-8") + (HERE / "time_panel.css").read_text("utf-8")


def write(file: Path, films: dict[int, dict[str, Any]], position: int, partition: int) -> Path:
    """Writes the page; `films` by partition."""
    film = films[partition]
    plain = json.dumps({str(index): each for index, each in films.items()}, ensure_ascii=False)
    page = PAGE.format(
        title=escape(f"{film['topic']} · partition {partition}"),
        style=style(),
        script=script().replace(EXPORTS, ""),
        films=plain.replace("<", "\\u003c"),
        text=escape("This recording needs a browser that runs its script."),
        partition=partition,
        position=position,
    )
    file.write_text(page, "utf-8")
    return file
