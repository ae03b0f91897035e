"""A world with a load and a reader, and what tests ask of it."""

from __future__ import annotations

from engine.sim.world.world import World


def loaded(**options: object) -> World:
    """Three brokers, one partition led by 101, a producer, a consumer."""
    world = World(11)
    world.create_topic("orders", assignment={0: [101, 102, 103]},
                       config={"min.insync.replicas": 2})  # fmt: skip
    world.load("orders", **options)
    world.reader("orders")
    world.run(for_s=1)
    return world


def end(world: World, broker: int) -> int:
    return int(world.replica(broker, "orders", 0).log.log_end_offset)


def isr(world: World) -> list[int]:
    return sorted(world.partition("orders", 0).isr)


def whole(world: World) -> bool:
    return isr(world) == [101, 102, 103]


def kinds(world: World, broker: int) -> list[str]:
    return [line.kind for _, node, line in world.cluster.trace if node == broker]


def reported(world: World) -> tuple[list[str], object]:
    """The trace and the state; the clock between two events is neither."""
    return world.trace_lines(), {**world.snapshot(values=True, tail=10_000), "time_us": 0}
