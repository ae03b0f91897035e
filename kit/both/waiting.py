"""Shows what a side-by-side run is at while it runs, under its cell.

    with shown() as waiting:
        waiting.step = "starting a real Kafka"
        there = real()
        waiting.watch(here, there)
        …

A run that ends within SOON_S shows nothing.  At the end the lines are gone, and a notebook's file
does not keep them (kit/authoring/outputs.py).
"""

from __future__ import annotations

import contextvars
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from typing import Any

from kit.clusters.interface import Cluster

SOON_S = 1.0
NOTHING = {"text/plain": "", "text/html": ""}
"""What is left of the lines at the end."""


class Waiting:
    """What is shown: a step of `lab.both` itself, or what each of the watched clusters does."""

    def __init__(self) -> None:
        self.step = ""
        self.watched: tuple[Cluster, ...] = ()
        self.began = time.monotonic()

    def watch(self, *clusters: Cluster) -> None:
        self.watched = clusters

    def lines(self) -> list[str]:
        """The time so far, and a line for each side."""
        seconds = f"{time.monotonic() - self.began:.0f} s"
        if not self.watched:
            return [f"{seconds}  {self.step}"]
        return [f"{seconds}  {_side(each)}: {each.step or 'at work'}" for each in self.watched]


@contextmanager
def shown() -> Iterator[Waiting]:
    """Shows the lines of what it gives, where a notebook can change an output; else nothing."""
    waiting, over = Waiting(), threading.Event()
    if not _in_a_notebook():
        yield waiting
        return

    def show() -> None:
        from IPython.display import display

        handle: Any = None
        while not over.wait(SOON_S):
            if handle is None:
                handle = display(_bundle(waiting.lines()), raw=True, display_id=True)
            else:
                handle.update(_bundle(waiting.lines()), raw=True)
        if handle is not None:
            handle.update(NOTHING, raw=True)

    # A copy of this context: an output belongs to the cell whose request is in it.
    thread = threading.Thread(target=contextvars.copy_context().run, args=(show,), daemon=True)
    thread.start()
    try:
        yield waiting
    finally:
        over.set()
        thread.join()


def _side(cluster: Cluster) -> str:
    """The heading of its column in the table that follows."""
    return cluster.name if cluster.name == "engine" else f"Kafka ({cluster.name})"


def _bundle(lines: list[str]) -> dict[str, str]:
    rows = "".join(f"<div>{escape(line)}</div>" for line in lines)
    style = "color:var(--jp-ui-font-color2,#616161);white-space:pre-wrap"
    return {"text/plain": "\n".join(lines), "text/html": f"<div style='{style}'>{rows}</div>"}


def _in_a_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return shell is not None and hasattr(shell, "kernel")
