"""log.cleaner.dedupe.buffer.size bounds the memory of a pass, however many keys there are."""

from __future__ import annotations

import tracemalloc
from hashlib import md5

import pytest

from engine.storage.cleaner.offset_map import OffsetMap

BUFFER = 24 * 10_000
TIMES = 8
"""An entry of a dict, with its hash and its offset, takes more than Kafka's 24 bytes."""


@pytest.mark.parametrize("key_size", [10, 1_000])
def test_the_buffer_bounds_the_map(key_size: int) -> None:
    tracemalloc.start()
    offsets = OffsetMap(BUFFER)
    taken = sum(
        offsets.put(str(number).encode().rjust(key_size), number) for number in range(20_000)
    )
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert taken == len(offsets) == 9_000
    assert size < TIMES * BUFFER


def test_no_key_is_taken_for_another_keys_hash() -> None:
    long = b"a key longer than its hash"
    names = [b"", b"a", b"fifteen bytes..", b"sixteen bytes...", long, md5(long).digest()]
    offsets = OffsetMap(BUFFER)
    assert all(offsets.put(name, number) for number, name in enumerate(names))
    assert [offsets.get(name) for name in names] == [*range(len(names))]
    assert offsets.get(md5(b"sixteen bytes...").digest()[:15]) == -1
