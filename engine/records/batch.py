"""Record batches, format v2: what producers send, logs store and consumers receive.

    base offset            int64   ┐ outside the checksum: the leader writes these
    batch length           int32   │ in place and changes nothing else
    partition leader epoch int32   │
    magic                  int8  2 │
    CRC-32C                uint32  ┘ of everything below
    attributes             int16     bits 0-2 codec, 3 timestamp type, 4 transactional,
    last offset delta      int32            5 control, 6 delete horizon set
    base timestamp         int64
    max timestamp          int64
    producer id            int64
    producer epoch         int16
    base sequence          int32
    records count          int32
    records                          compressed as a whole if the codec is not 0

The records themselves are in `engine.records.record` (KIP-98 has the whole format).

A broker passes a batch on as the bytes that it got.  `validate` looks at the header and checks the
CRC, the leader reads the records once (`engine.records.contents`), `assign` puts in the offset and
the epoch, and the same bytes go to disk, to the followers and to the consumers.  Only compaction,
look-ups by time and tools that show records need `decode`.  Formats v0 and v1 are refused: Kafka 4
no longer accepts them either (KIP-724).
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from engine.records import compression
from engine.records.crc32c import crc32c
from engine.records.record import Record, decode_records, encode_records
from engine.wire.errors import CorruptBatch

__all__ = [
    "BatchHeader",
    "CorruptBatch",
    "Record",
    "assign",
    "decode",
    "decode_all",
    "decode_plain",
    "encode",
    "iterate",
    "not_records",
    "read_header",
    "rebuild",
    "unpack",
    "validate",
]

Buffer = bytes | bytearray | memoryview

HEADER_SIZE = 61
MAGIC = 2
NO_TIMESTAMP = -1
DECOMPRESSED_MAX = 128 * 1024 * 1024
"""A batch that grows beyond this is taken for a decompression bomb."""

_HEADER = struct.Struct(">qiibIhiqqqhii")
_INT64 = struct.Struct(">q")
_INT32 = struct.Struct(">i")
_LENGTH_AT, _EPOCH_AT, _MAGIC_AT, _CRC_AT, _ATTRIBUTES_AT, _MAX_TIMESTAMP_AT = 8, 12, 16, 17, 21, 35
_BEFORE_LENGTH_ENDS = 12
_LENGTH_MIN = HEADER_SIZE - _BEFORE_LENGTH_ENDS

_CODEC, _LOG_APPEND_TIME, _TRANSACTIONAL, _CONTROL, _DELETE_HORIZON = 7, 8, 16, 32, 64
_SEQUENCES = 1 << 31


class BatchHeader(NamedTuple):
    """The fixed part of a batch, field by field."""

    base_offset: int
    batch_length: int
    partition_leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    records_count: int

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        return self.base_offset + self.last_offset_delta + 1

    @property
    def size_in_bytes(self) -> int:
        """The whole batch, with the twelve bytes that its length field does not count."""
        return self.batch_length + _BEFORE_LENGTH_ENDS

    @property
    def compression(self) -> int:
        return self.attributes & _CODEC

    @property
    def timestamp_type(self) -> int:
        """0 CreateTime, 1 LogAppendTime: then every record has the max timestamp."""
        return self.attributes >> 3 & 1

    @property
    def is_transactional(self) -> bool:
        return bool(self.attributes & _TRANSACTIONAL)

    @property
    def is_control(self) -> bool:
        return bool(self.attributes & _CONTROL)

    @property
    def delete_horizon_ms(self) -> int | None:
        """When its tombstones may go (KIP-534); the base timestamp holds it once it is set."""
        return self.base_timestamp if self.attributes & _DELETE_HORIZON else None

    @property
    def last_sequence(self) -> int:
        """Sequences wrap to 0 after 2^31 - 1; -1 without idempotence."""
        if self.base_sequence < 0:
            return self.base_sequence
        return (self.base_sequence + self.last_offset_delta) % _SEQUENCES


# -- whole batches, unopened


def read_header(buffer: Buffer, position: int = 0) -> BatchHeader:
    """The 61 bytes at `position`, taken as they are."""
    try:
        return BatchHeader._make(_HEADER.unpack_from(buffer, position))
    except struct.error:
        raise CorruptBatch("a batch shorter than its header") from None


def iterate(buffer: Buffer) -> Iterator[tuple[BatchHeader, int]]:
    """Each batch's header and position; an incomplete last batch ends it quietly.

    A fetch may cut the last batch anywhere, so that is no error.  An impossible length is
    an error, and so is a magic other than 2.
    """
    position, end = 0, len(buffer)
    while end - position >= HEADER_SIZE:
        header = read_header(buffer, position)
        _check_shape(header)
        if header.size_in_bytes > end - position:
            return
        yield header, position
        position += header.size_in_bytes


def validate(buffer: Buffer, position: int = 0) -> BatchHeader:
    """The header of the batch at `position`, which is complete and has the right CRC."""
    header = read_header(buffer, position)
    _check_shape(header)
    end = position + header.size_in_bytes
    if end > len(buffer):
        raise CorruptBatch(f"{len(buffer) - position} of {header.size_in_bytes} bytes are there")
    if crc32c(memoryview(buffer)[position + _ATTRIBUTES_AT : end]) != header.crc:
        raise CorruptBatch(f"the checksum of the batch at offset {header.base_offset} is wrong")
    return header


def _check_shape(header: BatchHeader) -> None:
    if header.magic != MAGIC:
        raise CorruptBatch(f"batch format {header.magic}; only format {MAGIC} is supported")
    if header.batch_length < _LENGTH_MIN:
        raise CorruptBatch(f"a batch of {header.batch_length} bytes is shorter than its header")


def assign(
    buffer: Buffer,
    base_offset: int,
    leader_epoch: int,
    log_append_time: int | None = None,
    max_timestamp: int | None = None,
) -> bytes:
    """A copy with offsets from `base_offset` on, batch after batch, and the leader epoch.

    With `log_append_time` (milliseconds) the timestamps become that too.  A `max_timestamp`
    replaces what the headers say, and the records then have the times that their producer gave
    them.  The checksum covers both, so it is computed again.
    """
    view = memoryview(buffer)
    epoch = _INT32.pack(leader_epoch)
    parts: list[Buffer] = []
    position = 0
    while position < len(view):
        header = read_header(view, position)
        _check_shape(header)
        end = position + header.size_in_bytes
        if end > len(view):
            raise CorruptBatch("the last batch is cut off")
        parts += (
            _INT64.pack(base_offset),
            view[position + _LENGTH_AT : position + _EPOCH_AT],
            epoch,
            _from_magic(view[position:end], header, log_append_time, max_timestamp),
        )
        base_offset += header.last_offset_delta + 1
        position = end
    return b"".join(parts)


def _from_magic(
    batch: memoryview, header: BatchHeader, log_append_time: int | None, max_timestamp: int | None
) -> Buffer:
    """The batch from its magic on, with these times."""
    attributes = header.attributes
    if log_append_time is not None:
        attributes, max_timestamp = attributes | _LOG_APPEND_TIME, log_append_time
    elif max_timestamp is not None:
        attributes &= ~_LOG_APPEND_TIME
    else:
        max_timestamp = header.max_timestamp
    if (attributes, max_timestamp) == (header.attributes, header.max_timestamp):
        return batch[_MAGIC_AT:]
    out = bytearray(batch)
    struct.pack_into(">h", out, _ATTRIBUTES_AT, attributes)
    _INT64.pack_into(out, _MAX_TIMESTAMP_AT, max_timestamp)
    struct.pack_into(">I", out, _CRC_AT, crc32c(memoryview(out)[_ATTRIBUTES_AT:]))
    return out[_MAGIC_AT:]


# -- records into a batch


def encode(
    records: Sequence[Record],
    *,
    base_offset: int = 0,
    compression: int = 0,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    leader_epoch: int = -1,
    transactional: bool = False,
    control: bool = False,
) -> bytes:
    """One batch.  Offsets count up from `base_offset`; the records' own are not used."""
    attributes = compression | _TRANSACTIONAL * transactional | _CONTROL * control
    header = BatchHeader(
        base_offset,
        0,
        leader_epoch,
        MAGIC,
        0,
        attributes,
        len(records) - 1,
        NO_TIMESTAMP,
        NO_TIMESTAMP,
        producer_id,
        producer_epoch,
        base_sequence,
        0,
    )
    return _assemble(header, records, range(len(records)))


