"""The progress panel: follows one streaming query while the panel is in view.

It asks Spark for the query's reports twice a second, on the kernel's loop, and keeps the
micro-batches that Spark forgets (it holds the last hundred reports).  When the query has ended,
the panel says how, and asks no more.

All state is in traits, so a test needs no browser: `picture` is the SVG, `words` its text.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from kit.film.attention import Attention
from kit.film.output import put_out, with_still
from kit.spark_progress.micro_batches import MicroBatch, lag_now, micro_batches
from kit.spark_progress.picture import draw
from kit.tables import Table

HERE = Path(__file__).parent
ROWS_MOST = 12
"""Micro-batches in the text: the newest."""
COLUMNS = (
    "micro-batch",
    "rows",
    "lag",
    "state rows",
    "late",
    "watermark",
    "ms",
    "of them addBatch",
)


class ProgressPanel(anywidget.AnyWidget):
    """A live chart of a query's micro-batches; `batches` are its numbers."""

    _esm = HERE / "panel.js"
    _css = HERE / "panel.css"

    picture = traitlets.Unicode().tag(sync=True)
    words = traitlets.Unicode().tag(sync=True)
    notice = traitlets.Unicode().tag(sync=True)

    def __init__(self, query: Any, *, interval_s: float = 0.5) -> None:
        super().__init__()
        self._query = query
        self._batches: dict[int, MicroBatch] = {}
        self._lag: dict[str, int] = {}
        self._state = ""
        self._ended = False
        self._name = query.name or f"query {str(query.id)[:8]}"
        self.attention = Attention(self._look, self._show, self._say, interval_s)
        self.on_msg(self._hear)
        self.refresh()

    @property
    def batches(self) -> list[MicroBatch]:
        """All micro-batches that were seen, in order."""
        return [self._batches[number] for number in sorted(self._batches)]

    @property
    def text(self) -> str:
        """The panel in words, for readers without a picture."""
        if not self._batches:
            return f"{self._name}: {self._state}"
        table = Table(f"{self._name}: {self._state}", COLUMNS, _rows(self.batches[-ROWS_MOST:]))
        return repr(table)

    def refresh(self) -> None:
        """Looks once, and shows what is there now."""
        self.attention.once()

    def close(self) -> None:
        self.attention.close()
        super().close()

    def _look(self) -> bool:
        if self._ended:
            return False
        try:
            # Asked first: if the query ends after it, another look comes and sees all reports.
            active = self._query.isActive
            reports = list(self._query.recentProgress)
            error = None if active else self._query.exception()
            doing = self._query.status["message"] if active else ""
        except Exception as gone:
            self._state = f"Spark does not answer ({type(gone).__name__}): was the session stopped?"
            self._ended = True
            return True
        before = (self._state, len(self._batches), self._lag)
        self._batches |= {each.number: each for each in micro_batches(reports)}
        self._lag |= lag_now(reports)
        self._ended = not active
        self._state = _sentence(doing, error, len(self._batches), sum(self._lag.values()))
        return before != (self._state, len(self._batches), self._lag)

    def _show(self) -> None:
        text = self.text
        with self.hold_sync():
            self.picture = draw(self._name, self._state, self.batches, text)
            self.words = text

    def _say(self, words: str) -> None:
        self.notice = words

    def _hear(self, widget: Any, content: dict[str, Any], buffers: Any) -> None:
        if content.get("type") == "watch":
            self.attention.keep()

    def __repr__(self) -> str:
        return self.text

    def _ipython_display_(self, **kwargs: Any) -> None:
        put_out(self._repr_mimebundle_()[0])

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        return with_still(super()._repr_mimebundle_(**kwargs), self.text, self.picture)


def _sentence(doing: str, error: Any, count: int, lag: int) -> str:
    if error is not None:
        reason = (str(error).strip().splitlines() or ["no reason given"])[0]
        how = f"failed: {reason[:90]}"
    else:
        how = f"running, {doing[:1].lower()}{doing[1:]}" if doing else "ended"
    batches = f"{count:,} micro-batch{'es' if count != 1 else ''}"
    return f"{batches}, {lag:,} record{'s' if lag != 1 else ''} behind; {how}"


def _rows(batches: list[MicroBatch]) -> list[tuple[str, ...]]:
    return [
        (
            str(each.number),
            f"{each.rows:,}",
            ", ".join(f"{topic} {lag:,}" for topic, lag in each.lag.items()) or "-",
            "-" if each.state_rows is None else f"{each.state_rows:,}",
            f"{each.late_rows:,}",
            "-" if each.watermark_s is None else _clock(each.watermark_s),
            f"{each.duration_ms:,}",
            f"{each.stages['addBatch']:,}",
        )
        for each in batches
    ]


def _clock(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S}"
