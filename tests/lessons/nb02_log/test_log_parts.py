"""The parts of notebook 02: fields that differ, a flipped bit, a damaged log, this machine."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import nbformat
import pytest
from confluent_kafka import KafkaError

from engine.records import batch, compression
from kit.clusters.interface import Cluster
from kit.course import reference_notebook, source_of
from lessons.nb02_log import machine, on_disk, writing

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
    for outside in (len(first + second), -1):
        with pytest.raises(ValueError, match=f"from 0 to {len(first + second) - 1}"):
            on_disk.flip(given, "orders", outside)


def a_consumer(*found: Any) -> Any:
    """A consumer that gives these, and then nothing."""
    coming = iter(found)
    return lambda settings: SimpleNamespace(
        assign=lambda at: None, poll=lambda timeout: next(coming, None), close=lambda: None
    )


def a_record(offset: int, value: bytes) -> Any:
    return SimpleNamespace(
        error=lambda: None, partition=lambda: 0, offset=lambda: offset, value=lambda: value
    )


def an_error(code: int) -> Any:
    error = KafkaError(code)
    return SimpleNamespace(error=lambda: error, partition=lambda: 0)


def test_a_read_of_a_damaged_log_says_what_came_or_why_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    damaged: Any = SimpleNamespace(bootstrap="localhost:1")
    cluster: Cluster = damaged
    refused, end = (an_error(code) for code in (KafkaError._BAD_MSG, KafkaError._PARTITION_EOF))
    again = [a_record(0, b"a")] * 3
    for found, says in (
        ([a_record(1 << 32, b"\xff"), a_record(1, b"b"), end], "4,294,967,296 \ufffd, 1 b"),
        ([a_record(0, b"a"), refused], "refuses what it was sent"),
        (again, "Offset 0 comes again and again"),
        ([], "do its partitions have leaders, and whole bytes"),
    ):
        monkeypatch.setattr(writing, "Consumer", a_consumer(*found))
        assert says in writing.read_or_refused(cluster, "orders", {})


def test_the_machine_is_measured_on_the_same_blocks_in_two_orders() -> None:
    ahead, anywhere = (machine.places(1 << 20, in_order=each) for each in (True, False))
    assert sorted(anywhere) == ahead != anywhere
    found = machine.ratios(1 << 20)
    assert all(ratio > 0 for ratio in found.values())
    assert "sendfile" in " ".join(found)


def test_system_calls_are_counted_of_a_kafka_of_plain_processes_alone() -> None:
    assert "plain processes" in machine.system_calls(None, "orders")


def test_the_flushes_of_a_log_are_those_of_its_own_file() -> None:
    calls = """\
71 fsync(9</data/101/flushed-1-0/00000000000000000000.log>) = 0
72 fsync(8</data/101/flushed-1-0/00000000000000000000.log> <unfinished ...>
72 <... fsync resumed>) = 0
71 fsync(7</data/101/flushed-1-0>) = 0
71 fdatasync(6</data/101/flushed-2-0/leader-epoch-checkpoint.tmp>) = 0
71 fsync(5</data/101/flushed-3-0/00000000000000000000.log>) = 0"""
    found = machine.flushes_of(calls, ["flushed-0", "flushed-1", "flushed-2", "flushed-3"])
    assert found == {"flushed-0": 0, "flushed-1": 2, "flushed-2": 0, "flushed-3": 1}


def test_a_flush_covers_the_batches_of_its_own_file() -> None:
    first, second = (f"9</data/101/flushed-1-0/{base:020d}.log>" for base in (0, 2))
    calls = f"""\
71 write({first}, "\\0\\0"..., 78) = 78
72 write({first}, "\\0\\0"..., 78 <unfinished ...>
72 <... write resumed>) = 78
71 write(5<TCP:[127.0.0.1:1->127.0.0.1:2]>, "\\0"..., 40) = 40
71 pwrite64({second}, "\\0\\0"..., 78, 0) = 78
71 fsync({first}) = 0
71 write({second}, "\\0\\0"..., 78) = 78"""
    assert machine.most_unflushed(calls, ["flushed-0", "flushed-1"]) == {
        "flushed-0": 0, "flushed-1": 3,
    }  # fmt: skip


def test_the_pages_of_a_file_are_followed_from_its_write_to_a_read() -> None:
    head, *steps = machine.pages(1 << 20).splitlines()
    assert head.split() == ["dirty", "page", "cache", "read", "from", "the", "disk"]
    assert [step[:20].rstrip() for step in steps] == [
        "before", "1.0 MB written", "a second later", "after fsync", "read", "read again, cold",
    ]  # fmt: skip
    *_, warm, cold = (float(step.split()[-1]) for step in steps)
    assert (warm, cold) == (0.0, pytest.approx(1.0, abs=0.1)), "MB that came from the disk"
    assert "vm.dirty_expire_centisecs=" in machine.kernel_rules()


def outputs_of(name: str) -> str:
    source = source_of("02")
    assert source is not None
    cells = nbformat.read(reference_notebook(source), as_version=4).cells
    (outputs,) = (cell.outputs for cell in cells if cell.id == name)
    return "\n".join(
        each.get("text", "") or each.get("data", {}).get("text/plain", "") for each in outputs
    )


def test_the_stored_run_has_counted_what_the_broker_sent() -> None:
    """A consumer gets what all replicas have; if it asks sooner, the broker sends nothing."""
    text = outputs_of("zero-copy")
    assert re.search(r"sends 300 records to a consumer", text), text
    assert re.search(r"^ +[1-9]\d* sendfile$", text, re.MULTILINE), text


def test_the_facilitator_s_numbers_are_those_of_the_run() -> None:
    source = source_of("02")
    assert source is not None
    page = (source.parents[1] / "facilitator.md").read_text()
    text = outputs_of("look-up")
    probes = len(re.findall(r"^ +\d+\. Entry \d+: ", text, re.MULTILINE))
    headers = len(re.findall(r"^ +\d+\. Batch \d+ at ", text, re.MULTILINE))
    (entries,) = set(re.findall(r"\.index \d+ B: (\d+) entries", text))
    (size,) = re.findall(r"\.log ([\d.]+ kB): batches", text)
    said = f"{probes} probes of an index with {entries} entries, then {headers} batch headers"
    assert f"`look-up`: {said}, and the record is found in {size} of log." in page
