"""Reports as Spark makes them, and a query that gives them."""

from __future__ import annotations

import json
from typing import Any


def report(number: int, rows: int, end: int, latest: int, **more: Any) -> dict[str, Any]:
    """A micro-batch that read a topic's single partition up to `end`."""
    return {
        "batchId": number,
        "numInputRows": rows,
        "durationMs": {
            "addBatch": 80,
            "walCommit": 15,
            "commitOffsets": 5,
            "triggerExecution": 101,
        },
        "stateOperators": [],
        "eventTime": {},
        "sources": [
            {
                "description": "KafkaV2[Subscribe[orders]]",
                "endOffset": json.dumps({"orders": {"0": end}}),
                "latestOffset": json.dumps({"orders": {"0": latest}}),
            }
        ],
    } | more


def state(rows: int, dropped: int = 0) -> dict[str, int]:
    return {"numRowsTotal": rows, "memoryUsedBytes": 100, "numRowsDroppedByWatermark": dropped}


def idle(number: int, end: int, latest: int) -> dict[str, Any]:
    """A trigger that found nothing new."""
    return report(number, 0, end, latest, durationMs={"latestOffset": 3, "triggerExecution": 3})


class ToyQuery:
    """What the panel asks of a StreamingQuery."""

    name, id = "orders to bronze", "0123456789"

    def __init__(self, *reports: dict[str, Any]) -> None:
        self.recentProgress = list(reports)
        self.isActive = True
        self.failure: Exception | None = None

    @property
    def status(self) -> dict[str, Any]:
        return {"message": "Waiting for data to arrive"}

    def exception(self) -> Exception | None:
        return self.failure
