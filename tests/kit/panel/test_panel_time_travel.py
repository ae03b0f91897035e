"""Time travel without a browser: a world is recorded, rewound, forked and compared."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from engine.sim.world import World
from kit import lab
from kit.lessons.walkthrough import Walkthrough
from kit.lessons.watermark_runs import settled
from kit.panel import time_panel
from kit.panel.film import Film
from kit.panel.moments import Moment, merge
from kit.panel.panel import ClusterPanel
from kit.panel.recording import branch, record
from kit.panel.source import Frame
from kit.panel.time_panel import TimePanel
from tests.kit.panel.toy_cluster import ToyCluster
from tests.kit.panel.worlds import SCRIPTS, divergent, old_rule, played


@pytest.fixture(scope="module")
def lossy() -> World:
    return old_rule()


def hear(panel: TimePanel, **content: Any) -> None:
    """What a browser's message does."""
    panel._handle_custom_msg(content, [])


def at_the_end(world: World) -> TimePanel:
    panel = TimePanel(world, "orders")
    panel.position = len(panel) - 1
    return panel


def captions(panel: TimePanel) -> list[str]:
    out = []
    for place in range(len(panel)):
        panel.position = place
        out.append(panel.caption)
    return out


# -- recording


def test_the_learners_own_world_stays_as_it_was(lossy: World) -> None:
    events, trace = lossy.events, lossy.trace_lines()
    panel = TimePanel(lossy, "orders")
    panel.press("kill", 103)
    assert (lossy.events, lossy.trace_lines()) == (events, trace)
    assert type(lossy.cluster).__name__ == "Cluster"


def test_a_frame_for_every_step_that_matters_and_none_for_heartbeats(lossy: World) -> None:
    recording = record(lossy, "orders")
    assert 25 < len(recording.frames) < 60 < lossy.events
    assert [frame.number for frame in recording.frames] == list(range(len(recording.frames)))
    times = [frame.time_us for frame in recording.frames]
    assert times == sorted(times)
    told = [line.kind for frame in recording.frames for line in frame.lines]
    kinds = ("append", "truncate", "high_watermark", "elected", "killed", "cut", "healed")
    for kind in kinds:
        in_trace = sum(f" {kind}" in line for line in lossy.trace_lines((kind,)))
        assert told.count(kind) == in_trace, kind


def test_messages_say_what_they_carry_and_when_they_arrive() -> None:
    recording = record(divergent(), "orders")
    said = {flight.word.says for flight in recording.flights}
    assert {
        "write X1, acks=1",
        "X1 is at 2",
        "fetch from 5, after epoch 0",
        "epoch 0 ends at 2",
        "102 leads, ISR 102 103",
        "ISR 101 102 103?",
        "granted: ISR 101 102 103",
    } <= said
    assert any(words.startswith("record 2, HW") for words in said)
    assert all(flight.sent_us < flight.arrives_us for flight in recording.flights)


def test_the_answer_that_ends_an_epoch_arrives_as_the_follower_cuts() -> None:
    recording = record(divergent(), "orders")
    (cut,) = [f for f in recording.frames if any(line.kind == "truncate" for line in f.lines)]
    arriving = [f.word.says for f in recording.flights if f.arrives_us == cut.time_us]
    assert arriving == ["epoch 0 ends at 2"]


def test_a_message_waits_at_a_cut_until_the_link_is_mended() -> None:
    world = settled(101, 102, 103)
    world.cut(101, 102)
    Walkthrough(world).send("A")
    world.run(for_s=1)
    assert "held at the cut: 101 → 102: record 0, HW 0" in at_the_end(world).text
    world.heal()
    world.run(for_s=1)
    flights = [f for f in record(world, "orders").flights if f.word.says == "record 0, HW 0"]
    held, sent = [each for each in flights if each.destination == 102]
    assert (held.held, sent.held) == (True, False)
    assert held.sent_us < held.arrives_us == sent.sent_us < sent.arrives_us
    assert [each.held for each in flights if each.destination == 103] == [False]


def test_nobody_waits_at_a_cut_for_an_answer_to_a_broker_that_is_gone() -> None:
    world = settled(101, 102, 103)
    world.cut(101, 102)
    Walkthrough(world).send("A")
    world.run(for_s=1)
    world.kill(102)
    world.run(for_s=1)
    assert "102" in at_the_end(world).text
    assert "held at the cut" not in at_the_end(world).text


