"""Runs of notebook 10 in virtual time."""

from __future__ import annotations

from typing import Any

from engine.sim.world.world import World
from kit.group_panel import members
from kit.probes import virtual
from kit.tables import Table
from lessons.nb10_offsets.reading import TOPIC, numbered

ALL = [101, 102, 103]
LEAVERS = {"idle": "A", "empty": "BC", "moved": "D"}
"""Group -> its members; each member has a group of its own."""


def expiry(minutes: int) -> Table:
    """How long committed offsets stay: of three groups, and what one of them reads then."""
    settings = {
        "offsets.retention.minutes": minutes,
        "offsets.retention.check.interval.ms": 10_000,
    }
    world = World(10, settings=settings)
    for topic in (TOPIC, "invoices"):
        world.create_topic(topic, assignment={0: ALL})
    virtual.post(world, TOPIC, *numbered(5))
    for group, names in LEAVERS.items():
        for name in names:
            members.join(world, name, TOPIC, f"{group}-{name}", work_us=1_000)
    groups = [f"{group}-{name}" for group, names in LEAVERS.items() for name in names]
    world.run(lambda w: all(_committed(w, group) == 5 for group in groups), for_s=60)
    members.join(world, "D2", "invoices", "moved-D", work_us=1_000)
    for name in ("B", "C", "D"):
        world.tell(name, "finish")
    rows = []
    for label, for_s in (
        ("B has left, and so has D", 5),
        ("half of the retention later", 30 * minutes),
        ("after the retention", 30 * minutes + 15),
    ):
        world.run(for_s=for_s)
        rows.append([label, *(_shown(world, group) for group in ("idle-A", "empty-B", "moved-D"))])
    for name, reset in (("B", "earliest"), ("C", "latest")):
        rows.append([f"the group starts again, {reset}", "", _read(world, name, reset), ""])
    return Table(
        f"Committed offsets, offsets.retention.minutes={minutes}",
        (
            "moment",
            "A lives, and has nothing to read",
            "B has left its group",
            "D has left, and its group reads another topic",
        ),
        rows,
    )


def _read(world: World, name: str, reset: str) -> str:
    """What a new member of an empty group reads."""
    own = {"auto.offset.reset": reset}
    member = members.join(world, f"{name}2", TOPIC, f"empty-{name}", settings=own, work_us=1_000)
    world.run(for_s=10)
    assert member.application is not None
    return f"reads {len(member.application.processed)} of 5"


def _committed(world: World, group: str) -> int | None:
    """The committed offset of partition 0; None if there is none."""
    groups: dict[str, Any] = world.snapshot()["groups"]
    offset = groups.get(group, {}).get("offsets", {}).get(TOPIC, {}).get(0)
    return None if offset is None else int(offset)


def _shown(world: World, group: str) -> str:
    offset = _committed(world, group)
    return "none" if offset is None else str(offset)