def rebuild(
    header: BatchHeader, kept: Sequence[Record], delete_horizon_ms: int | None = None
) -> bytes:
    """A batch with fewer records, as compaction leaves it.

    Offsets, the batch's own first and last offset, producer and sequence all stay, so that
    the log has gaps but never renumbers, and idempotence still knows the last sequence.  With no
    record left it is a header alone, of the old largest timestamp.  A new `delete_horizon_ms`
    takes the place of the base timestamp; one that the batch has stays there.
    """
    if not kept:
        attributes = header.attributes & ~(_CODEC | _DELETE_HORIZON)
        times = (NO_TIMESTAMP, header.max_timestamp)
        return _seal(header._replace(attributes=attributes), times, 0, b"")
    if delete_horizon_ms is None:
        delete_horizon_ms = header.delete_horizon_ms
    else:
        header = header._replace(attributes=header.attributes | _DELETE_HORIZON)
    deltas = [record.offset - header.base_offset for record in kept]
    return _assemble(header, kept, deltas, delete_horizon_ms)


def _assemble(
    header: BatchHeader,
    records: Sequence[Record],
    deltas: Iterable[int],
    base_timestamp: int | None = None,
) -> bytes:
    if base_timestamp is None:
        base_timestamp = records[0].timestamp if records else NO_TIMESTAMP
    max_timestamp = max((record.timestamp for record in records), default=NO_TIMESTAMP)
    if header.timestamp_type:
        max_timestamp = header.max_timestamp
    body = compression.compress(header.compression, encode_records(records, deltas, base_timestamp))
    return _seal(header, (base_timestamp, max_timestamp), len(records), body)


