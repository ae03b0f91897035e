"""What each micro-batch and each compaction did, in files that outlive a driver that is killed.

Spark reports a micro-batch as a `StreamingQueryProgress`.  A driver appends a line for each to
`progress.jsonl` in its folder; a driver that is started again appends to the same file.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from labs.pipeline.events import PARSED
from labs.pipeline.storage import Compaction

BATCHES, COMPACTED = "progress.jsonl", "compacted.jsonl"


@dataclass(frozen=True, slots=True)
class MicroBatch:
    """One micro-batch of one query."""

    query: str
    number: int
    began: float
    """Seconds since 1970."""
    seconds: float
    rows: int
    lag: dict[str, dict[str, int]] = field(default_factory=dict)
    """By topic and partition: the records that were there and not read yet when it ended.  Empty
    for a query that reads no topic."""
    ids_kept: int = 0
    """Rows of state: event ids that a copy would be known by."""
    too_late: int = 0
    """Rows that silver did not take because they were behind the watermark, copies among them."""
    watermark: float | None = None
    """Seconds since 1970, in event time; None for a query without one, or before its first."""
    refused: int = 0
    """Records that the parser refused, counted where they were parsed."""

    @property
    def ended(self) -> float:
        return self.began + self.seconds

    @property
    def rows_per_second(self) -> float:
        return self.rows / self.seconds if self.seconds else 0.0

    def __str__(self) -> str:
        text = f"{self.query} {self.number}: {self.rows:,} rows"
        if self.refused:
            text += f", {self.refused:,} refused"
        if self.ids_kept:
            text += f", {self.ids_kept:,} ids kept"
        if self.too_late:
            text += f", {self.too_late:,} behind the watermark"
        return text


def micro_batch(progress: Mapping[str, Any]) -> MicroBatch:
    """From Spark's own report."""
    states = progress["stateOperators"]
    watermark = progress["eventTime"].get("watermark") if progress["eventTime"] else None
    reached = _seconds(watermark) if watermark else 0.0
    observed = progress["observedMetrics"].get(PARSED)
    return MicroBatch(
        query=progress["name"],
        number=progress["batchId"],
        began=_seconds(progress["timestamp"]),
        seconds=progress["durationMs"].get("triggerExecution", 0) / 1000,
        rows=progress["numInputRows"],
        lag=_lag(progress["sources"]),
        ids_kept=sum(state["numRowsTotal"] for state in states),
        too_late=sum(state["numRowsDroppedByWatermark"] for state in states),
        watermark=reached or None,
        refused=observed["refused"] if observed else 0,
    )


def note(folder: Path, done: MicroBatch | Compaction) -> None:
    name = BATCHES if isinstance(done, MicroBatch) else COMPACTED
    with (folder / name).open("a") as file:
        file.write(json.dumps(asdict(done)) + "\n")


def noted(folder: Path) -> tuple[list[MicroBatch], list[Compaction]]:
    """All that was noted, in its order."""
    batches = [MicroBatch(**each) for each in _lines(folder / BATCHES)]
    return batches, [Compaction(**each) for each in _lines(folder / COMPACTED)]


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_text().splitlines() if path.exists() else ():
        try:
            yield json.loads(line)
        except json.JSONDecodeError:  # a killed driver left half a line behind
            continue


def _lag(sources: list[Any]) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for source in sources:
        if not source["description"].startswith("Kafka"):
            continue
        end, latest = (_offsets(source[name]) for name in ("endOffset", "latestOffset"))
        for topic, partitions in latest.items():
            found[topic] = {
                number: offset - end.get(topic, {}).get(number, 0)
                for number, offset in partitions.items()
            }
    return found


def _offsets(offsets: Any) -> dict[str, dict[str, int]]:
    """Spark gives them as an object, or as its JSON."""
    read = json.loads(offsets) if isinstance(offsets, str) else offsets
    return dict(read or {})


def _seconds(time: str) -> float:
    return datetime.fromisoformat(time.replace("Z", "+00:00")).timestamp()
