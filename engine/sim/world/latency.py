"""How long things take in virtual time, drawn from the world's own generator.

A link within a data centre takes some hundred microseconds, a flush to a disk some
milliseconds.  Slow links come on top (engine/cluster/network.py).
"""

from __future__ import annotations

from random import Random

from engine.cluster.items import NodeId


class SimulatedLatency:
    """Delays drawn from the world's generator, in microseconds."""

    def __init__(self, chance: Random, low_us: int = 100, high_us: int = 1_000) -> None:
        self.chance = chance
        self.low_us = low_us
        self.high_us = high_us

    def network_us(self, source: NodeId, destination: NodeId) -> int:
        return self.low_us + int(self.chance.random() * (self.high_us - self.low_us))

    def flush_us(self, node_id: NodeId) -> int:
        return 1_000 + int(self.chance.random() * 4_000)
