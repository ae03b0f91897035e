"""The explorer's speed: distinct states a second on the ladder's last rung, three replicas.

States that differ only in the names of the replicas count as one, and each is searched
once.  The whole search is timed in processor time, so the load of the machine does not
count.
"""

from __future__ import annotations

from time import process_time
from typing import Any

from engine.sim.model.explore import explore

STATES_PER_SECOND_MIN = 15_000
RULE, REPLICAS = "kip-320", 3


def measure(rounds: int = 3) -> list[dict[str, Any]]:
    """One row; the best of `rounds`."""
    pace = max(_pace() for _ in range(rounds))
    return [
        {
            "name": f"explorer, {RULE} with {REPLICAS} replicas",
            "unit": "states/s",
            "ours": round(pace, 1),
            "theirs": float(STATES_PER_SECOND_MIN),
            "ratio": round(pace / STATES_PER_SECOND_MIN, 3),
            "budget": f"≥ {STATES_PER_SECOND_MIN:,}",
            "holds": pace >= STATES_PER_SECOND_MIN,
        }
    ]


def _pace() -> float:
    began = process_time()
    return explore(RULE, REPLICAS).states / (process_time() - began)
