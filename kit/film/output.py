"""What a cell puts out for a panel: the still picture, and then the live panel.

If an output has a live form, JupyterLab shows nothing else, and after a restart of the kernel the
live form is gone.  So the still picture is an output of its own; the style of all panels hides it
as long as a live panel follows it.
"""

from __future__ import annotations

from typing import Any

import anywidget
import traitlets
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


class Panel(anywidget.AnyWidget):
    """A widget with a text and a still picture; its state is in traits: a test needs no browser."""

    notice = traitlets.Unicode().tag(sync=True)

    @property
    def text(self) -> str:
        """The panel in words, for readers without a picture."""
        raise NotImplementedError

    def _picture(self) -> str:
        """The still picture."""
        raise NotImplementedError

    def _do(self, content: dict[str, Any]) -> None:
        """A message from the browser."""
        raise NotImplementedError

    def _ipython_display_(self, **kwargs: Any) -> None:
        put_out(self._repr_mimebundle_()[0])

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """The live widget, and for places without a kernel a still picture and the text."""
        return with_still(super()._repr_mimebundle_(**kwargs), self.text, self._picture())
