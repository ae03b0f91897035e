"""The leader epochs of a log."""

from __future__ import annotations

import pytest

from engine.storage.disk import Disk
from engine.storage.leader_epochs import LeaderEpochs


def epochs(disk: Disk, *entries: tuple[int, int]) -> LeaderEpochs:
    result = LeaderEpochs(disk, "orders-0")
    for entry in entries:
        result.assign(*entry)
    return result


HISTORY = ((0, 0), (3, 17), (4, 20), (5, 31))


def test_each_change_is_in_kafkas_file_at_once(disk: Disk) -> None:
    epochs(disk, (0, 0), (3, 17))
    path = "orders-0/leader-epoch-checkpoint"
    assert disk.read(path, 0, 99) == b"0\n2\n0 0\n3 17\n"
    assert LeaderEpochs(disk, "orders-0").entries == [(0, 0), (3, 17)]


def test_an_epoch_begins_once(disk: Disk) -> None:
    log = epochs(disk, (2, 10))
    assert log.assign(2, 15) is False
    assert log.entries == [(2, 10)]


def test_an_epoch_without_records_is_replaced(disk: Disk) -> None:
    assert epochs(disk, (1, 5), (2, 10), (3, 10)).entries == [(1, 5), (3, 10)]


@pytest.mark.parametrize(
    ("new", "left"),
    [
        ((6, 18), [(0, 0), (3, 17), (6, 18)]),
        ((3, 40), [(0, 0), (3, 40)]),
        ((5, 25), [(0, 0), (3, 17), (4, 20), (5, 25)]),
    ],
)
def test_entries_that_contradict_the_new_one_go(
    disk: Disk, new: tuple[int, int], left: list[tuple[int, int]]
) -> None:
    assert epochs(disk, *HISTORY, new).entries == left


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        (-1, (-1, -1)),
        (0, (0, 17)),
        (1, (0, 17)),
        (2, (0, 17)),
        (3, (3, 20)),
        (4, (4, 31)),
        (5, (5, 40)),
        (6, (-1, -1)),
    ],
)
def test_where_an_epoch_ends(disk: Disk, asked: int, answer: tuple[int, int]) -> None:
    assert epochs(disk, *HISTORY).end_offset_for(asked, 40) == answer


def test_an_epoch_older_than_all_ends_where_the_first_begins(disk: Disk) -> None:
    assert epochs(disk, (3, 17)).end_offset_for(1, 40) == (1, 17)
    assert LeaderEpochs(disk, "empty-0").end_offset_for(0, 40) == (-1, -1)


def test_which_epoch_wrote_an_offset(disk: Disk) -> None:
    log = epochs(disk, (3, 17), (4, 20))
    assert [log.epoch_for_offset(o) for o in (16, 17, 19, 20, 99)] == [None, 3, 3, 4, 4]


@pytest.mark.parametrize(
    ("end", "left"), [(0, 0), (17, 1), (18, 2), (20, 2), (21, 3), (31, 3), (32, 4)]
)
def test_truncation_at_the_end(disk: Disk, end: int, left: int) -> None:
    log = epochs(disk, *HISTORY)
    log.truncate_from_end(end)
    assert log.entries == list(HISTORY[:left])
    assert LeaderEpochs(disk, "orders-0").entries == log.entries


@pytest.mark.parametrize(
    ("start", "left"),
    [
        (0, list(HISTORY)),
        (16, [(0, 16), (3, 17), (4, 20), (5, 31)]),
        (17, [(3, 17), (4, 20), (5, 31)]),
        (25, [(4, 25), (5, 31)]),
        (99, [(5, 99)]),
    ],
)
def test_truncation_at_the_start(disk: Disk, start: int, left: list[tuple[int, int]]) -> None:
    log = epochs(disk, *HISTORY)
    log.truncate_from_start(start)
    assert log.entries == left
    assert LeaderEpochs(disk, "orders-0").entries == left


def test_a_start_below_the_first_epoch_changes_nothing(disk: Disk) -> None:
    log = epochs(disk, (3, 17))
    log.truncate_from_start(5)
    assert log.entries == [(3, 17)]
