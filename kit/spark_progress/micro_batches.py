"""What Spark reports of each micro-batch, as plain data.

Two things in the reports mislead, and are settled here:

* A trigger that finds nothing new reports, too, under the number of the micro-batch that is yet to
  come.  It has no stage `addBatch`.  Such a report says how far behind the query is by now; it
  is not a micro-batch.
* Spark gives no lag.  It names the offsets where a micro-batch ended (`endOffset`) and those that
  the topic had when it was planned (`latestOffset`).  The lag is the difference, summed over
  the partitions.  With `Trigger.AvailableNow` the latest offsets are those of the query's start.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

STAGES = ("latestOffset", "getBatch", "queryPlanning", "walCommit", "addBatch", "commitOffsets")
"""The steps of a micro-batch by Spark's names, in the order in which they happen."""


@dataclass(frozen=True, slots=True)
class MicroBatch:
    """One micro-batch; a number is None where the query has nothing of the kind."""

    number: int
    rows: int
    """Rows that the sources gave.  A batch that `foreachBatch` computes twice counts twice."""
    lag: Mapping[str, int]
    """By topic: records that were there and not yet read."""
    state_rows: int | None
    state_bytes: int | None
    late_rows: int
    """Rows that arrived behind the watermark at a stateful step, and were dropped."""
    watermark_s: float | None
    """In seconds since 1970: the watermark that this micro-batch used; None before the first."""
    newest_event_s: float | None
    """The newest event time in this micro-batch; None if it brought no rows."""
    stages: Mapping[str, int] = field(repr=False)
    """By stage: milliseconds."""

    @property
    def duration_ms(self) -> int:
        return sum(self.stages.values())


def micro_batches(reports: Iterable[Any]) -> list[MicroBatch]:
    """The micro-batches in order, each once."""
    found = {}
    for report in map(plain, reports):
        if "addBatch" in report["durationMs"]:
            found[report["batchId"]] = _micro_batch(report)
    return [found[number] for number in sorted(found)]


def lag_now(reports: Iterable[Any]) -> dict[str, int]:
    """By topic: the lag of the newest report, of a trigger without data, too."""
    known: dict[str, int] = {}
    for report in map(plain, reports):
        known |= _lag(report)
    return known


def plain(report: Any) -> dict[str, Any]:
    """A report as Spark's JSON has it; also for one that is such a dict already."""
    text = getattr(report, "json", None)
    return json.loads(text) if isinstance(text, str) else dict(report)


def _micro_batch(report: Mapping[str, Any]) -> MicroBatch:
    operators = report.get("stateOperators") or []
    times = report.get("eventTime") or {}
    return MicroBatch(
        number=report["batchId"],
        rows=report["numInputRows"],
        lag=_lag(report),
        state_rows=sum(each["numRowsTotal"] for each in operators) if operators else None,
        state_bytes=sum(each["memoryUsedBytes"] for each in operators) if operators else None,
        late_rows=sum(each["numRowsDroppedByWatermark"] for each in operators),
        # Spark's watermark is 1970 until it has seen an event.
        watermark_s=_seconds(times.get("watermark")) or None,
        newest_event_s=_seconds(times.get("max")),
        stages={name: report["durationMs"].get(name, 0) for name in STAGES},
    )


def _lag(report: Mapping[str, Any]) -> dict[str, int]:
    lag: dict[str, int] = {}
    for source in report["sources"]:
        end, latest = (_offsets(source.get(name)) for name in ("endOffset", "latestOffset"))
        for topic in latest.keys() & end.keys():
            behind = sum(
                max(0, offset - end[topic].get(partition, 0))
                for partition, offset in latest[topic].items()
            )
            lag[topic] = lag.get(topic, 0) + behind
    return dict(sorted(lag.items()))


def _offsets(of: Any) -> dict[str, dict[str, int]]:
    """Offsets by topic and partition; nothing for a source that is not Kafka's."""
    of = json.loads(of) if isinstance(of, str) else of
    if not isinstance(of, dict):
        return {}
    return {topic: each for topic, each in of.items() if isinstance(each, dict)}


def _seconds(instant: str | None) -> float | None:
    if instant is None:
        return None
    return datetime.fromisoformat(instant).timestamp()
