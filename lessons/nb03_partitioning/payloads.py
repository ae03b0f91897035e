"""Payloads of this notebook: a fleet's positions as JSON, real text, and bytes of chance.

The same seed gives the same records.
"""

from __future__ import annotations

import inspect
import json
from random import Random


def positions(count: int, seed: int = 3) -> list[str]:
    """Positions of a fleet of 40 trucks, one JSON record each, some 150 bytes long."""
    chance = Random(seed)
    found = []
    for number in range(count):
        truck = chance.randrange(40)
        found.append(json.dumps({
            "truck": f"truck-{truck:03}",
            "latitude": round(52.3 + truck / 100 + chance.random() / 50, 6),
            "longitude": round(13.1 + truck / 90 + chance.random() / 50, 6),
            "speed_kmh": round(chance.uniform(0, 90), 1),
            "fuel": round(chance.random(), 2),
            "at": f"2026-11-22T08:{number // 60 % 60:02}:{number % 60:02}Z",
        }))  # fmt: skip
    return found


def truck_of(position: str) -> str:
    found: str = json.loads(position)["truck"]
    return found


def text(size: int) -> str:
    """So many characters of real text: the source code of the engine's own producer."""
    from engine.client import accumulator, completion, idempotence, metadata, sender

    modules = (accumulator, completion, idempotence, metadata, sender)
    source = "\n".join(inspect.getsource(each) for each in modules)
    return (source * (size // len(source) + 1))[:size]


def chance_bytes(size: int, seed: int = 3) -> bytes:
    """Bytes without any pattern, as encrypted or compressed data has none."""
    return Random(seed).randbytes(size)
