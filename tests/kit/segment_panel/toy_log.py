"""A log written by the engine into a folder, with whatever a test of the Segment panel wants."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from engine.records.batch import Record, encode
from engine.storage.log import Log
from engine.storage.log_config import LogConfig
from engine.storage.real_disk import RealDisk
from kit.segment_panel.files import Folder
from kit.segment_panel.folder import Replica, look

T = 1_700_000_000_000
NAME = "orders-0"
SEGMENT_BYTES, INDEX_INTERVAL = 2200, 200


def values(first: int, count: int = 2, step_ms: int = 5) -> list[Record]:
    """Records whose timestamps rise with their offsets."""
    return [
        Record(0, T + at * step_ms, b"k%d" % (at % 7), b"value %d" % at)
        for at in range(first, first + count)
    ]


def written(
    folder: Path, batches: int = 60, per_batch: int = 2, compressions: Sequence[int] = (0,)
) -> Log:
    """A log of several segments, three leader epochs and three indexes each."""
    config = LogConfig(segment_bytes=SEGMENT_BYTES, index_interval_bytes=INDEX_INTERVAL)
    log = Log(RealDisk(folder), NAME, config, T * 1000)
    for number in range(batches):
        data = encode(
            values(number * per_batch, per_batch),
            compression=compressions[number % len(compressions)],
        )
        log.append_as_leader(data, 3 * number // batches, T * 1000)
    return log


def seen(folder: Path) -> Replica:
    return look(Folder(folder), NAME)
