"""A recorded world has two futures: forked, faulted and compared."""

from __future__ import annotations

from typing import Any

from engine.sim.world.world import World
from kit.film.moments import Moment, merge
from kit.film.source import Frame
from kit.panel.time_panel import TimePanel
from tests.kit.panel.panels import at_the_divergence


def hear(panel: TimePanel, **content: Any) -> None:
    """What a browser's message does."""
    panel._handle_custom_msg(content, [])


def test_another_rule_from_here_on_has_another_ending(lossy: World) -> None:
    panel = at_the_divergence(lossy)
    hear(panel, type="fork", rule="kip-101", keep=True)
    assert panel.caption.endswith("from here on truncation rule kip-101.")
    assert panel.differs is not None
    assert panel.differs.sentence == "Leader, in-sync replicas and records are the same in both."
    panel.position = len(panel) - 1
    assert panel.differs.sentence.startswith(
        "B was acknowledged: **lost** in timeline 1, **kept** in timeline 2."
    )
    assert dict(panel.differs.cells)[103] == (1,)
    values = [[cell.value for cell in panel.scene(take).rows[2].cells] for take in (0, 1)]
    assert values == [["A"], ["A", "B"]]


def test_the_same_rule_gives_the_same_future_again(lossy: World) -> None:
    panel = at_the_divergence(lossy)
    panel.fork("to-high-watermark")
    endings = [panel._film.takes[take].frames[-1].snapshot for take in (0, 1)]
    assert endings[0] == endings[1]
    assert panel.film["parts_at"] == -1


def test_what_was_done_later_is_done_again_once_or_not_at_all(lossy: World) -> None:
    panel = TimePanel(lossy, "orders")
    panel.jump("write")  # A; then B is written, 101 killed, the link cut, 102 killed and started
    later = [
        reported.label
        for reported in panel._film.takes[0].told
        if reported.mark in ("write", "fault")
    ]
    panel.fork()
    again = [
        reported.label
        for reported in panel._film.takes[1].told
        if reported.mark in ("write", "fault")
    ]
    assert again == later[1:]
    panel.forget()
    panel.fork("kip-101")
    again = [
        reported.label
        for reported in panel._film.takes[1].told
        if reported.mark in ("write", "fault")
    ]
    assert again == later[1:]
    panel.forget()
    panel.fork(keep=False)
    again = [
        reported.label
        for reported in panel._film.takes[1].told
        if reported.mark in ("write", "fault")
    ]
    assert again == []


def test_up_to_the_fork_there_is_one_timeline(lossy: World) -> None:
    panel = at_the_divergence(lossy)
    at = panel.position
    panel.fork("kip-101")
    assert panel.film["forked_at"] == at
    panel.position = at
    assert (panel.active, panel.differs) == (0, None)
    panel.step()
    assert panel.active == 1


def test_a_fault_in_the_past_makes_another_future(lossy: World) -> None:
    panel = TimePanel(lossy, "orders")
    panel.jump("fault")
    panel.back()  # before 101 is killed
    panel.press("pause", 102, keep=False)
    assert panel.active == 1
    panel.position = len(panel) - 1
    rows = {row.id: row.state for row in panel.scene().rows}
    assert rows == {101: "running", 102: "paused", 103: "running"}
    assert panel.scene(0).rows[0].state == "killed"


def test_a_fault_at_the_end_happens_there(lossy: World) -> None:
    panel = TimePanel(lossy, "orders")
    panel.position = len(panel) - 1
    before = len(panel)
    hear(panel, type="press", action="start", node=101, other=None)
    assert panel.active == 0
    assert len(panel) > before
    panel.position = len(panel) - 1
    assert panel.scene().rows[0].in_isr


