"""The widget without a browser: traits, messages, the log that moves under it, and the fallback."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from engine.records.batch import encode
from engine.storage.log import Log
from kit.clusters.interface import ClusterError
from kit.segment_panel.batches import RECORDS_SHOWN
from kit.segment_panel.panel import SegmentPanel
from kit.segment_panel.story import GONE
from kit.segment_panel.wording import milliseconds
from tests.kit.segment_panel.toy_cluster import ToyCluster
from tests.kit.segment_panel.toy_log import T, values, written


def make(root: Path, **how: Any) -> tuple[Log, SegmentPanel]:
    (root / "101").mkdir()
    log = written(root / "101", **how)
    return log, SegmentPanel(ToyCluster(root), "orders")


def hear(panel: SegmentPanel, **content: Any) -> None:
    """What a browser's message does."""
    panel._handle_custom_msg(content, [])


def opened(panel: SegmentPanel) -> tuple[int, int]:
    """The offsets of the batch in the picture."""
    return panel.scene["opened"]["first_offset"], panel.scene["opened"]["last_offset"]


def test_it_opens_the_newest_batch_and_follows_the_log(tmp_path: Path) -> None:
    log, panel = make(tmp_path)
    assert opened(panel) == (118, 119)
    log.append_as_leader(encode(values(120)), 2, T * 1000)
    panel.refresh()
    assert opened(panel) == (120, 121)
    assert panel.scene["follows"]


def test_it_walks_from_batch_to_batch_across_segments(tmp_path: Path) -> None:
    log, panel = make(tmp_path)
    second = log.segments[1].base_offset
    panel.open_batch(second)
    assert opened(panel)[0] == second
    hear(panel, type="walk", by=-1)
    assert (panel.segment, opened(panel)[1]) == (0, second - 1)
    hear(panel, type="walk", by=1)
    assert (panel.segment, opened(panel)[0]) == (second, second)
    hear(panel, type="end", last=False)
    hear(panel, type="walk", by=-1)
    assert (opened(panel)[0], panel.notice) == (0, "That is the log's beginning.")
    hear(panel, type="follow")
    hear(panel, type="walk", by=1)
    assert panel.notice == "That is the log's end."


def test_every_byte_in_the_picture_is_in_the_file(tmp_path: Path) -> None:
    log, panel = make(tmp_path)
    data = (tmp_path / "101" / log.segments[0].path).read_bytes()
    panel.open_batch(0, 3)
    drawn = panel.scene["opened"]
    shown = b"".join(bytes.fromhex(field[7]) for field in drawn["stored"])
    assert shown == data[drawn["position"] : drawn["position"] + drawn["size"]]


def test_a_batch_of_many_records_is_turned_page_by_page(tmp_path: Path) -> None:
    _, panel = make(tmp_path, batches=2, per_batch=10, compressions=(4,))
    hear(panel, type="turn", by=1)
    assert panel.scene["opened"]["from"] == RECORDS_SHOWN
    hear(panel, type="turn", by=-5)
    assert panel.scene["opened"]["from"] == 0
    hear(panel, type="walk", by=-1)
    assert panel.record == 0


def test_a_look_up_opens_the_batch_and_is_gone_through_step_by_step(tmp_path: Path) -> None:
    _, panel = make(tmp_path)
    answer = panel.look_up(offset=27)
    assert opened(panel) == (26, 27)
    steps = panel.scene["lookup"]["steps"]
    assert steps[-1]["says"] == answer
    panel.go(-1)
    assert panel.step == len(steps) - 1
    panel.go(99)
    assert panel.step == len(steps) - 1
    hear(panel, type="forget")
    assert (panel.scene["lookup"], panel.step) == ({}, 0)


def test_a_look_up_shows_the_record_in_a_large_batch(tmp_path: Path) -> None:
    _, panel = make(tmp_path, batches=3, per_batch=20)
    panel.look_up(offset=33)
    assert panel.record <= 13 < panel.record + RECORDS_SHOWN
    assert "“value 33”" in panel.text


def test_the_browser_asks_in_words(tmp_path: Path) -> None:
    _, panel = make(tmp_path)
    hear(panel, type="look_up", what="offset", value=" 40 ")
    assert opened(panel) == (40, 41)
    hear(panel, type="look_up", what="time", value="2023-11-14 22:13:20.333")
    assert panel.scene["lookup"]["question"] == "time 2023-11-14 22:13:20.333 UTC"
    hear(panel, type="look_up", what="offset", value="last week")
    assert "is no offset" in panel.notice
    hear(panel, type="look_up", what="time", value="last week")
    assert "is no time" in panel.notice
    assert milliseconds(f"{T}") == T == milliseconds("2023-11-14 22:13:20 UTC")


def test_a_batch_whose_segment_was_deleted_is_said_to_be_gone(tmp_path: Path) -> None:
    log, panel = make(tmp_path)
    panel.open_batch(0, 2)
    log.advance_log_start(log.segments[1].base_offset)
    panel.refresh()
    assert panel.scene["caption"] == GONE
    assert panel.scene["opened"] == {}
    panel.follow()
    assert opened(panel) == (118, 119)


def test_files_that_go_between_two_looks_do_not_stop_it(tmp_path: Path) -> None:
    log, panel = make(tmp_path)
    log.advance_log_start(log.segments[1].base_offset)  # and no look since
    panel.open_batch(0, 2)
    assert panel.scene["caption"] == GONE
    assert panel.look_up(offset=3) == "The files changed in between. Look again."


def test_a_torn_tail_and_an_empty_log_have_a_sentence(tmp_path: Path) -> None:
    log, panel = make(tmp_path, batches=1)
    file = tmp_path / "101" / log.segments.active.path
    os.truncate(file, 50)
    panel.refresh()
    assert "a batch begins at 0 and is not whole: 50 bytes" in panel.text
    os.truncate(file, 0)
    panel.refresh()
    assert "The log is **empty**" in panel.scene["caption"]


def test_another_brokers_files_are_a_choice_away(tmp_path: Path) -> None:
    for broker, batches in ((101, 4), (102, 2)):
        (tmp_path / str(broker)).mkdir()
        written(tmp_path / str(broker), batches=batches)
    panel = SegmentPanel(ToyCluster(tmp_path, (101, 102)), "orders")
    assert (panel.broker, opened(panel)) == (101, (6, 7))
    hear(panel, type="broker", broker=102)
    assert (panel.broker, opened(panel)) == (102, (2, 3))
    with pytest.raises(ClusterError, match="name one of 101, 102"):
        SegmentPanel(ToyCluster(tmp_path, (101, 102)), "orders", broker=103)


def test_what_is_not_there_is_an_error_with_a_remedy(tmp_path: Path) -> None:
    (tmp_path / "101").mkdir()
    with pytest.raises(ClusterError, match="no segment of orders-0"):
        SegmentPanel(ToyCluster(tmp_path), "orders")
    with pytest.raises(ClusterError, match="no topic 'absent'"):
        SegmentPanel(ToyCluster(tmp_path), "absent")


def test_a_notebook_stores_the_text_and_a_still_picture(tmp_path: Path) -> None:
    _, panel = make(tmp_path)
    bundle, _ = panel._repr_mimebundle_()
    assert bundle["text/plain"] == panel.text
    picture = bundle["image/svg+xml"]
    assert "Run this cell" in picture
    assert ">base offset<" in picture
    assert "log end 120" in picture
