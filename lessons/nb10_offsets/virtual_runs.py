"""Runs of notebook 10 in virtual time."""

from __future__ import annotations

from typing import Any

from engine.sim.world.world import World
from kit.group_panel import members
from kit.probes import virtual
from kit.tables import Table
from lessons.nb10_offsets.reading import TOPIC, numbered

ALL = [101, 102, 103]


def expiry(minutes: int) -> Table:
    """How long committed offsets stay: a living idle group, and one whose last member left."""
    settings = {
        "offsets.retention.minutes": minutes,
        "offsets.retention.check.interval.ms": 10_000,
    }
    world = World(10, settings=settings)
    world.create_topic(TOPIC, assignment={0: ALL})
    virtual.post(world, TOPIC, *numbered(5))
    for group, name in (("idle", "A"), ("empty", "B")):
        members.join(world, name, TOPIC, group, work_us=1_000)
    world.run(lambda w: all(_committed(w, group) == 5 for group in ("idle", "empty")), for_s=60)
    world.tell("B", "finish")
    rows = []
    for label, for_s in (
        ("B has left", 5),
        ("half of the retention later", 30 * minutes),
        ("after the retention", 30 * minutes + 15),
    ):
        world.run(for_s=for_s)
        rows.append([label, _shown(world, "idle"), _shown(world, "empty")])
    return Table(
        f"Committed offsets, offsets.retention.minutes={minutes}",
        ("moment", "A lives, and has nothing to read", "B has left its group"),
        rows,
    )


def _committed(world: World, group: str) -> int | None:
    """The committed offset of partition 0; None if there is none."""
    groups: dict[str, Any] = world.snapshot()["groups"]
    offset = groups.get(group, {}).get("offsets", {}).get(TOPIC, {}).get(0)
    return None if offset is None else int(offset)


def _shown(world: World, group: str) -> str:
    offset = _committed(world, group)
    return "none" if offset is None else str(offset)
