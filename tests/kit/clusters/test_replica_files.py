"""A dead broker's log, read from its files."""

from pathlib import Path

import pytest

from engine.records import batch
from engine.records.record import Record
from kit.clusters import files

KEY = ("orders", 0)


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    """Offsets 5 and 6 in epoch 0, offset 7 in epoch 3; a checkpointed watermark of 6."""
    log = tmp_path / "orders-0"
    log.mkdir()
    first = batch.encode(
        [Record(5, 0, None, b"a", []), Record(6, 0, None, b"b", [])], base_offset=5, leader_epoch=0
    )
    second = batch.encode([Record(7, 0, None, None, [])], base_offset=7, leader_epoch=3)
    (log / "00000000000000000005.log").write_bytes(first + second)
    (log / "leader-epoch-checkpoint").write_text("0\n2\n0 5\n3 7\n")
    (tmp_path / "replication-offset-checkpoint").write_text("0\n2\nother 0 99\norders 0 6\n")
    return tmp_path


def test_offsets_epochs_and_values_come_from_the_files(data_dir: Path) -> None:
    log = files.read_log(str(data_dir), KEY, tail=2)
    assert log is not None
    assert (log["log_start_offset"], log["log_end_offset"], log["high_watermark"]) == (5, 8, 6)
    assert log["leader_epoch"] == 3
    assert files.read_epochs(str(data_dir), KEY) == [[0, 5], [3, 7]]
    assert [(b["base_offset"], b["epoch"], b["values"]) for b in log["batches"]] == [
        (5, 0, ["a", "b"]),
        (7, 3, ["∅"]),
    ]
    shorter = files.read_log(str(data_dir), KEY, tail=1)
    assert shorter is not None
    assert [b["base_offset"] for b in shorter["batches"]] == [7]


def test_a_torn_last_batch_is_not_counted(data_dir: Path) -> None:
    segment = data_dir / "orders-0" / "00000000000000000005.log"
    segment.write_bytes(segment.read_bytes()[:-3])
    log = files.read_log(str(data_dir), KEY, tail=10)
    assert log is not None
    assert log["log_end_offset"] == 7


def test_records_deleted_from_the_start_are_not_shown(data_dir: Path) -> None:
    (data_dir / "log-start-offset-checkpoint").write_text("0\n1\norders 0 7\n")
    log = files.read_log(str(data_dir), KEY, tail=10)
    assert log is not None
    assert log["log_start_offset"] == 7
    assert [b["base_offset"] for b in log["batches"]] == [7]


def test_an_empty_segment_ends_where_it_begins(data_dir: Path) -> None:
    (data_dir / "orders-0" / "00000000000000000005.log").write_bytes(b"")
    log = files.read_log(str(data_dir), KEY, tail=10)
    assert log is not None
    assert log["log_end_offset"] == 5


def test_files_that_are_not_there_are_no_log(tmp_path: Path) -> None:
    assert files.read_log(str(tmp_path / "gone"), KEY, tail=1) is None
    assert files.read_epochs(str(tmp_path / "gone"), KEY) == []
    assert list(tmp_path.iterdir()) == []
