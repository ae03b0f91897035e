"""The offset index and the time index: look-ups, truncation, damage."""

from __future__ import annotations

import pytest

from engine.storage.disk import Disk
from engine.storage.offset_index import CorruptIndex, OffsetIndex
from engine.storage.time_index import TimeIndex


def offset_index(disk: Disk, entries: list[tuple[int, int]], base: int = 100) -> OffsetIndex:
    index = OffsetIndex(disk, "i", base)
    index.reset()
    for entry in entries:
        index.append(*entry)
    return index


def time_index(disk: Disk, entries: list[tuple[int, int]], base: int = 100) -> TimeIndex:
    index = TimeIndex(disk, "t", base)
    index.reset()
    for entry in entries:
        index.maybe_append(*entry)
    return index


ENTRIES = [(104, 40), (109, 90), (120, 300)]


@pytest.mark.parametrize(
    ("offset", "found"),
    [
        (100, (100, 0)),
        (103, (100, 0)),
        (104, (104, 40)),
        (108, (104, 40)),
        (119, (109, 90)),
        (120, (120, 300)),
        (9999, (120, 300)),
    ],
)
def test_offset_lookup_gives_the_last_entry_at_or_below(
    disk: Disk, offset: int, found: tuple[int, int]
) -> None:
    assert offset_index(disk, ENTRIES).lookup(offset) == found


def test_position_below(disk: Disk) -> None:
    index = offset_index(disk, ENTRIES)
    found = [index.position_below(p) for p in (0, 39, 40, 89, 299, 300, 999)]
    assert found == [0, 0, 40, 40, 90, 300, 300]


@pytest.mark.parametrize(("cut", "left"), [(100, 0), (104, 0), (105, 1), (109, 1), (121, 3)])
def test_truncation_drops_entries_at_or_above(disk: Disk, cut: int, left: int) -> None:
    index = offset_index(disk, ENTRIES)
    index.truncate_to(cut)
    again = OffsetIndex(disk, "i", 100)
    again.load()
    for each in (index, again):
        assert (each.entries, each.lookup(9999)) == (left, ([(100, 0), *ENTRIES])[left])


def test_the_file_is_kafkas_format(disk: Disk) -> None:
    offset_index(disk, [(104, 40), (109, 90)])
    time_index(disk, [(1000, 104)])
    assert disk.read("i", 0, 99).hex(" ", 4) == "00000004 00000028 00000009 0000005a"
    assert disk.read("t", 0, 99).hex(" ", 4) == "00000000 000003e8 00000004"


def test_offset_index_refuses_what_cannot_be(disk: Disk) -> None:
    offset_index(disk, ENTRIES)
    disk.append("i", b"\0" * 3)
    with pytest.raises(CorruptIndex):
        OffsetIndex(disk, "i", 100).load()
    disk.replace("i", bytes(4096))  # preallocated, never trimmed
    with pytest.raises(CorruptIndex):
        OffsetIndex(disk, "i", 100).load()
    disk.replace("i", bytes.fromhex("fffffff0 00000010"))
    with pytest.raises(CorruptIndex):
        OffsetIndex(disk, "i", 100).load()


def test_the_index_is_full_at_segment_index_bytes(disk: Disk) -> None:
    assert [offset_index(disk, ENTRIES).is_full(size) for size in (32, 31, 24)] == [
        False,
        True,
        True,
    ]
    # the time index keeps a slot free for the entry that closes the segment
    index = time_index(disk, [(1, 101), (2, 102)])
    assert [index.is_full(size) for size in (48, 36)] == [False, True]


def test_timestamps_in_the_time_index_only_rise(disk: Disk) -> None:
    index = time_index(disk, [(1000, 104), (900, 109), (1000, 110), (1500, 120)])
    assert index.entries == 2
    assert [index.lookup(t) for t in (999, 1000, 1499, 1500, 9999)] == [
        (-1, 100),
        (1000, 104),
        (1000, 104),
        (1500, 120),
        (1500, 120),
    ]


def test_time_index_truncates_by_offset(disk: Disk) -> None:
    index = time_index(disk, [(1000, 104), (1500, 120)])
    index.truncate_to(120)
    assert (index.entries, index.last_timestamp, index.last_offset) == (1, 1000, 104)
    index.truncate_to(0)
    assert (index.entries, index.last_timestamp, index.last_offset) == (0, -1, 100)


@pytest.mark.parametrize(
    "damage", [bytes(5), bytes(24), bytes.fromhex("00000000 00000001 00000009")]
)
def test_time_index_refuses_what_cannot_be(disk: Disk, damage: bytes) -> None:
    time_index(disk, [(1000, 104)])
    disk.append("t", damage)
    with pytest.raises(CorruptIndex):
        TimeIndex(disk, "t", 100).load()
