"""The kernel's side of a panel's question (kit/film/asking.js): the changes, then the answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any


@contextmanager
def answering(panel: Any, question: Mapping[str, Any]) -> Iterator[None]:
    """Sends all changes in one message, and the answer behind them, also after an error."""
    try:
        with panel.hold_sync():
            panel.notice = ""
            yield
    finally:
        panel.send({"answers": question.get("asked")})