def test_a_fault_in_the_second_timeline_keeps_its_own_past(lossy: World) -> None:
    panel = at_the_divergence(lossy)
    panel.fork("kip-101")
    panel.jump("election")
    at, event = panel.position, panel.frame().event
    panel.press("kill", 103, keep=False)
    assert panel.position > at
    events = [frame.event for frame in panel._film.takes[1].frames]
    assert event in events
    assert events == sorted(events)
    assert panel._film.takes[1].recording.rule == "kip-101"


def test_a_second_timeline_is_dropped_again(lossy: World) -> None:
    panel = at_the_divergence(lossy)
    at, alone = panel.position, len(panel)
    panel.fork("kip-101")
    hear(panel, type="forget")
    assert (len(panel), panel.position, panel.differs) == (alone, at, None)


def test_what_cannot_be_done_is_said(lossy: World) -> None:
    panel = TimePanel(lossy, "orders")
    panel.press("explode", 101)
    assert panel.notice.startswith("There is no button named 'explode'; there are kill, stop")
    panel.press("cut", 101)
    assert panel.notice == "Cut 101 from which broker? Name another one."
    panel.fork("wishful")
    assert "no rule 'wishful'" in panel.notice
    panel.press("kill", 999)
    assert "no node 999" in panel.notice


def test_an_end_at_which_nothing_more_happens_says_so(lossy: World) -> None:
    panel = TimePanel(lossy, "orders")
    panel.position = len(panel) - 1
    hear(panel, type="run_on")
    assert panel.notice == "Nothing happens to orders in 3 s."


def test_a_fault_in_the_past_is_in_view_at_once(lossy: World) -> None:
    panel = TimePanel(lossy, "orders")
    panel.jump("fault")
    panel.back()
    panel.press("kill", 102)
    assert panel.caption.startswith("Timeline 1: 101 is **killed**.")
    assert "Timeline 2: 102 is **killed**." in panel.caption
    assert (panel.scene(0).rows[1].state, panel.scene(1).rows[1].state) == ("running", "killed")


def test_a_world_without_checkpoints_is_shown_but_not_forked() -> None:
    world = World(seed=3, rewindable=False)
    world.create_topic("orders")
    panel = TimePanel(world, "orders")
    assert panel.scene().leader > 0
    panel.fork("kip-101")
    assert panel.notice == "This world keeps no checkpoints: make it with rewindable=True."


def test_two_worlds_are_compared_from_the_beginning(lossy: World) -> None:
    panel = TimePanel(lossy, "orders")
    panel.compare(lossy.fork())
    assert panel.film["forked_at"] == 0
    assert panel.film["parts_at"] == -1


def test_a_compared_world_without_checkpoints_has_no_other_future() -> None:
    worlds = [World(seed=3, rewindable=rewindable) for rewindable in (True, False)]
    for world in worlds:
        world.create_topic("orders")
        world.run(for_s=5)
    panel = TimePanel(worlds[0], "orders")
    panel.compare(worlds[1])
    panel.go(len(panel) - 1)
    panel.press("kill", 101)  # at its end the world goes on
    panel.go(1)
    assert (panel.active, panel.notice) == (1, "")
    panel.press("kill", 102)
    assert panel.notice == "This world keeps no checkpoints: make it with rewindable=True."


def test_moments_run_along_both_timelines_by_virtual_time() -> None:
    def frames(*times: int) -> list[Frame]:
        return [Frame(number, {"time_us": time}) for number, time in enumerate(times)]

    merged = merge(frames(0, 1, 2, 5), frames(1, 2, 3), at=1)
    assert merged == [Moment(0), Moment(1), Moment(1, 0), Moment(2, 1), Moment(2, 2), Moment(3, 2)]


def test_recording_a_branch_keeps_what_a_dead_broker_held(lossy: World) -> None:
    panel = TimePanel(lossy, "orders")
    panel.jump("lost")
    panel.fork("kip-101")
    dead = panel.scene(1).rows[0]
    assert (dead.state, [cell.value for cell in dead.cells]) == ("killed", ["A", "B"])
