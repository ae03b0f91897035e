"""Panels under test, at a place worth looking at."""

from __future__ import annotations

from engine.sim.world.world import World
from kit.panel.time_panel import TimePanel


def at_the_end(world: World) -> TimePanel:
    panel = TimePanel(world, "orders")
    panel.position = len(panel) - 1
    return panel


def at_the_divergence(world: World) -> TimePanel:
    panel = TimePanel(world, "orders")
    panel.jump("truncation")
    panel.back()
    return panel


def captions(panel: TimePanel) -> list[str]:
    out = []
    for place in range(len(panel)):
        panel.position = place
        out.append(panel.caption)
    return out
