"""A slice of a log is read later than it is found: what may have become of the file by then."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from engine.records.batch import Record, encode
from engine.storage.disk import Disk
from engine.storage.log import Log
from engine.storage.log_config import LogConfig
from engine.wire.slices import SliceGone

NOW_MS = 1_700_000_000_000
NOW = NOW_MS * 1000
ALL = 1 << 30
BATCH = encode([Record(0, NOW_MS, None, b"value")])


def log_of(disk: Disk, batches: int) -> Log:
    log = Log(disk, "orders-0", LogConfig(), NOW)
    for _ in range(batches):
        log.append_as_leader(BATCH, 0, NOW)
    return log


def test_a_slice_holds_what_was_there_when_it_was_found(disk: Disk) -> None:
    log = log_of(disk, 10)
    found = log.slice(3, ALL)
    assert found is not None
    expected = log.read(3, ALL)
    log.append_as_leader(BATCH, 0, NOW)
    assert found.read() == expected
    assert found.read(5, 20) == expected[5:25]
    assert found.read(len(found) - 5, 20) == expected[-5:]


def test_there_is_no_slice_where_there_is_nothing_to_read(disk: Disk) -> None:
    log = log_of(disk, 3)
    assert log.slice(3, ALL) is None
    assert not log.slice(1, 0, at_least_one=False)


def cut_off(log: Log) -> None:
    log.truncate_to(9)


def start_all_over(log: Log) -> None:
    log.truncate_fully_and_start_at(0)
    for _ in range(20):
        log.append_as_leader(BATCH, 1, NOW)


def delete_the_segment(log: Log) -> None:
    log.roll()
    log.advance_log_start(log.log_end_offset)


def replace_the_topic(log: Log) -> None:
    log.delete()
    log_of(log.disk, 20)


@pytest.mark.parametrize("change", [cut_off, start_all_over, delete_the_segment, replace_the_topic])
def test_what_is_no_longer_there_is_not_read(disk: Disk, change: Callable[[Log], None]) -> None:
    log = log_of(disk, 10)
    found = log.slice(3, ALL)
    assert found is not None
    change(log)
    with pytest.raises(SliceGone, match=r"orders-0/.*was cut off"):
        found.read(0, 10)
