"""An outline says of each record what `decode` says, and finds it again."""

from __future__ import annotations

import random

import pytest

from engine.records import batch
from engine.records.batch import CorruptBatch, Record
from engine.records.outline import outline


def some_records(ids: random.Random) -> list[Record]:
    return [
        Record(
            0,
            1_700_000_000_000 + ids.choice((0, 1, 100, 1 << 20, 1 << 40)) * number,
            None if ids.random() < 0.1 else ids.randbytes(ids.choice((0, 5, 63, 64, 9_000))),
            None if ids.random() < 0.2 else ids.randbytes(ids.choice((0, 1, 70, 9_000))),
            (("trace", ids.randbytes(70)), ("empty", None)) if ids.random() < 0.3 else (),
        )
        for number in range(ids.choice((1, 3, 130)))
    ]


@pytest.mark.parametrize("codec", [0, 1])
def test_outlines_agree_with_the_records(codec: int) -> None:
    ids = random.Random(codec)
    for _ in range(40):
        before = batch.encode(some_records(ids), base_offset=ids.choice((0, 1 << 40)))
        data = batch.encode(
            some_records(ids), base_offset=ids.choice((0, 1 << 40)), compression=codec
        )
        records = batch.decode(data)
        found = outline(before + data, len(before))
        said = [(offset, key, is_null) for offset, key, is_null, _, _ in found.records]
        assert said == [(each.offset, each.key, each.value is None) for each in records]
        chosen = [ids.random() < 0.4 for _ in records]
        kept = [each for each, stays in zip(found.records, chosen, strict=True) if stays]
        assert found.decode(kept) == [r for r, stays in zip(records, chosen, strict=True) if stays]


def test_a_batch_that_lost_records_keeps_its_offsets_in_the_outline() -> None:
    header, records = batch.read_header(three()), batch.decode(three())
    rebuilt = batch.rebuild(header, records[2:], delete_horizon_ms=77)
    ((offset, key, is_null, *_),) = outline(rebuilt).records
    assert (offset, key, is_null) == (42, b"c", True)
    assert outline(batch.rebuild(header, ())).records == []


@pytest.mark.parametrize(("at", "byte"), [(61, 0xFF), (61, 0x02), (65, 0x7E)])
def test_bytes_that_are_no_records_are_corrupt(at: int, byte: int) -> None:
    """The length of the first record, and that of its key."""
    data = bytearray(three())
    data[at] = byte
    with pytest.raises(CorruptBatch, match="the batch at offset 40"):
        outline(bytes(data))


def test_a_wrong_number_of_records_is_corrupt() -> None:
    for count in (-1, 2, 4):
        data = bytearray(three())
        data[57:61] = count.to_bytes(4, "big", signed=True)
        with pytest.raises(CorruptBatch, match="the batch at offset 40"):
            outline(bytes(data))


def three() -> bytes:
    values = {b"a": b"1", b"b": b"22", b"c": None}
    records = [Record(0, 1_000, key, value) for key, value in values.items()]
    return batch.encode(records, base_offset=40)
