"""Consistent hashing, for contrast: what Kafka does not do.

Every partition has many points on a ring of hashes, and a key belongs to the next point.  A new
partition takes only the keys before its own points, so about 1/n of all keys move.  Kafka's
clients compute hash modulo n instead, in which almost every result depends on n.
"""

from __future__ import annotations

from bisect import bisect
from hashlib import blake2b

POINTS = 200
"""Per partition.  More points make the shares more even."""


class Ring:
    """`partition(key)` for a fixed number of partitions."""

    def __init__(self, partitions: int, points: int = POINTS) -> None:
        places = [(_hash(f"{p}/{n}".encode()), p) for p in range(partitions) for n in range(points)]
        self.places = sorted(places)

    def partition(self, key: bytes) -> int:
        at = bisect(self.places, (_hash(key), -1))
        return self.places[at % len(self.places)][1]


def _hash(data: bytes) -> int:
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "big")
