"""The faults of a simulated world as methods: `world.kill(101)` is `world.apply(fault(...))`.

Each is a deed that is written to the tape (engine/sim/world/tape.py) and an event with a number.
What they mean is in engine/cluster: processes.py for processes, link_faults.py for links, and
machine_faults.py for power, clocks and disks.
"""

from __future__ import annotations

from engine.cluster.network import NodeId
from engine.sim.world.faults import Fault, fault


class Breakable:
    """What can be broken, and mended.  Times are milliseconds, speeds µs a second."""

    def apply(self, fault: Fault) -> None:
        raise NotImplementedError

    def kill(self, broker: int) -> None:
        self.apply(fault("kill", broker))

    def stop(self, broker: int) -> None:
        self.apply(fault("stop", broker))

    def start(self, broker: int) -> None:
        self.apply(fault("start", broker))

    def pause(self, broker: int) -> None:
        self.apply(fault("pause", broker))

    def resume(self, broker: int) -> None:
        self.apply(fault("resume", broker))

    def lose_power(self, broker: int, torn: bool = False) -> None:
        self.apply(fault("lose_power", broker, torn=int(torn)))

    def write_back(self, broker: int) -> None:
        self.apply(fault("write_back", broker))

    def cut(self, a: NodeId, b: NodeId) -> None:
        self.apply(fault("cut", a, b))

    def isolate(self, broker: int) -> None:
        self.apply(fault("isolate", broker))

    def slow(self, a: NodeId, b: NodeId, ms: int) -> None:
        self.apply(fault("slow", a, b, ms=ms))

    def cut_one_way(self, a: NodeId, b: NodeId) -> None:
        self.apply(fault("cut_one_way", a, b))

    def delay(self, a: NodeId, b: NodeId, ms: int, count: int = 1, api: str = "") -> None:
        self.apply(fault("delay", a, b, ms=ms, count=count, api=api))

    def drop(self, a: NodeId, b: NodeId, count: int = 1, api: str = "") -> None:
        self.apply(fault("drop", a, b, count=count, api=api))

    def duplicate(self, a: NodeId, b: NodeId, count: int = 1, api: str = "") -> None:
        self.apply(fault("duplicate", a, b, count=count, api=api))

    def reorder(self, a: NodeId, b: NodeId, ms: int = 50, count: int = 1, api: str = "") -> None:
        self.apply(fault("reorder", a, b, ms=ms, count=count, api=api))

    def jump_clock(self, broker: int, ms: int) -> None:
        self.apply(fault("jump_clock", broker, ms=ms))

    def skew_clock(self, broker: int, ppm: int) -> None:
        self.apply(fault("skew_clock", broker, ppm=ppm))

    def set_clock(self, broker: int) -> None:
        self.apply(fault("set_clock", broker))

    def flip_bit(self, broker: int, topic: str, partition: int = 0, offset: int = -1) -> None:
        self.apply(fault("flip_bit", broker, topic=topic, partition=partition, offset=offset))

    def fill_disk(self, broker: int) -> None:
        self.apply(fault("fill_disk", broker))

    def free_disk(self, broker: int) -> None:
        self.apply(fault("free_disk", broker))

    def heal(self, a: NodeId | None = None, b: NodeId | None = None) -> None:
        self.apply(fault("heal", *(each for each in (a, b) if each is not None)))
