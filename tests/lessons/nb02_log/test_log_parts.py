"""The parts of notebook 02: fields that differ, a flipped bit, merged events, this machine."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from engine.records import batch, compression
from kit.clusters.interface import Cluster
from lessons.nb02_log import machine, merging, on_disk, writing

AT = 1_700_000_000_000


def test_the_fields_tile_a_header() -> None:
    ends = [0, *(end for _, _, end in on_disk.FIELDS)]
    assert [start for _, start, _ in on_disk.FIELDS] == ends[:-1]
    assert ends[-1] == batch.HEADER_SIZE


def test_what_a_leader_writes_into_a_batch_is_named_and_leaves_the_checksum_right() -> None:
    sent = writing.made([b"a", b"b"], AT)
    stored = batch.assign(sent, base_offset=7, leader_epoch=3)
    assert on_disk.changed_fields(sent, stored) == ["base offset", "leader epoch"]
    assert on_disk.checksum_is_right(stored)
    assert not on_disk.checksum_is_right(stored[:-3] + b"zzz")
    stamped = batch.assign(sent, 0, 0, log_append_time=AT + 5)
    assert {"checksum", "attributes", "timestamps"} <= set(on_disk.changed_fields(sent, stamped))


@pytest.mark.parametrize("codec", compression.NAMES)
def test_a_batch_by_hand_has_its_codec_its_times_and_its_values(codec: str) -> None:
    data = writing.made([b"a", b"b"], AT, step_ms=3, codec=codec)
    records = batch.decode(data)
    assert [r.value for r in records] == [b"a", b"b"]
    assert [r.timestamp - AT for r in records] == [0, 3]
    assert compression.NAMES[batch.read_header(data).compression] == codec
    assert batch.decode(writing.made([b"a"], AT, bare=True))[0].key is None


def test_a_flipped_bit_is_named_after_its_field(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = writing.made([b"a"], AT), writing.made([b"b"], AT)
    file = tmp_path / f"{0:020d}.log"
    file.write_bytes(first + second)
    monkeypatch.setattr(on_disk, "folder", lambda cluster, topic: tmp_path)
    cluster: Any = SimpleNamespace()
    given: Cluster = cluster
    assert on_disk.flip(given, "orders", 3) == "base offset"
    assert on_disk.flip(given, "orders", len(first) + 15) == "leader epoch"
    assert on_disk.flip(given, "orders", len(first + second) - 2) == "records"
    assert sum(a != b for a, b in zip(file.read_bytes(), first + second, strict=True)) == 3


def test_clocks_that_differ_break_a_merge_and_a_sequence_does_not() -> None:
    events = merging.events(count=20, partitions=2, skew_ms=40)
    assert merging.inversions(merging.merged(events, "timestamp")) > 0
    assert merging.inversions(merging.merged(events, "sequence")) == 0
    even = merging.events(count=20, partitions=2, skew_ms=0)
    assert merging.inversions(merging.merged(even, "timestamp")) == 0


def test_the_machine_is_measured_on_the_same_blocks_in_two_orders() -> None:
    ahead, anywhere = (machine.places(1 << 20, in_order=each) for each in (True, False))
    assert sorted(anywhere) == ahead != anywhere
    found = machine.ratios(1 << 20)
    assert all(ratio > 0 for ratio in found.values())
    assert "sendfile" in " ".join(found)


def test_system_calls_are_counted_of_a_kafka_of_plain_processes_alone() -> None:
    assert "plain processes" in machine.system_calls(None, "orders")