# -- the story


def test_the_story_of_a_lost_record_is_told_step_by_step(lossy: World) -> None:
    told = captions(TimePanel(lossy, "orders"))
    wanted = [
        "101 appends B at offset 1, epoch 0: **not committed** until 102 and 103 have it.",
        "Every member of the ISR has fetched past B: 101 moves the high watermark to 2, and B is "
        "committed.",
        "The client hears that B is at offset 1: the whole ISR has it.",
        "101 is **killed**. Its log stays on its disk as it is.",
        "103 **cuts** its log from 2 to 1: B is gone, which it did not know to be committed. "
        "Why: cut at the own high watermark.",
    ]
    places = [told.index(sentence) for sentence in wanted]
    assert places == sorted(places)
    assert any("B was acknowledged under acks=all, and 103 does not have it" in s for s in told)
    assert "" not in told


@pytest.mark.parametrize(
    "script", sorted(each.stem for each in (SCRIPTS / "replication").iterdir())
)
def test_every_step_of_every_script_has_a_sentence_a_source_and_a_text(script: str) -> None:
    panel = TimePanel(played(f"replication/{script}"), "orders")
    for step in panel.film["takes"][0]["steps"][1:]:
        assert step["caption"], step["lines"]
        assert all(source for *_, source in step["lines"]), step["lines"]
    panel.position = len(panel) - 1
    assert panel.text.splitlines()[1].startswith("orders, partition 0")


def test_the_recording_begins_where_every_replica_is_there(lossy: World) -> None:
    panel = TimePanel(lossy, "orders")
    assert panel.caption == (
        "The recording begins: 101 leads orders, partition 0, in epoch 0, with no record yet."
    )
    assert [row.log_end_offset for row in panel.scene().rows] == [0, 0, 0]


def test_jumps_go_to_the_named_kinds_of_step(lossy: World) -> None:
    panel = TimePanel(lossy, "orders")
    assert panel.jump("truncation")
    assert panel.caption.startswith("103 **cuts** its log from 2 to 1")
    assert panel.jump("lost")
    assert panel.caption.endswith("103 does not have it: **lost**.")
    assert panel.jump("fault", forward=False)
    assert panel.caption.startswith("102 is **killed**")
    panel.position = 0
    assert not panel.jump("truncation", forward=False)
    assert panel.notice == "There is no truncation before this moment."


def test_stepping_stops_at_both_ends(lossy: World) -> None:
    panel = TimePanel(lossy, "orders")
    panel.back()
    assert panel.position == 0
    panel.position = len(panel) - 1
    panel.step()
    assert panel.position == len(panel) - 1


# -- forks


def at_the_divergence(world: World) -> TimePanel:
    panel = TimePanel(world, "orders")
    panel.jump("truncation")
    panel.back()
    return panel


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
    later = [told.label for told in panel._film.takes[0].told if told.mark in ("write", "fault")]
    panel.fork()
    again = [told.label for told in panel._film.takes[1].told if told.mark in ("write", "fault")]
    assert again == later[1:]
    panel.forget()
    panel.fork("kip-101")
    again = [told.label for told in panel._film.takes[1].told if told.mark in ("write", "fault")]
    assert again == later[1:]
    panel.forget()
    panel.fork(keep=False)
    again = [told.label for told in panel._film.takes[1].told if told.mark in ("write", "fault")]
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
    assert panel.notice == "Cut 101 from whom? Name another broker."
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
    assert panel.caption.startswith("102 is **killed**")
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


def test_moments_run_along_both_timelines_by_virtual_time() -> None:
    def frames(*times: int) -> list[Frame]:
        return [Frame(number, {"time_us": time}) for number, time in enumerate(times)]

    merged = merge(frames(0, 1, 2, 5), frames(1, 2, 3), at=1)
    assert merged == [Moment(0), Moment(1), Moment(1, 0), Moment(2, 1), Moment(2, 2), Moment(3, 2)]


# -- what a browser and a notebook get


def test_the_film_is_plain_and_names_each_thing_once(lossy: World) -> None:
    film = TimePanel(lossy, "orders").film
    assert json.loads(json.dumps(film))["topic"] == "orders"
    for name, pool in film["pools"].items():
        plain = [json.dumps(thing, sort_keys=True) for thing in pool]
        assert len(plain) == len(set(plain)), name
    assert len(json.dumps(film)) < 200_000


