"""What every disk does, and what each does besides."""

from __future__ import annotations

import os
import pickle
import random
from pathlib import Path

import pytest

from engine.storage.disk import Disk
from engine.storage.memory_disk import MemoryDisk
from engine.storage.real_disk import RealDisk


def test_append_then_read_any_slice(disk: Disk) -> None:
    disk.append("orders-0/0.log", b"abc")
    disk.append("orders-0/0.log", memoryview(b"defg"))
    assert disk.size("orders-0/0.log") == 7
    assert disk.read("orders-0/0.log", 2, 3) == b"cde"
    assert disk.read("orders-0/0.log", 5, 100) == b"fg"
    assert disk.read("orders-0/0.log", 7, 1) == b""


def test_list_names_files_and_directories_once_in_order(disk: Disk) -> None:
    for path in ("b/2", "a/x", "b/1", "c"):
        disk.append(path, b"x")
    assert disk.list("") == ["a", "b", "c"]
    assert disk.list("b") == ["1", "2"]
    assert disk.list("nowhere") == []


def test_a_missing_file_is_an_error(disk: Disk) -> None:
    for call in (
        disk.size,
        disk.flush,
        lambda p: disk.read(p, 0, 1),
        lambda p: disk.truncate(p, 0),
    ):
        with pytest.raises(FileNotFoundError):
            call("nowhere/0.log")
    assert not disk.exists("nowhere/0.log")


def test_truncate_cuts_and_never_grows(disk: Disk) -> None:
    disk.append("f", b"abcdef")
    disk.truncate("f", 4)
    disk.truncate("f", 9)
    disk.append("f", b"X")
    assert disk.read("f", 0, 99) == b"abcdX"


def test_write_replaces_bytes_in_place(disk: Disk) -> None:
    disk.append("f", b"abcdef")
    disk.write("f", 2, b"XY")
    assert disk.read("f", 0, 99) == b"abXYef"


def test_replace_swaps_the_whole_contents(disk: Disk) -> None:
    disk.append("d/f", b"a long old text")
    assert disk.read("d/f", 0, 1) == b"a"
    disk.replace("d/f", b"new")
    assert disk.read("d/f", 0, 99) == b"new"
    assert disk.list("d") == ["f"]


def test_rename_moves_a_file_or_a_directory(disk: Disk) -> None:
    disk.append("a/1", b"one")
    disk.append("a/2", b"two")
    disk.rename("a/1", "a/3")
    disk.rename("a", "b")
    assert disk.list("b") == ["2", "3"]
    assert disk.read("b/3", 0, 9) == b"one"
    assert not disk.exists("a")


def test_delete_takes_a_file_or_a_tree_and_is_quiet_otherwise(disk: Disk) -> None:
    disk.append("a/1", b"x")
    disk.append("a/2", b"x")
    disk.append("ab", b"x")
    disk.delete("a/1")
    assert disk.list("a") == ["2"]
    disk.delete("a")
    disk.delete("a")
    assert disk.list("") == ["ab"]
    disk.append("a/1", b"new")
    assert disk.read("a/1", 0, 9) == b"new"


def test_flush_takes_a_file_or_a_directory(disk: Disk) -> None:
    disk.append("a/1", b"x")
    disk.flush("a/1")
    disk.append("a/2", b"x")
    disk.flush("a")


def test_a_pickled_disk_goes_on_where_it_was(disk: Disk) -> None:
    disk.append("a/1", b"one")
    copy = pickle.loads(pickle.dumps(disk))
    copy.append("a/1", b"two")
    assert copy.read("a/1", 0, 99) == b"onetwo"


# -- memory: what a power loss takes


