"""Slices of files inside an encoded message: the same bytes, read while they are being sent."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.wire import codec, framing
from engine.wire import messages as m
from engine.wire.slices import Frame

FETCH = m.FetchRequest.API_KEY


@dataclass
class Kept:
    """Bytes that count how often they are asked for."""

    data: bytes
    lengths: list[int] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.data)

    def read(self, start: int, length: int) -> bytes:
        part = self.data[start : start + length]
        self.lengths.append(len(part))
        return part


def answer(records: list[object]) -> m.FetchResponse:
    data = m.FetchResponse.PartitionData
    parts = [data(partition_index=i, records=each) for i, each in enumerate(records)]
    topic = m.FetchResponse.FetchableTopicResponse(topic="orders", partitions=parts)
    return m.FetchResponse(responses=[topic])


@given(st.lists(st.binary(max_size=300), max_size=5), st.integers(1, 200))
def test_a_frame_with_slices_has_the_bytes_of_one_without(records: list[bytes], size: int) -> None:
    plain = framing.write_response(FETCH, 12, 7, answer([*records]))
    sliced = framing.write_response(FETCH, 12, 7, answer([Kept(each) for each in records]))
    assert sliced.whole_size == len(plain)
    assert b"".join(sliced.chunks(size)) == plain


@pytest.mark.parametrize("version", [4, 12])
def test_a_message_that_is_encoded_at_once_has_them_too(version: int) -> None:
    records = b"x" * 1000
    assert codec.encode(answer([Kept(records)]), version) == codec.encode(
        answer([records]), version
    )


def test_a_slice_is_read_when_its_turn_comes_and_a_chunk_at_a_time() -> None:
    first, second = Kept(b"a" * 250), Kept(b"b" * 250)
    frame = framing.write_response(FETCH, 12, 7, answer([first, second]))
    assert first.lengths == []
    chunks = frame.chunks(100)
    assert 100 <= len(next(chunks)) < 200
    assert (first.lengths, second.lengths) == ([100], [])
    assert all(len(each) < 200 for each in chunks)
    assert sum(first.lengths) == sum(second.lengths) == 250


def test_a_frame_without_slices_is_one_chunk_and_no_copy() -> None:
    frame = Frame(b"whole")
    assert [*frame.chunks(1)] == [b"whole"]
    assert next(frame.chunks(1)) is frame