def test_a_step_opens_the_source_of_what_its_caption_tells(lossy: World) -> None:
    panel = TimePanel(lossy, "orders")
    panel.jump("truncation")
    step = panel.film["takes"][0]["steps"][panel.moment.first]
    assert [line[1] for line in step["lines"]] == ["follows 102, epoch 1", "ISR 102 103",
                                                   "truncate 2 → 1"]  # fmt: skip
    told = panel.film["sources"][step["source"]]
    decided = panel.film["sources"][told["also"]]
    assert (told["function"], decided["function"]) == ("truncate", "follow")
    assert panel.film["sources"][decided["also"]] == told


def test_a_thousand_steps_stay_small() -> None:
    world = World(seed=5, brokers=5)
    world.create_topic("orders", partitions=3)
    world.load("orders", count=150, period_us=5_000)
    world.run(for_s=4)
    panel = TimePanel(world, "orders")
    steps = len(panel.film["moments"])
    assert steps > 200
    assert len(json.dumps(panel.film)) / steps < 3_000
    assert panel.film["partitions"] == [0, 1, 2]


def test_another_partition_has_its_own_steps_at_the_same_time() -> None:
    world = World(seed=5)
    world.create_topic("orders", partitions=2)
    world.load("orders", count=20)
    world.run(for_s=3)
    panel = TimePanel(world, "orders")
    panel.position = len(panel) // 2
    time_us = panel.frame().time_us
    panel.partition = 1
    assert panel.film["partition"] == 1
    assert panel.frame().time_us <= time_us
    others = [line for step in panel.film["takes"][0]["steps"] for line in step["lines"]]
    assert others


def test_the_text_tells_both_timelines_and_what_is_on_its_way(lossy: World) -> None:
    panel = at_the_divergence(lossy)
    panel.fork("kip-101")
    panel.jump("truncation")
    lines = panel.text.splitlines()
    assert lines[0].startswith("timeline 1, rule to-high-watermark, t = ")
    assert any(line.startswith("timeline 2, rule kip-101") for line in lines)
    assert any(line.startswith("on its way: 100 → 102: 102 leads") for line in lines)


def test_the_doorway_chooses_the_panel(lossy: World) -> None:
    assert isinstance(lab.panel(lossy), TimePanel)
    assert isinstance(lab.panel(ToyCluster(), "orders"), ClusterPanel)


def test_a_world_without_a_topic_says_how_to_make_one() -> None:
    with pytest.raises(ValueError, match=r"world\.create_topic"):
        TimePanel(World(seed=1))


def test_a_notebook_stores_the_text_and_a_still_picture(
    lossy: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[dict[str, Any]] = []
    monkeypatch.setattr(time_panel, "display", lambda bundle, raw: shown.append(bundle))
    TimePanel(lossy, "orders")._ipython_display_()
    assert [sorted(bundle) for bundle in shown] == [
        ["image/svg+xml", "text/plain"],
        ["application/vnd.jupyter.widget-view+json", "text/plain"],
    ]


def test_an_exported_page_holds_everything(lossy: World, tmp_path: Path) -> None:
    panel = at_the_divergence(lossy)
    panel.fork("kip-101")
    page = panel.export(tmp_path / "lecture.html").read_text("utf-8")
    for part in ("function render", '["name", "truncate"]', "kip-101", "prefers-color-scheme"):
        assert part in page, part
    for outside in ("http:", "https:", "import "):
        assert outside not in page.replace("http://www.w3.org/2000/svg", ""), outside


def test_a_recorded_world_still_pickles(lossy: World) -> None:
    recording = record(lossy, "orders")
    frame = recording.frames[-3]
    again = branch(recording, frame)
    assert pickle.loads(pickle.dumps(again.world)).events == again.world.events


def test_recording_a_branch_keeps_what_a_dead_broker_held(lossy: World) -> None:
    panel = TimePanel(lossy, "orders")
    panel.jump("lost")
    panel.fork("kip-101")
    dead = panel.scene(1).rows[0]
    assert (dead.state, [cell.value for cell in dead.cells]) == ("killed", ["A", "B"])


def test_a_film_of_one_partition_is_made_from_what_concerns_it(lossy: World) -> None:
    recording = record(lossy, "orders")
    film = Film.of("orders", 0, recording)
    assert all("orders" in frame.snapshot["topics"] for frame in film.takes[0].frames)
