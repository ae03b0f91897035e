"""A cleaned segment takes the place of old ones, so that a crash at any moment loses nothing.

    1  00.log 10.log 20.log   00.log.cleaned     being written: worthless until complete
    2  00.log 10.log 20.log   00.log.swap        complete and durable: from now on it counts
    3         10.log 20.log   00.log.swap        the old ones go, the oldest first
    4                         00.log.swap
    5                         00.log

A start after a crash looks at the endings alone.  `.cleaned` is deleted: the old segments are all
there (1).  `.swap` is the new truth: old segments within its offsets are deleted and it gets its
name (2 to 4).  Each step renames several files, the batches first; a `.swap` beside a `.cleaned`
of the same segment is a step 2 that was cut short, and both go.

Replaced segments are renamed to `.deleted` and stay on the disk for file.delete.delay.ms: a slow
client may be in the middle of one.  Indexes that are missing after a crash are built again when
the segment is loaded.
"""

from __future__ import annotations

from engine.storage import file_names, scan
from engine.storage.disk import Disk
from engine.storage.file_names import CLEANED, DELETED, SWAP
from engine.storage.segment import Segment
from engine.storage.segments import Segments


def replace(segments: Segments, new: Segment, old: list[Segment], now_ms: int) -> None:
    """Steps 2 to 5; `new` is complete and durable, and begins where the first of `old` does."""
    assert new.base_offset == old[0].base_offset, "readers look for the first offset of the range"
    new.change_suffix(SWAP)
    segments.replace(old, new)
    for segment in old:
        segments.retire(segment, now_ms)
    new.change_suffix("")


def finish(disk: Disk, directory: str) -> None:
    """Puts the files in order after a crash."""
    names = disk.list(directory)
    unfinished = [_offset(name) for name in names if name.endswith(CLEANED)]
    swaps = [name for name in names if name.endswith(SWAP)]
    cut_short = [name for name in swaps if unfinished and _offset(name) >= min(unfinished)]
    for name in names:
        if name.endswith((CLEANED, DELETED)) or name in cut_short:
            disk.delete(f"{directory}/{name}")
    complete = [name for name in swaps if name not in cut_short]
    for name in complete:
        if name.endswith(file_names.LOG + SWAP):
            _delete_replaced(disk, directory, name)
    for name in complete:
        disk.rename(f"{directory}/{name}", f"{directory}/{name.removesuffix(SWAP)}")


def _delete_replaced(disk: Disk, directory: str, swap: str) -> None:
    """Deletes the segments within the offsets of a complete new one."""
    path = f"{directory}/{swap}"
    base = end = _offset(swap)
    for header, _ in scan.headers(disk, path, 0, disk.size(path)):
        end = header.next_offset
    for kind in file_names.OF_A_SEGMENT:
        for offset in file_names.offsets(disk.list(directory), kind):
            if offset == base or base < offset < end:
                disk.delete(file_names.of_offset(directory, offset, kind))


def _offset(name: str) -> int:
    return int(name.partition(".")[0])
