"""The verdicts of notebook 02 come from what its runs observe."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from engine.records import batch
from engine.storage import log as log_module
from engine.storage.log import Log
from engine.storage.log_config import LogConfig
from engine.storage.real_disk import RealDisk
from engine.storage.segment import Segment
from kit.exercises import settling
from kit.segment_panel.files import Folder
from kit.segment_panel.folder import Replica, look
from lessons.nb02_log import on_disk, writing
from lessons.nb02_log.exercises.predictions import PREDICTIONS
from tests.lessons.verdicts import seen_by, settled

DEFINED = {each.id: each for each in PREDICTIONS}


INVITED = [
    ("which-order", ("partitions = 3", "partitions = 1"), "02-2", "a"),
    ("sparse", ("index_interval = 4096", "index_interval = 2048"), "02-4", ""),
    ("segments", ("[0, 30, 90, 120]  #", "[0, 90, 120, 180]  #"), "02-5", "3"),
    ("from-the-middle", ('codec = "gzip"', 'codec = "none"'), "02-6", "0"),
    ("delete-records", ("below = 4", "below = 10"), "02-7", "b"),
    ("write-and-read", ('"one more"', '"x" * 1_000'), "02-1", ""),
]


@pytest.mark.heavy
@pytest.mark.parametrize(("cell", "change", "question", "right"), INVITED)
def test_a_value_that_a_cell_invites_settles_truly(
    cell: str,
    change: tuple[str, str],
    question: str,
    right: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("KAFKALAB_REAL", "off")
    assert settled(question, seen_by("02", cell, change=change)) == right


@pytest.mark.heavy
def test_with_the_broker_s_own_time_two_sides_are_still_alike(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Their clocks differ, so nothing that `lab.both` compares may come from one."""
    monkeypatch.setenv("KAFKALAB_REAL", "off")
    change = ('"CreateTime"', '"LogAppendTime"')
    one, other = (
        dict(seen_by("02", "what-the-broker-writes", change=change)) for _ in ("one", "other")
    )
    assert settled("02-3", one) == ""
    assert all(seen.pop("bytes that differ in the file") > 5 for seen in (one, other))
    assert one == other


# -- a rule of the engine is broken, and another answer is right
#
# The runs talk to an engine in a process of its own; here its log is written in this one.

NOW = 1_700_000_000_000
MINUTE = 60_000


def a_log(folder: Path, times: list[int], value: bytes = b"x", **config: Any) -> Replica:
    """Batches of one record each, with these timestamps, and the folder that holds them."""
    log = Log(RealDisk(folder), "orders-0", LogConfig(**config), NOW * 1000)
    for at in times:
        log.append_as_leader(writing.made([value], at), 0, NOW * 1000)
    return look(Folder(folder), "orders-0")


def last_file(folder: Path) -> str:
    found = a_log(
        folder, [NOW - (240 - m) * MINUTE for m in (0, 30, 90, 120)], segment_ms=60 * MINUTE
    )
    return settled("02-5", {"base offset of the last": found.segments[-1].base_offset})


def test_a_segment_that_goes_by_the_broker_s_clock_does_not_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert last_file(tmp_path / "as it is") == "2"
    by_the_wall = lambda self, coming, now_ms: now_ms - self.created_ms  # noqa: E731
    monkeypatch.setattr(Segment, "_waited_ms", by_the_wall)
    assert last_file(tmp_path / "broken") == "0"


def indexed(folder: Path) -> str:
    found = a_log(folder, [NOW + number for number in range(300)], bytes(1_000))
    seen = {
        "batches": len(found.segments[0].batches),
        "entries of the offset index": found.log.active.offset_index.entries,
        "entries of the time index": found.log.active.time_index.entries,
    }
    return settled("02-4", seen)


