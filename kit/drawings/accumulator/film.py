"""The accumulator as a film: a widget that steps, scrubs and plays through a producer's notes.

    film = AccumulatorFilm(producer)
    film.step(); film.text               the same without a browser

A batch is a box in its partition's row.  It fills on the left, leaves to the right when its request
goes out, and ends in the log.  State lives in traits: `position` is the place on the timeline.  The
browser only draws what `film` holds.  Without a kernel the timeline picture takes its place.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import anywidget
import traitlets

from kit.drawings.accumulator.moments import Lot, Moment
from kit.drawings.accumulator.timeline import AccumulatorTimeline

if TYPE_CHECKING:
    from kit.probes.own_producer import OwnProducer

HERE = Path(__file__).parent
MOST = 400
"""Moments in one film; a longer run is cut, and the film says so."""


class AccumulatorFilm(anywidget.AnyWidget):
    """One producer's notes, moment by moment."""

    _esm = HERE / "film.js"
    _css = HERE / "film.css"

    film = traitlets.Dict().tag(sync=True)
    position = traitlets.Int(0).tag(sync=True)

    def __init__(self, producer: OwnProducer, title: str = "The accumulator") -> None:
        still = AccumulatorTimeline(producer, title)
        settings = producer.producer.settings
        steps = still.moments[:MOST]
        leaders = producer.producer.metadata.leaders
        film = {
            "title": title,
            "partitions": [
                {"index": index, "leader": leaders.get((producer.topic, index), (-1, -1))[0]}
                for index in still.partitions
            ],
            "batch_size": settings.batch_size,
            "linger_ms": settings.linger_ms,
            "in_flight_most": settings.max_in_flight_requests_per_connection,
            "buffer_memory": settings.buffer_memory,
            "moments": [_plain(step) for step in steps],
            "cut": len(still.moments) > MOST,
        }
        super().__init__(film=film)  # the browser gets the model with its film
        self.still = still

    def __len__(self) -> int:
        return len(self.film["moments"])

    def step(self, moments: int = 1) -> None:
        """Onwards, or back with a negative number."""
        self.position = max(0, min(len(self) - 1, self.position + moments))

    @property
    def text(self) -> str:
        """The moment that is shown, in words."""
        shown = self.film["moments"][self.position]
        lines = [f"{shown['ms']:.1f} ms: {shown['sentence']}"]
        for each in self.film["partitions"]:
            lots = [lot for lot in shown["lots"] if lot["partition"] == each["index"]]
            queued = ", ".join(_words(lot) for lot in lots if not lot["request"]) or "–"
            flying = ", ".join(_words(lot) for lot in lots if lot["request"]) or "–"
            stored = shown["stored"].get(str(each["index"]), 0)
            lines.append(
                f"partition {each['index']}: waits {queued}; in flight {flying}; stored {stored}"
            )
        lines.append(f"memory: {shown['memory']:,} of {self.film['buffer_memory']:,} bytes; "
                     f"send() blocks: {shown['blocked']}")  # fmt: skip
        return "\n".join(lines)

    def __repr__(self) -> str:
        return self.still.text

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        live = super()._repr_mimebundle_(**kwargs)
        bundle, metadata = live if isinstance(live, tuple) else (live or {}, {})
        return {**bundle, **self.still._repr_mimebundle_()}, metadata


def _plain(step: Moment) -> dict[str, Any]:
    return {
        "ms": round(step.ms, 3),
        "kind": step.kind,
        "sentence": step.sentence,
        "lots": [_lot(each) for each in step.lots],
        "stored": {str(index): count for index, count in step.stored.items()},
        "blocked": step.blocked,
        "refused": step.refused,
        "memory": step.memory,
    }


def _lot(lot: Lot) -> dict[str, Any]:
    flying = lot.place == "in flight"
    return {
        "number": lot.number, "partition": lot.partition, "records": lot.records,
        "size": lot.size, "since": round(lot.since_ms, 3), "attempt": lot.attempt,
        "request": lot.request if flying else 0, "broker": lot.broker, "error": lot.error,
    }  # fmt: skip


def _words(lot: dict[str, Any]) -> str:
    return f"batch {lot['number']} ({lot['records']})"
