"""Puts scripts and styles together, and writes a recording as one HTML page for a lecture.

The page is the widget without a kernel: the same script, the films inside, nothing to load.
An action that needs the engine (another future) is a button that says so.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
LIVE = (HERE / "tree.js",)
RECORDED = (HERE / "tree.js", HERE / "deck.js")
TIMED = (HERE / "marks.js", HERE / "stage.js")
ASKING = HERE / "asking.js"
TAKES = (ASKING, HERE / "takes.js")
WATCHED = HERE / "watching.js"
LOOK = HERE / "film.css"
TIMED_LOOK = HERE / "timeline.css"
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
<noscript><pre>This recording needs a browser that runs its script.</pre></noscript>
<script type="application/json" id="films">{films}</script>
<script type="module">
{script}
const films = JSON.parse(document.getElementById("films").textContent);
playAlone(document.getElementById("panel"), films, {start});
</script>
</body>
</html>
"""


def together(files: Sequence[Path]) -> str:
    """Several scripts as one module, or several styles as one."""
    return "\n".join(file.read_text("utf-8") for file in files)


def write(
    file: Path, title: str, look: str, script: str, films: object, start: Sequence[Any]
) -> Path:
    """Writes a page that calls `playAlone(element, films, *start)` of the script."""
    plain = json.dumps(films, ensure_ascii=False)
    page = PAGE.format(
        title=escape(title),
        style=look,
        script=script.replace(EXPORTS, ""),
        films=plain.replace("<", "\\u003c"),
        start=", ".join(map(json.dumps, start)),
    )
    file.write_text(page, "utf-8")
    return file
