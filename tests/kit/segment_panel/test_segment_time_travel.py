"""Files over time: the moments of a recorded world, and that they are the files of that moment."""

from __future__ import annotations

from typing import Any

import pytest

from engine.sim.world.world import World
from kit.clusters.interface import ClusterError
from kit.film import replay
from kit.segment_panel.panel import SegmentPanel
from kit.segment_panel.recording import WorldSource
from tests.kit.panel.worlds import old_rule


@pytest.fixture(scope="module")
def lossy() -> World:
    """A follower cuts an acknowledged record off.  Panels copy it; do not change it."""
    return old_rule()


def hear(panel: SegmentPanel, **content: Any) -> None:
    panel._handle_custom_msg(content, [])


def test_the_files_of_each_moment_are_those_of_the_world_then(lossy: World) -> None:
    source = WorldSource(lossy, "orders", 0, None)
    past = replay.from_the_beginning(lossy)
    compared = 0
    for frame in source.frames[:: len(source.frames) // 8]:
        past.goto(event=frame.event)
        for broker in source.brokers:
            disk = past.cluster.disks[broker]
            source.broker, source.place = broker, frame.number
            source.poll()
            assert source.replica is not None
            for segment in source.replica.segments:
                path = f"orders-0/{segment.name}"
                assert source.replica.moment.read(path, 0, 1 << 20) == disk.read(path, 0, 1 << 20)
                compared += segment.size > 0
    assert compared > 5


def test_a_truncation_takes_the_batch_out_of_the_file(lossy: World) -> None:
    panel = SegmentPanel(lossy, "orders")
    cuts = [
        (line.node, frame.number)
        for frame in panel._film.frames  # type: ignore[union-attr]
        for line in frame.lines
        if line.kind == "truncate" and line.partition == "orders-0" and line["was"] != line["to"]
    ]
    broker, at = cuts[0]
    panel.broker = broker
    panel.goto(at - 1)
    before = panel.scene["segments"][0]["batches"]
    panel.goto(at)
    assert panel.scene["segments"][0]["batches"] < before
    assert panel.text.startswith(f"moment {at + 1} of {len(panel)}, ")


def test_it_goes_to_named_moments_and_follows_the_newest_batch(lossy: World) -> None:
    panel = SegmentPanel(lossy, "orders")
    panel.goto(0)
    assert panel.scene["segments"] == []
    assert "has **no folder**" in panel.scene["caption"]
    names = [name for _, name in panel.scene["timeline"]["marks"]]
    kill = next(name for name in names if name.startswith("kill"))
    assert panel.jump(kill)
    assert kill.split()[1] in panel.scene["timeline"]["says"]
    assert not panel.jump("no such thing")
    assert panel.notice == "There is no 'no such thing' after this moment."
    panel.position = len(panel) - 1
    assert panel.scene["timeline"]["at"] == panel.scene["timeline"]["last"]
    assert panel.scene["opened"]["stored"]


def test_a_look_up_belongs_to_its_moment(lossy: World) -> None:
    panel = SegmentPanel(lossy, "orders")
    panel.goto(-1)
    panel.look_up(offset=0)
    assert panel.scene["lookup"]["answer"].startswith("Offset 0 is in the batch")
    panel.goto(0)
    assert panel.scene["lookup"] == {}
    assert "the log's end" in panel.look_up(offset=0)


def test_the_world_itself_stays_where_it_is(lossy: World) -> None:
    event = lossy.events
    panel = SegmentPanel(lossy, "orders")
    panel.goto(3)
    hear(panel, type="watch")
    assert (lossy.events, panel.attention.polling) == (event, None)


def test_a_partition_that_never_was_is_an_error(lossy: World) -> None:
    with pytest.raises(ClusterError, match="has ever had absent-0"):
        SegmentPanel(lossy, "absent")
