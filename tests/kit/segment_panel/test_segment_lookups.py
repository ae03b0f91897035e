"""Look-ups listed step by step: the answers, and that the steps are the engine's own reads."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from engine.storage import offset_index
from engine.storage.segment import Segment
from kit.segment_panel import text
from kit.segment_panel.folder import Replica
from kit.segment_panel.lookups import SCANNED_SHOWN, LookUp, Step, of_offset, of_timestamp
from kit.segment_panel.scene import lookup_to_plain
from kit.segment_panel.source import Known
from tests.kit.segment_panel.toy_log import T, seen, written


def steps(found: LookUp, kind: str) -> list[Step]:
    return [step for step in found.steps if step.kind == kind]


def test_every_offset_is_found_in_the_batch_that_holds_it(tmp_path: Path) -> None:
    log = written(tmp_path)
    replica = seen(tmp_path)
    for offset in range(log.log_end_offset):
        found = of_offset(replica, offset)
        segment = replica.segment(found.segment)
        assert segment is not None
        batch = next(each for each in segment.batches if each.position == found.position)
        assert batch.header.base_offset <= offset <= batch.header.last_offset


def test_every_timestamp_is_found_as_the_log_finds_it(tmp_path: Path) -> None:
    log = written(tmp_path)
    replica = seen(tmp_path)
    for timestamp in range(T - 5, T + 610, 3):
        answer = log.offset_for_timestamp(timestamp)
        assert of_timestamp(replica, timestamp).offset == (-1 if answer is None else answer[0])


def test_the_probes_are_the_engines_reads_in_their_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path)
    replica = seen(tmp_path)
    asked: list[int] = []
    entry = offset_index.OffsetIndex._entry

    def spied(self: offset_index.OffsetIndex, slot: int) -> tuple[int, int]:
        asked.append(slot)
        return entry(self, slot)

    monkeypatch.setattr(offset_index.OffsetIndex, "_entry", spied)
    with replica.moment.recorded():
        replica.log[0].offset_index.lookup(9)
    searched, asked[:] = asked.copy(), []
    found = of_offset(replica, 9)
    assert [step.slot for step in found.steps if step.slot >= 0] == searched
    assert len(searched) > 2


def test_each_probe_halves_what_is_in_question_down_to_the_entry(tmp_path: Path) -> None:
    written(tmp_path)
    found = of_offset(seen(tmp_path), 9)
    probes = steps(found, "probe")
    widths = [step.high - step.low for step in probes]
    assert all(after <= before / 2 for before, after in pairwise(widths))
    assert widths[-1] == 0
    (entry,) = steps(found, "entry")
    assert entry.slot == probes[-1].low - 1
    assert steps(found, "batch")[0].position == entry.position


def test_the_last_entry_needs_no_search(tmp_path: Path) -> None:
    log = written(tmp_path)
    found = of_offset(seen(tmp_path), log.log_end_offset - 1)
    assert steps(found, "probe") == []
    assert "kept in memory" in steps(found, "memory")[0].says


def test_the_scan_passes_the_batches_between_entry_and_answer(tmp_path: Path) -> None:
    written(tmp_path)
    replica = seen(tmp_path)
    found = of_offset(replica, 9)
    passed = steps(found, "batch")
    begin, end = steps(found, "entry")[0].position, found.position
    every = [b.position for b in replica.segments[0].batches if begin <= b.position <= end]
    assert [step.position for step in passed] == every
    (read,) = steps(found, "read")
    assert read.read is not None
    assert read.read.data.startswith(_bytes(replica, 0, begin, end - begin))


def _bytes(replica: Replica, number: int, start: int, length: int) -> bytes:
    return replica.moment.read(replica.log[number].path, start, length)


def test_a_long_scan_is_shortened(tmp_path: Path) -> None:
    log = written(tmp_path, batches=20)
    for segment in log.segments:
        segment.offset_index.reset()
    found = of_offset(seen(tmp_path), 39)
    assert len(steps(found, "batch")) <= SCANNED_SHOWN
    assert "has no entry" in found.steps[1].says


def test_a_scan_of_many_batches_has_one_step_for_its_middle(tmp_path: Path) -> None:
    log = written(tmp_path, batches=40, per_batch=1)
    log.segments[0].offset_index.reset()
    last = log.segments[1].base_offset - 1
    found = of_offset(seen(tmp_path), last)
    listed = steps(found, "batch")
    assert len(listed) == SCANNED_SHOWN + 1
    (middle,) = [step for step in listed if "more are passed" in step.says]
    assert middle.position + middle.size == listed[listed.index(middle) + 1].position


@pytest.mark.parametrize(("offset", "said"), [
    (-1, "OFFSET_OUT_OF_RANGE"), (121, "OFFSET_OUT_OF_RANGE"), (120, "the log's end"),
])  # fmt: skip
def test_what_lies_outside_the_log_is_said(tmp_path: Path, offset: int, said: str) -> None:
    written(tmp_path)
    found = of_offset(seen(tmp_path), offset)
    assert said in found.answer
    assert found.segment == -1


def test_offsets_that_compaction_took_are_looked_for_further_on(tmp_path: Path) -> None:
    log = written(tmp_path)
    second = log.segments[1].base_offset
    keep = list(log.segments[0].headers(0))[-2]
    replica = seen(tmp_path)
    replica.log[0].size = keep[1]  # the last two batches of the first segment are gone
    found = of_offset(replica, second - 1)
    assert found.segment == second
    assert "on to" in steps(found, "segment")[1].says


def test_a_timestamp_beyond_all_is_no_record(tmp_path: Path) -> None:
    written(tmp_path)
    found = of_timestamp(seen(tmp_path), T + 10_000)
    assert "offset -1" in found.answer
    assert len(steps(found, "segment")) == 3


def test_the_active_segments_largest_timestamp_comes_from_its_batches(tmp_path: Path) -> None:
    """Its time index is closed only when it is rolled."""
    log = written(tmp_path, batches=1)
    assert log.segments.active.time_index.entries == 0
    assert of_timestamp(seen(tmp_path), T + 5).offset == 1


def test_text_and_picture_tell_the_same_steps(tmp_path: Path) -> None:
    written(tmp_path)
    replica = seen(tmp_path)
    found = of_offset(replica, 9)
    plain: dict[str, Any] = lookup_to_plain(replica, found)
    words = text.render("orders-0", replica, Known(), None, None, found)
    for number, step in enumerate(plain["steps"], 1):
        assert f"  {number}. {step['says']}" in words
    probe = next(step for step in plain["steps"] if step["kind"] == "probe")
    assert any(each[0] == probe["slot"] for each in probe["entries"])
    assert found.bytes_read == sum(step["read"][2] for step in plain["steps"] if "read" in step)


def test_only_the_search_is_recorded(tmp_path: Path) -> None:
    written(tmp_path)
    replica = seen(tmp_path)
    found = of_offset(replica, 9)
    segment: Segment = replica.log[0]
    with replica.moment.recorded() as reads:
        segment.find(9)
    assert found.bytes_read == sum(len(read.data) for read in reads)