def test_power_loss_keeps_exactly_what_was_flushed() -> None:
    disk = MemoryDisk()
    disk.append("a/1", b"flushed")
    disk.flush("a/1")
    disk.append("a/1", b" lost")
    disk.append("a/2", b"never flushed")
    disk.replace("a/3", b"durable")
    assert disk.lose_power(random.Random(1)) == len(b" lost") + len(b"never flushed")
    assert disk.list("a") == ["1", "3"]
    assert disk.read("a/1", 0, 99) == b"flushed"
    assert disk.read("a/3", 0, 99) == b"durable"


def test_a_truncation_holds_through_a_power_loss() -> None:
    disk = MemoryDisk()
    disk.append("f", b"abcdef")
    disk.flush("f")
    disk.truncate("f", 2)
    disk.append("f", b"XY")
    disk.lose_power(random.Random(1))
    assert disk.read("f", 0, 99) == b"ab"


def test_a_torn_tail_is_a_prefix_of_what_was_written_perhaps_with_zeros() -> None:
    tails = set()
    for seed in range(200):
        disk = MemoryDisk()
        disk.append("f", b"flushed")
        disk.flush("f")
        disk.append("f", b"1234")
        disk.lose_power(random.Random(seed), torn=True)
        contents = disk.read("f", 0, 99)
        assert contents.startswith(b"flushed")
        tail = contents.removeprefix(b"flushed")
        assert len(tail) <= 4
        assert b"1234".startswith(tail.rstrip(b"\0"))
        tails.add(tail)
    assert {b"", b"12", b"1234", b"12\0"} <= tails


def test_memory_disks_are_equal_when_their_contents_are() -> None:
    one, other = MemoryDisk(), MemoryDisk()
    one.append("f", b"ab")
    other.append("f", b"a")
    assert one != other
    other.append("f", b"b")
    assert one == other == pickle.loads(pickle.dumps(one))


# -- real: descriptors and errors


def test_few_descriptors_serve_many_files(tmp_path: Path) -> None:
    disk = RealDisk(tmp_path, open_files_max=4)
    before = len(os.listdir("/dev/fd"))
    for number in range(50):
        disk.append(f"d/{number}", b"%d" % number)
    for number in range(50):
        assert disk.read(f"d/{number}", 0, 9) == b"%d" % number
    assert len(os.listdir("/dev/fd")) - before <= 4
    disk.close()
    assert len(os.listdir("/dev/fd")) <= before
    assert disk.read("d/7", 0, 9) == b"7"
    disk.close()


def test_deleting_closes_the_descriptor(tmp_path: Path) -> None:
    disk = RealDisk(tmp_path)
    disk.append("d/f", b"x")
    before = len(os.listdir("/dev/fd"))
    disk.delete("d")
    assert len(os.listdir("/dev/fd")) == before - 1


def test_an_append_that_fails_half_way_is_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = RealDisk(tmp_path)
    disk.append("f", b"good")
    write = os.write
    calls = []

    def full_after_three_bytes(descriptor: int, data: bytes) -> int:
        calls.append(len(data))
        if len(calls) > 1:
            raise OSError(28, "No space left on device")
        return write(descriptor, bytes(data[:3]))

    monkeypatch.setattr(os, "write", full_after_three_bytes)
    with pytest.raises(OSError, match="No space"):
        disk.append("f", b"does not fit")
    monkeypatch.undo()
    disk.append("f", b"!")
    assert disk.read("f", 0, 99) == b"good!"


def test_nothing_is_kept_of_what_is_durable(tmp_path: Path) -> None:
    """What is not flushed is known for each directory above it, and only so long."""
    disk = RealDisk(tmp_path)
    for path in ("a/b/one", "a/two", "three"):
        disk.append(path, b"x")
    assert sorted(disk._unflushed_in("a")) == ["a/b/one", "a/two"]
    disk.rename("a", "c")
    assert sorted(disk._unflushed_in("")) == ["c/b/one", "c/two", "three"]
    disk.flush("c/b")
    assert disk._unflushed_in("c") == ("c/two",)
    disk.delete("c")
    disk.flush("")
    assert (disk._unflushed, disk._unflushed_below) == ({}, {})