def test_an_index_with_an_entry_for_every_batch_is_not_sparse(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert indexed(tmp_path / "as it is") == "c"
    note = Segment.note
    monkeypatch.setattr(Segment, "note", lambda self, header, interval: note(self, header, 0))
    assert indexed(tmp_path / "broken") == "a"


def rewritten(folder: Path) -> str:
    log = Log(RealDisk(folder), "orders-0", LogConfig(), NOW * 1000)
    log.append_as_leader(writing.made([b"first"], NOW), 0, NOW * 1000)
    sent = writing.made([b"prepared", b"packed"], NOW)
    log.append_as_leader(sent, 0, NOW * 1000)
    stored = (folder / "orders-0" / f"{0:020d}.log").read_bytes()[-len(sent) :]
    return settled("02-3", {"fields that differ": on_disk.changed_fields(sent, stored)})


def test_a_broker_that_takes_batches_apart_writes_other_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert rewritten(tmp_path / "as it is") == "a"

    def apart(data: bytes, base_offset: int, epoch: int, *_: int | None) -> bytes:
        records = [record._replace(value=b"x" * len(record.value or b""))
                   for record in batch.decode(data)]  # fmt: skip
        return batch.encode(records, base_offset=base_offset, leader_epoch=epoch)

    monkeypatch.setattr(log_module, "assign", apart)
    assert rewritten(tmp_path / "broken") == "c"


# -- what each observation makes right, and what a wrong answer hears

STAMPED = ["base offset", "leader epoch", "checksum", "attributes", "timestamps"]
INDEXED = {"batches": 300, "entries of the offset index": 75, "entries of the time index": 75,
           "bytes of the log": 321_000}  # fmt: skip
VALUE, GROWN = "bytes of one more value", "bytes that the file grows by"
FILE = "bytes of the file, before and after"
SEEN: list[tuple[str, dict[str, Any], str]] = [
    ("02-1", {VALUE: 8, GROWN: 8}, "a"),
    ("02-1", {VALUE: 8, GROWN: 21}, "b"),
    ("02-1", {VALUE: 8, GROWN: 4096}, "d"),
    ("02-1", {VALUE: 8, GROWN: 30}, ""),
    ("02-2", {"numbers read": 99, "the whole read ascends": True, "each partition ascends": True,
              "numbers in each partition": [99]}, "a"),
    ("02-2", {"numbers read": 99, "the whole read ascends": False, "each partition ascends": False,
              "numbers in each partition": [33, 33, 33]}, "b"),
    ("02-2", {"numbers read": 99, "the whole read ascends": False, "each partition ascends": True,
              "numbers in each partition": [99, 99, 99]}, "c"),
    ("02-3", {"fields that differ": []}, "d"),
    ("02-3", {"fields that differ": ["base offset", "leader epoch", "checksum"]}, "b"),
    ("02-2", {"numbers read": 1, "the whole read ascends": True, "each partition ascends": True,
              "numbers in each partition": [1, 0, 0]}, ""),
    ("02-3", {"fields that differ": STAMPED}, ""),
    ("02-4", INDEXED | {"entries of the time index": 300}, "b"),
    ("02-4", INDEXED | {"entries of the offset index": 1}, "d"),
    ("02-4", INDEXED | {"entries of the offset index": 149}, ""),
    ("02-4", INDEXED | {"entries of the offset index": 299}, "a"),
    ("02-7", {FILE: [750, 450]}, "a"),
    ("02-7", {FILE: [750, 0]}, "c"),
    ("02-7", {FILE: [750, 1050]}, "d"),
]  # fmt: skip


@pytest.mark.parametrize(("question", "seen", "letter"), SEEN)
def test_another_observation_makes_another_choice_right(
    question: str, seen: dict[str, Any], letter: str
) -> None:
    assert settled(question, seen) == letter


ROLLED = {
    "base offset of the last": 2,
    "the .log files": ["…0.log", "…2.log"],
    "offsets": [0, 1, 2, 3],
}
FETCHED = {"asked for": 250, "first offset in the answer": 0, "bytes in the answer": 8_000,
           "bytes in the log": 8_000, "first offset that a client hands out": 250}  # fmt: skip


@pytest.mark.parametrize(
    ("question", "answer", "seen", "says"),
    [
        ("02-1", "b", {VALUE: 8, GROWN: 76}, "is a batch"),
        ("02-1", "a", {VALUE: 8, GROWN: 300}, "none of the choices"),
        ("02-3", "b", {"fields that differ": ["base offset", "leader epoch"]}, "begins behind"),
        ("02-4", "a", INDEXED, "75 and 75 entries, for 300 batches"),
        ("02-4", "b", INDEXED, "when the offset index does"),
        ("02-4", "d", INDEXED, "for 321000 bytes"),
        ("02-4", "c", INDEXED | {"entries of the offset index": 149}, "none of the choices"),
        ("02-3", "b", {"fields that differ": STAMPED}, "its own time"),
        ("02-5", "0", ROLLED, "clock that counts"),
        ("02-5", "3", ROLLED, "a clock of its own"),
        ("02-5", "1", ROLLED, "its first record"),
        ("02-6", "250", FETCHED, "without the others"),
        ("02-6", "399", FETCHED, "comes whole"),
        ("02-7", "a", {FILE: [750, 750]}, "750, 750. A file is cut at its end"),
    ],
)  # fmt: skip
def test_a_wrong_answer_hears_what_this_run_showed(
    question: str, answer: str, seen: dict[str, Any], says: str
) -> None:
    prediction = DEFINED[question]
    given = settling.answer_of(prediction, answer)
    assert says in settling.settle(prediction, given, {"": seen}).because
