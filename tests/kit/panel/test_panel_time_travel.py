"""Time travel without a browser: the story of a world, step by step."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from engine.sim.world.world import World
from kit import lab
from kit.film import output, strip
from kit.film.steps import plain
from kit.panel import small
from kit.panel.panel import ClusterPanel
from kit.panel.time_panel import TimePanel
from tests.kit.film import strips
from tests.kit.panel.panels import at_the_divergence, captions
from tests.kit.panel.toy_cluster import ToyCluster
from tests.kit.panel.worlds import SCRIPTS, played

# -- the story


def test_the_story_of_a_lost_record_has_a_caption_for_each_step(lossy: World) -> None:
    reported = captions(TimePanel(lossy, "orders"))
    wanted = [
        "101 appends B at offset 1, epoch 0: **not committed** until 102 and 103 have it.",
        "Every member of the ISR has fetched past B: 101 moves the high watermark to 2, and B is "
        "committed.",
        "The client learns that B is at offset 1: the whole ISR has it.",
        "101 is **killed**. Its log stays on its disk as it is.",
        "103 **cuts** its log from 2 to 1: B is gone, which it did not know to be committed. "
        "Why: cut at the own high watermark.",
    ]
    places = [reported.index(sentence) for sentence in wanted]
    assert places == sorted(places)
    assert any("B was acknowledged under acks=all, and 103 does not have it" in s for s in reported)
    assert "" not in reported


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


def test_jumps_go_to_both_ends(lossy: World) -> None:
    panel = TimePanel(lossy, "orders")
    assert panel.jump("end")
    assert panel.position == len(panel) - 1
    assert panel.jump("start")
    assert panel.position == 0
    assert panel.notice == ""


def test_a_kind_of_step_that_does_not_exist_is_named_with_those_that_do(lossy: World) -> None:
    panel = TimePanel(lossy, "orders")
    assert not panel.jump("explosion")
    assert panel.notice == (
        "There is no kind of step named 'explosion'; there are fault, election, parted, "
        "truncation, lost, ack, write, fork; start and end are the first and the last step."
    )


def test_stepping_stops_at_both_ends(lossy: World) -> None:
    panel = TimePanel(lossy, "orders")
    panel.back()
    assert panel.position == 0
    panel.position = len(panel) - 1
    panel.step()
    assert panel.position == len(panel) - 1


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
    reported = panel.film["sources"][step["source"]]
    decided = panel.film["sources"][reported["also"]]
    assert (reported["function"], decided["function"]) == ("truncate", "follow")
    assert panel.film["sources"][decided["also"]] == reported


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
    monkeypatch.setattr(output, "display", lambda bundle, raw: shown.append(bundle))
    TimePanel(lossy, "orders")._ipython_display_()
    assert [sorted(bundle) for bundle in shown] == [
        ["image/svg+xml", "text/plain"],
        ["application/vnd.jupyter.widget-view+json", "text/plain"],
    ]


def test_the_still_picture_of_a_fork_has_both_timelines(lossy: World) -> None:
    panel = at_the_divergence(lossy)
    alone = panel._repr_mimebundle_()[0]["image/svg+xml"]
    panel.fork("kip-101")
    panel.jump("end")
    picture = panel._repr_mimebundle_()[0]["image/svg+xml"]
    assert "timeline 2" not in alone
    for part in ("timeline 1, rule to-high-watermark", "timeline 2, rule kip-101",
                 "≠ B was acknowledged: lost in timeline 1, kept in timeline 2."):  # fmt: skip
        assert part in picture, part
    for sentence in panel.captions:
        assert plain(sentence) in picture


def test_an_exported_page_holds_everything(lossy: World, tmp_path: Path) -> None:
    panel = at_the_divergence(lossy)
    panel.fork("kip-101")
    page = panel.export(tmp_path / "lecture.html").read_text("utf-8")
    for part in ("function playRows", '["name", "truncate"]', "kip-101", "prefers-color-scheme"):
        assert part in page, part
    for outside in ("http:", "https:", "import "):
        assert outside not in page.replace("http://www.w3.org/2000/svg", ""), outside


def test_the_strip_shows_what_the_panel_shows_at_each_of_its_moments(lossy: World) -> None:
    """Records, what is committed, and the high watermarks, as the scene of that moment has them."""
    panel = at_the_divergence(lossy)
    found, place = strips.shots(panel._picture()), panel.position
    chosen = strip.chosen(panel._film, place)
    assert 4 <= len(found) == len(chosen) <= strip.MOST
    assert [each.in_view for each in found] == [at == place for at in chosen]
    for at, shown in zip(chosen, found, strict=True):
        panel.go(at)
        scene = panel.scene()
        cells = [cell for row in scene.rows for cell in row.cells]
        records = [each for each in shown.words if "·" in each and " " not in each]
        assert records == [f"{cell.value}·{cell.epoch}" for cell in cells]
        styles = Counter(f"{'k' if cell.committed else 'o'}{cell.epoch}" for cell in cells)
        assert shown.boxes == styles
        marks = [row.high_watermark for row in scene.rows if row.high_watermark >= 0]
        assert shown.lines["var(--ink)"] == [
            small.LOG + (mark - scene.offsets[0]) * small.PITCH - 2 for mark in marks
        ]
        assert f"leader {scene.leader} " in shown.words[0]