def _seal(header: BatchHeader, times: tuple[int, int], count: int, body: bytes) -> bytes:
    """Header, body and the checksum; `times` are the base and the max timestamp."""
    checked = struct.pack(
        ">hiqqqhii",
        header.attributes,
        header.last_offset_delta,
        *times,
        header.producer_id,
        header.producer_epoch,
        header.base_sequence,
        count,
    )
    before = struct.pack(
        ">qiibI",
        header.base_offset,
        _LENGTH_MIN + len(body),
        header.partition_leader_epoch,
        MAGIC,
        crc32c(checked + body),
    )
    return before + checked + body


# -- a batch into records


def decode(buffer: Buffer, position: int = 0) -> list[Record]:
    """The records of the batch at `position`; CorruptBatch if it does not hold them.

    `validate` checks the checksum.
    """
    header, plain = unpack(buffer, position)
    return decode_plain(header, plain, header.records_count)


def unpack(buffer: Buffer, position: int = 0) -> tuple[BatchHeader, bytes]:
    """The header of the batch at `position`, and its records as bytes, decompressed."""
    header = read_header(buffer, position)
    _check_shape(header)
    body = memoryview(buffer)[position + HEADER_SIZE : position + header.size_in_bytes]
    return header, compression.decompress(header.compression, body, DECOMPRESSED_MAX)


def decode_plain(header: BatchHeader, plain: bytes, count: int) -> list[Record]:
    """The `count` records that fill `plain`, of the batch that has this header."""
    append_time = header.max_timestamp if header.timestamp_type else None
    try:
        return decode_records(plain, count, header.base_offset, header.base_timestamp, append_time)
    except (IndexError, ValueError) as error:
        raise not_records(header, error) from None


def not_records(header: BatchHeader, error: Exception) -> CorruptBatch:
    """For a batch whose bytes are no records."""
    return CorruptBatch(f"the batch at offset {header.base_offset}: {error}")


def decode_all(buffer: Buffer) -> list[Record]:
    """The records of all complete batches."""
    return [record for _, position in iterate(buffer) for record in decode(buffer, position)]
