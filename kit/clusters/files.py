"""Reads a replica from its files when its broker is down and its disk is on this machine.

The log of a killed leader may hold records that no other replica has, so it is the replica
that a lesson wants to see most.  The files are Kafka's; this module only reads them.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from engine.records import batch
from engine.storage import checkpoints, file_names, leader_epochs

_VALUE_CHARACTERS = 64


def read_log(data_dir: str, key: tuple[str, int], tail: int) -> dict[str, Any] | None:
    """Offsets and last batches of one replica; None when its files are missing."""
    directory = Path(data_dir) / f"{key[0]}-{key[1]}"
    segments = _segments(directory)
    if not segments:
        return None
    end, data = segments[-1], b""
    try:
        for base in segments[-2:]:
            data += Path(file_names.of_offset(str(directory), base, file_names.LOG)).read_bytes()
        for header, _ in batch.iterate(data):
            end = header.next_offset
    except (OSError, ValueError):
        return None  # the broker was just starting, or deleting the topic
    start = max(_offset(data_dir, checkpoints.LOG_STARTS, key, 0), segments[0])
    epochs = read_epochs(data_dir, key)
    return {
        "log_start_offset": start,
        "log_end_offset": end,
        "high_watermark": _offset(data_dir, checkpoints.HIGH_WATERMARKS, key, start),
        "leader_epoch": epochs[-1][0] if epochs else -1,
        "batches": batches(data, max(start, end - tail)),
    }


def read_epochs(data_dir: str, key: tuple[str, int]) -> list[list[int]]:
    """The replica's leader-epoch checkpoint: [epoch, start offset] each."""
    path = Path(data_dir) / f"{key[0]}-{key[1]}" / leader_epochs.FILE_NAME
    return [[int(epoch), int(start)] for epoch, start in _rows(path)]


def batches(data: bytes | memoryview, first_offset: int) -> list[dict[str, Any]]:
    """Batches from `first_offset` on, with their records' values as text."""
    shown = []
    for header, position in batch.iterate(data):
        if header.last_offset >= first_offset:
            records = [] if header.is_control else batch.decode(data, position)
            shown.append(
                {
                    "base_offset": header.base_offset,
                    "last_offset": header.last_offset,
                    "epoch": header.partition_leader_epoch,
                    "values": [as_text(record.value) for record in records],
                }
            )
    return shown


def as_text(value: bytes | memoryview | None) -> str:
    """A record's value for a narrow cell; ∅ for a tombstone."""
    if value is None:
        return "∅"
    return bytes(value[:_VALUE_CHARACTERS]).decode("utf-8", "replace")


def _offset(data_dir: str, checkpoint: str, key: tuple[str, int], absent: int) -> int:
    for topic, index, offset in _rows(Path(data_dir) / checkpoint):
        if (topic, int(index)) == key:
            return int(offset)
    return absent


def _rows(path: Path) -> list[list[str]]:
    """The lines of a checkpoint file behind its version and count."""
    try:
        return [line.split() for line in path.read_text().splitlines()[2:]]
    except OSError:
        return []


def _segments(directory: Path) -> list[int]:
    try:
        return file_names.offsets(os.listdir(directory), file_names.LOG)
    except OSError:
        return []
