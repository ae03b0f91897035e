"""What a cell puts out for a panel: the still picture, and then the live panel.

If an output has a live form, JupyterLab shows nothing else, and after a restart of the kernel the
live form is gone.  So the still picture is an output of its own; the style of all panels hides it
as long as a live panel follows it.
"""

from __future__ import annotations

from typing import Any

from IPython.display import display

VIEW = "application/vnd.jupyter.widget-view+json"
RERUN = "A still picture. Run this cell for the live panel."


def put_out(bundle: dict[str, Any]) -> None:
    """Displays a widget's bundle in two parts."""
    live = {VIEW: bundle.pop(VIEW), "text/plain": RERUN}
    display(bundle, raw=True)
    display(live, raw=True)


def with_still(live: Any, text: str, picture: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """A widget's own bundle with its text and its still picture."""
    bundle, metadata = live if isinstance(live, tuple) else (live or {}, {})
    return {**bundle, "text/plain": text, "image/svg+xml": picture}, metadata
