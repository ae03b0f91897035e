"""Record batches of 1,000 records of 100 bytes, beside kafka-python's pure Python.

Both build the same batch from the same records and read it back; they take turns in one
run.  The engine need not open a batch to check it and to assign its offsets.  kafka-python
has no counterpart to that step, so its time is shown beside decoding.
"""

from __future__ import annotations

import random
from typing import Any

from kafka.record.memory_records import MemoryRecords, MemoryRecordsBuilder

from engine.records import batch
from engine.records.batch import Record
from kit.bench.codec import fastest, row

_RECORDS = 1_000
_VALUE_BYTES = 100


def measure(rounds: int = 3) -> list[dict[str, Any]]:
    """A row for encoding and one for decoding; times are microseconds per batch."""
    rng = random.Random(1)
    records = [
        Record(i, 1_700_000_000_000 + i, b"%06d" % i, rng.randbytes(_VALUE_BYTES))
        for i in range(_RECORDS)
    ]
    encoded = batch.encode(records, leader_epoch=0)
    if _their_encode(records) != encoded or _their_decode(encoded) != records:
        raise RuntimeError("kafka-python's batch differs; what is timed would not be the same work")
    encoding = fastest(
        {
            # Both start from four plain values: making the record is part of the work.
            "ours": lambda: batch.encode([Record(*r) for r in records], leader_epoch=0),
            "theirs": lambda: _their_encode(records),
        },
        rounds,
    )
    decoding = fastest(
        {"ours": lambda: batch.decode(encoded), "theirs": lambda: _their_decode_only(encoded)},
        rounds,
    )
    return [
        row("encode 1,000 × 100 B, beside kafka-python", encoding["ours"], encoding["theirs"]),
        row("decode 1,000 × 100 B, beside kafka-python", decoding["ours"], decoding["theirs"]),
    ]


def _their_encode(records: list[Record]) -> bytes:
    builder = MemoryRecordsBuilder(magic=2, compression_type=0, batch_size=1 << 20)
    for _, timestamp, key, value, _ in records:
        builder.append(timestamp, key, value)
    builder.close()
    return bytes(builder.buffer())


def _their_decode_only(encoded: bytes) -> list[Any]:
    memory_records = MemoryRecords(encoded)
    records: list[Any] = []
    while memory_records.has_next():
        records.extend(memory_records.next_batch())
    return records


def _their_decode(encoded: bytes) -> list[Record]:
    return [Record(r.offset, r.timestamp, r.key, r.value) for r in _their_decode_only(encoded)]
