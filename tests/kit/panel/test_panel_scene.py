"""What is drawn of a snapshot: aligned offsets, commitment, parted histories, text and still."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import Any

import pytest

from kit.film.output import RERUN
from kit.film.source import Frame, Line
from kit.film.steps import plain
from kit.panel import still, text
from kit.panel.moments import Differs, compare
from kit.panel.scene import Scene, build
from tests.kit.panel.toy_cluster import divergence, make_log, make_partition, make_snapshot


def scene_of(snapshot: object, *lines: Line) -> Scene:
    assert isinstance(snapshot, dict)
    return build(Frame(0, snapshot, lines), "orders", 0)


def test_histories_part_where_the_leaders_epoch_ends() -> None:
    scene = scene_of(divergence())
    assert scene.parts_at == 2
    assert [c.offset for c in scene.rows[0].cells if c.parted] == [2, 3, 4]
    assert not any(c.parted for row in scene.rows[1:] for c in row.cells)


def test_a_new_leader_without_records_parts_from_a_longer_old_log() -> None:
    logs = {
        101: make_log([("A", 0), ("X", 0)], 1),
        102: make_log([("A", 0)], 1, "leader", epochs=[[0, 0], [1, 1]]),
    }
    scene = scene_of(make_snapshot({0: make_partition(logs, 102, 1, [102])}))
    assert scene.parts_at == 1


def test_a_follower_read_a_moment_later_than_its_leader_does_not_part() -> None:
    logs = {
        101: make_log([("A", 0)], 1, "leader"),
        102: make_log([("A", 0), ("B", 0)], 1),
    }
    scene = scene_of(make_snapshot({0: make_partition(logs, 101, 0, [101, 102])}))
    assert scene.parts_at is None


def test_a_record_is_committed_as_far_as_its_own_replica_knows() -> None:
    scene = scene_of(divergence())
    assert [c.committed for c in scene.rows[0].cells] == [True, True, False, False, False]


def test_a_long_log_is_seen_from_its_end_and_others_stay_aligned() -> None:
    held = [(str(number), 0) for number in range(40)]
    logs = {101: make_log(held, 40, "leader"), 102: make_log(held[:35], 35)}
    scene = scene_of(make_snapshot({0: make_partition(logs, 101, 0, [101, 102])}))
    assert scene.offsets == (32, 42)
    assert [c.value for c in scene.rows[0].cells] == [str(n) for n in range(32, 40)]
    assert [c.offset for c in scene.rows[1].cells] == [32, 33, 34]


def test_records_that_could_not_be_read_keep_their_place_and_epoch() -> None:
    log = make_log([("A", 0), ("B", 1)], 2, "leader")
    del log["batches"]
    scene = scene_of(make_snapshot({0: make_partition({101: log}, 101, 1, [101])}))
    assert [(c.offset, c.epoch, c.value) for c in scene.rows[0].cells] == [(0, 0, ""), (1, 1, "")]


def test_a_replica_that_never_answered_has_no_log_to_show() -> None:
    logs = {101: make_log([("A", 0)], 1, "leader"), 102: {"role": "offline"}}
    scene = scene_of(make_snapshot({0: make_partition(logs, 101, 0, [101])}, b102="killed"))
    assert (scene.rows[1].log_end_offset, scene.rows[1].cells) == (-1, ())
    assert "log not known" in text.render(scene, "")


def test_the_word_of_a_leader_to_its_follower_is_drawn() -> None:
    line = Line(1, 101, "diverging", "orders-0", {"epoch": 0, "end": 2})
    other = Line(1, 101, "diverging", "orders-7", {"epoch": 0, "end": 9})
    (message,) = scene_of(divergence(), line, other).messages
    assert (message.source, message.destination, message.says) == (102, 101, "epoch 0 ends at 2")


def test_a_partition_in_trouble_says_so_in_the_strip() -> None:
    logs = {101: make_log([("A", 0)], 1, "leader")}
    healthy = make_partition(logs, 101, 0, [101, 102, 103])
    partitions = {
        0: healthy,
        1: make_partition(logs, 101, 0, [101]),
        2: make_partition({}, -1, 0, []),
    }
    assert [s.trouble for s in scene_of(make_snapshot(partitions)).strip] == [
        "",
        "under-replicated",
        "no leader",
    ]


def test_the_text_aligns_offsets_and_brackets_what_is_not_committed() -> None:
    lines = text.render(scene_of(divergence()), "102 **leads**.").splitlines()
    assert lines[0] == (
        "orders, partition 0: leader 102 · epoch 1 · ISR 102, 103 · min.insync.replicas 2"
    )
    assert lines[2].split("HW")[0].split() == [
        "101",
        "follower",
        "A/0",
        "B/0",
        "|[X1/0]",
        "[X2/0]",
        "[X3/0]",
    ]
    assert lines[3].index("Y1/1") == lines[2].index("[X1/0]")
    assert "Logs diverge at offset 2." in lines
    assert lines[-1] == "102 leads."


def test_without_a_topic_the_brokers_are_still_there() -> None:
    scene = build(Frame(0, make_snapshot({}, b102="paused")), "", 0)
    assert [row.state for row in scene.rows] == ["running", "paused", "running"]
    assert text.render(scene, "There is no topic yet.").endswith("There is no topic yet.")


def test_the_still_picture_is_well_formed_and_says_how_to_get_the_live_one() -> None:
    snapshot = divergence()
    batch = snapshot["topics"]["orders"]["partitions"][0]["logs"][102]["batches"][2]
    batch["values"] = ["<b>&"]
    picture = still.draw(scene_of(snapshot), "A < B & **C**")
    root = ET.fromstring(picture)
    words = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "<b>&" in words
    assert "A < B & C" in words
    assert RERUN in words
    assert words.count("epoch 0") == 9


def svg_texts(picture: str) -> list[tuple[str, str, float]]:
    """Every text in a picture: its words, its classes, its x."""
    found = ET.fromstring(picture).iter("{http://www.w3.org/2000/svg}text")
    return [(each.text or "", each.get("class", ""), float(each.get("x", 0))) for each in found]


@pytest.mark.parametrize("mark", [0, 1_000])
def test_the_marks_of_an_empty_view_stand_free_of_the_card(mark: int) -> None:
    log = {**make_log([], 0, "leader"), "log_start_offset": mark, "log_end_offset": mark}
    log["high_watermark"] = mark
    scene = scene_of(make_snapshot({0: make_partition({101: log}, 101, 0, [101])}))
    placed = {words.split()[0]: each for each in svg_texts(still.draw(scene, ""))
              if (words := each[0])[:3] in ("HW ", "LEO")}  # fmt: skip
    words, classes, x = placed["HW"]
    wide = 8 * len(words)  # of an 11-pixel bold letter, the width at most
    start = x - wide if "e" in classes.split() else x
    assert start > still.CARD + 4
    assert placed["LEO"][2] > start + wide


def test_the_still_picture_of_a_fork_shows_both_timelines_and_what_differs() -> None:
    held: Any = [("A", 0), ("B", 0), ("C", 0)]
    one, other = divergence(), divergence()
    logs = other["topics"]["orders"]["partitions"][0]["logs"]
    logs[101] = make_log(held[:2], 2)
    logs[103] = make_log([*held[:2], ("Z", 1)], 3)
    states = [each["topics"]["orders"]["partitions"][0] for each in (one, other)]
    differs = compare(states[0], states[1], ((), ()))
    assert dict(differs.cells) == {101: (2, 3, 4), 103: (2,)}
    second = still.Second(scene_of(other), ("old-rule", "new-rule"), differs)
    picture = still.draw(scene_of(one), "Timeline 1: this.\nTimeline 2: that.", second)
    words = [words for words, _, _ in svg_texts(picture)]
    assert [words.count(each) for each in ("A", "X1", "Y1", "Z")] == [6, 1, 3, 1]
    assert words.count("≠") == 2 * (3 + 1)  # in both lanes, record or not
    assert picture.count('stroke-dasharray="1 4"') == 3  # the places of X1 to X3 in timeline 2
    assert {"timeline 1, rule old-rule", "timeline 2, rule new-rule"} <= {*words}
    assert {"Timeline 1: this.", "Timeline 2: that."} <= {*words}
    assert "≠ " + plain(differs.sentence) == " ".join(
        each.strip() for each, classes, _ in svg_texts(picture) if classes == "two"
    )


def test_trouble_fits_into_the_card_of_two_timelines() -> None:
    one, other = divergence(), divergence()
    other["links"] = [{"between": [102, 103], "state": "cut", "delay_ms": 0}]
    second = still.Second(scene_of(other), ("a", "b"), Differs((), ""))
    words = [words for words, _, _ in svg_texts(still.draw(scene_of(one), "", second))]
    assert "♛ leader · ✓ ISR · running" in words
    assert "♛ leader · ✓ ISR · ✂ 103" in words


def test_two_timelines_far_apart_are_seen_from_their_newest_record() -> None:
    logs = [make_log([(str(at), 0) for at in range(end)], end, "leader") for end in (12, 20)]
    scenes = [scene_of(make_snapshot({0: make_partition({101: log}, 101, 0, [101])}))
              for log in logs]  # fmt: skip
    second = still.Second(scenes[1], ("a", "b"), Differs((), ""))
    placed = svg_texts(still.draw(scenes[0], "", second))
    assert "19" in [words for words, _, _ in placed]
    assert "LEO 20" in [words for words, _, _ in placed]
    assert max(x for _, _, x in placed) <= still.WIDTH - 18
