"""One batch opened: every byte of it belongs to a field with a name, a value and a meaning.

    header, 61 bytes | records, compressed as a whole if the codec is not 0

The header is never compressed.  The records of a compressed batch have no places in the file, only
in what comes out of the decompression: they are shown as a second run of bytes.  The checksum is
computed again, and a batch that is damaged is opened as far as it goes.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.records import compression
from engine.records.batch import (
    DECOMPRESSED_MAX,
    HEADER_SIZE,
    BatchHeader,
    CorruptBatch,
    read_header,
    validate,
)
from engine.wire.errors import KafkaError
from kit.film.words import plural
from kit.segment_panel import records
from kit.segment_panel.records import BYTES_SHOWN, Field
from kit.segment_panel.wording import moment, size

RECORDS_SHOWN = 4
COMPRESSED_SHOWN = 48
LAYOUT = (
    # field of BatchHeader, words, short, kind, bytes
    ("base_offset", "base offset", "base offset", "offset", 8),
    ("batch_length", "batch length", "length", "length", 4),
    ("partition_leader_epoch", "leader epoch", "epoch", "epoch", 4),
    ("magic", "magic", "mag", "check", 1),
    ("crc", "CRC-32C", "CRC-32C", "check", 4),
    ("attributes", "attributes", "attr", "check", 2),
    ("last_offset_delta", "last offset delta", "last off", "offset", 4),
    ("base_timestamp", "base timestamp", "base time", "time", 8),
    ("max_timestamp", "max timestamp", "max time", "time", 8),
    ("producer_id", "producer id", "producer id", "producer", 8),
    ("producer_epoch", "producer epoch", "p.ep", "producer", 2),
    ("base_sequence", "base sequence", "sequence", "producer", 4),
    ("records_count", "records count", "count", "length", 4),
)
"""The header, as engine/records/batch.py packs it."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A batch and its fields.

    `stored` are the fields of the bytes in the file.  `clear` are those of the records that came
    out of a compressed batch; empty for one that is not compressed.  Records from `first` on are
    opened, RECORDS_SHOWN at most; `before` and `after` are the records' bytes without compression
    and as they are stored.
    """

    position: int
    header: BatchHeader
    codec: str
    stored: tuple[Field, ...]
    clear: tuple[Field, ...]
    first: int
    before: int
    after: int
    trouble: str = ""

    @property
    def size(self) -> int:
        return HEADER_SIZE + self.after

    @property
    def fields(self) -> tuple[Field, ...]:
        return self.stored + self.clear

    @property
    def last(self) -> int:
        """The record behind the last one that is opened."""
        numbers = [each.record for each in self.fields]
        return max([self.first - 1, *numbers]) + 1


def open_batch(data: bytes, position: int, first: int = 0) -> Opened:
    """Opens the batch whose bytes are `data`, with the records from number `first` on.

    CorruptBatch if there is not even a header.
    """
    header = read_header(data)
    trouble = _damage(data)
    fields = list(_header(data, header, trouble))
    body = data[HEADER_SIZE:]
    number = header.compression
    codec = compression.NAMES[number] if number < len(compression.NAMES) else f"codec {number}"
    count = max(0, header.records_count)
    first = min(max(0, first), max(0, count - 1))
    if number == compression.NONE:
        opened = _records(data, HEADER_SIZE, header, first)
        return Opened(
            position, header, codec, (*fields, *opened), (), first, len(body), len(body), trouble
        )
    clear: tuple[Field, ...] = ()
    plain = b""
    try:
        plain = compression.decompress(number, body, DECOMPRESSED_MAX)
        clear = tuple(_records(plain, 0, header, first))
    except KafkaError as error:
        trouble = trouble or str(error.message)
    fields.append(
        Field("compressed records", codec, "packed", HEADER_SIZE, len(data), size(len(body)),
              _packed(codec, header, len(plain), len(body)), body[:COMPRESSED_SHOWN])
    )  # fmt: skip
    return Opened(
        position, header, codec, tuple(fields), clear, first, len(plain), len(body), trouble
    )


def _damage(data: bytes) -> str:
    try:
        validate(data)
        return ""
    except CorruptBatch as error:
        return str(error.message)


def _packed(codec: str, header: BatchHeader, before: int, after: int) -> str:
    share = f": {after / before:.0%} of {before:,} bytes" if before else ""
    return f"{plural(header.records_count, 'record')} as one {codec} stream{share}."


def _records(data: bytes, start: int, header: BatchHeader, first: int) -> list[Field]:
    """The fields of a window of records, and one each for what is before and behind."""
    found: list[Field] = []
    count = max(0, header.records_count)
    end, seen = start, 0
    for place in records.places(data, start, count):
        if place.number == first and first:
            found.append(_unopened(start, place.start, 0, first))
        seen, end = place.number + 1, place.end
        if place.number >= first:
            found += records.fields(data, place, header)
        if seen == first + RECORDS_SHOWN:
            break
    if end == len(data):
        return found
    if seen == first + RECORDS_SHOWN and seen < count:
        return [*found, _unopened(end, len(data), seen, count)]
    lost = f"{plural(count - seen, 'record')} cannot be read."
    extra = f"{plural(len(data) - end, 'byte')} behind the last record."
    says = lost if seen < count else extra
    shown = data[end : end + BYTES_SHOWN]
    return [*found, Field("unread", "?", "damage", end, len(data), "?", says, shown)]


def _unopened(start: int, end: int, first: int, behind: int) -> Field:
    name = f"records {first}–{behind - 1}" if behind - first > 1 else f"record {first}"
    says = "Not opened here: turn the records' pages."
    return Field(name, "", "unopened", start, end, size(end - start), says, b"")


def _header(data: bytes, header: BatchHeader, trouble: str) -> list[Field]:
    found, at = [], 0
    for attribute, name, tag, kind, length in LAYOUT:
        value = getattr(header, attribute)
        text = f"0x{value:08x}" if attribute == "crc" else str(value)
        says = _MEANINGS[attribute](header, trouble)
        found.append(Field(name, tag, kind, at, at + length, text, says, data[at : at + length]))
        at += length
    return found


def _attributes(header: BatchHeader, trouble: str) -> str:
    number = header.compression
    codec = compression.NAMES[number] if number < len(compression.NAMES) else "unknown"
    return (
        f"bits 0–2 codec {number} ({codec}); bit 3 "
        f"{'LogAppendTime' if header.timestamp_type else 'CreateTime'}; bit 4 "
        f"{'' if header.is_transactional else 'not '}transactional; bit 5 "
        f"{'a control batch' if header.is_control else 'records of users'}."
    )


def _producer(says: str, header: BatchHeader) -> str:
    return says if header.producer_id >= 0 else "-1: this producer was not idempotent."


_MEANINGS = {
    "base_offset": lambda h, _: (
        f"The first record's offset is {h.base_offset}. The leader writes it in place, outside "
        "the checksum."
    ),
    "batch_length": lambda h, _: (
        f"{h.batch_length} bytes follow this field; the whole batch has {h.size_in_bytes}."
    ),
    "partition_leader_epoch": lambda h, _: (
        f"A leader of epoch {h.partition_leader_epoch} appended it; written in place too."
    ),
    "magic": lambda h, _: f"Format {h.magic}; Kafka 4 takes no other than 2.",
    "crc": lambda h, trouble: (
        f"Over everything behind this field. {trouble or 'Computed again: it agrees'}."
    ),
    "attributes": _attributes,
    "last_offset_delta": lambda h, _: (
        f"The last record's offset is {h.base_offset} + {h.last_offset_delta} = {h.last_offset}."
    ),
    "base_timestamp": lambda h, _: (
        f"{moment(h.base_timestamp)}; each record holds its distance from here."
    ),
    "max_timestamp": lambda h, _: f"{moment(h.max_timestamp)}: the largest of its records.",
    "producer_id": lambda h, _: _producer(f"The broker gave the producer id {h.producer_id}.", h),
    "producer_epoch": lambda h, _: _producer(
        "A producer with an older epoch of the same id is fenced.", h
    ),
    "base_sequence": lambda h, _: _producer(
        f"The first record's sequence number is {h.base_sequence}: a repeat is recognized by it."
        if h.base_sequence >= 0
        else "-1: a control batch has no sequence.",
        h,
    ),
    "records_count": lambda h, _: (
        f"{plural(h.records_count, 'record')}; fewer than the offsets, if it was compacted."
    ),
}
