"""The explorer's speed: distinct states a second on the ladder's last rung, three replicas.

States that differ only in the names of the replicas count as one, and each is searched
once.  The whole search is timed in processor time, so the load of the machine does not
count.  The budget is that of a reference core, scaled to this core (core.py).
"""

from __future__ import annotations

from time import process_time
from typing import Any

from engine.sim.model.explore import explore
from kit.bench.core import paced

STATES_PER_SECOND_MIN = 3 * 10_500
RULE, REPLICAS = "kip-320", 3


def measure(rounds: int = 3) -> list[dict[str, Any]]:
    """One row; the best of `rounds`."""
    states, core = paced(_pace, rounds)
    wanted = STATES_PER_SECOND_MIN * core
    return [
        {
            "name": f"explorer, {RULE} with {REPLICAS} replicas",
            "unit": "states/s",
            "ours": round(states, 1),
            "theirs": round(wanted, 1),
            "ratio": round(states / wanted, 3),
            "budget": f"≥ {STATES_PER_SECOND_MIN:,} × core {core:.2f}",
            "holds": states >= wanted,
        }
    ]


def _pace() -> float:
    began = process_time()
    return explore(RULE, REPLICAS).states / (process_time() - began)
