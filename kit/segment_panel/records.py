"""The records of a batch, byte by byte: each number, key, value and header with its place.

    length | attributes | timestamp delta | offset delta | key length | key | value length | value
    | number of headers | per header: name length | name | value length | value

Numbers are varints, read by the engine's own `decode_varint`.  A batch may hold thousands of
records; those outside the window are passed over by their lengths.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from engine.records import control
from engine.records.batch import BatchHeader, CorruptBatch, Record
from engine.records.varint import decode_varint
from kit.segment_panel.wording import moment, shown

HEADER = -1
"""The `record` of a field that belongs to the batch's header."""
BYTES_SHOWN = 64
"""Of one field; a longer one is cut in the picture."""


@dataclass(frozen=True, slots=True)
class Field:
    """Bytes `start` to `end` (exclusive), what they are and what they say.

    `tag` is a short name for a narrow place, `kind` what the colours mean; `data` the first
    BYTES_SHOWN bytes.  `record` is the record's place in its batch, HEADER for the batch's header.
    """

    name: str
    tag: str
    kind: str
    start: int
    end: int
    value: str
    says: str
    data: bytes
    record: int = HEADER


@dataclass(frozen=True, slots=True)
class Place:
    """A record's place in the bytes."""

    number: int
    start: int
    end: int


def places(data: bytes, start: int, count: int) -> Iterator[Place]:
    """Where each of `count` records is; ends early where a length cannot be right."""
    at = start
    for number in range(count):
        try:
            length, body = decode_varint(data, at)
        except (IndexError, ValueError):
            return
        if length < 0 or body + length > len(data):
            return
        yield Place(number, at, body + length)
        at = body + length


def fields(data: bytes, place: Place, header: BatchHeader) -> list[Field]:
    """One record's fields; what cannot be read is one field that says so."""
    walk = _Walk(data, place, header)
    try:
        walk.go()
    except (IndexError, ValueError):
        walk.add("unread", "?", "damage", place.end, "?", "These bytes are no part of a record.")
    return walk.found


class _Walk:
    """Goes through one record; `found` are its fields so far."""

    def __init__(self, data: bytes, place: Place, header: BatchHeader) -> None:
        self.data, self.place, self.header = data, place, header
        self.at = place.start
        self.found: list[Field] = []

    def go(self) -> None:
        header = self.header
        length = self._number("length", "len", "length", "")
        self._says(f"{length} bytes of this record follow.")
        self.add("attributes", "attr", "check", self.at + 1, "0", "No bit of it is used so far.")
        delta = self._number("timestamp delta", "time", "time", "")
        if header.timestamp_type:
            self._says(
                f"Not used: LogAppendTime gives every record {moment(header.max_timestamp)}."
            )
        else:
            self._says(
                f"{delta} ms behind the base timestamp: {moment(header.base_timestamp + delta)}."
            )
        delta = self._number("offset delta", "off", "offset", "")
        self.offset = header.base_offset + delta
        self._says(f"The record's offset is {header.base_offset} + {delta} = {self.offset}.")
        key = self._bytes("key", "key", "a null key")
        self._bytes("value", "value", "null, a tombstone", key)
        count = self._number("number of headers", "hdrs", "length", "")
        self._says("The record has no headers." if not count else f"{count} headers follow.")
        for _ in range(count):
            name = self._bytes("header name", "header", "no name")
            self._bytes(f"header {shown(name)}", "header", "null")
        if self.at != self.place.end:
            raise ValueError("a record does not fill its length")

    def _bytes(self, name: str, kind: str, null: str, key: bytes | None = None) -> bytes | None:
        length = self._number(f"{name} length", "len", "length", "")
        if length < 0:
            self._says(f"-1: {null}.")
            return None
        self._says(f"{length} bytes of {name} follow.")
        data = self.data[self.at : self.at + length]
        if not length:
            return data
        says = f"{shown(data)}: {length} bytes."
        if self.header.is_control and kind in ("key", "value"):
            says = self._control(data, key)
        self.add(name, name, kind, self.at + length, shown(data), says)
        return data

    def _control(self, data: bytes, key: bytes | None) -> str:
        """What a control record's key or value says."""
        record = Record(self.offset, 0, data if key is None else key, data)
        try:
            kind = control.control_type(record).name
            if key is None:
                return f"A control record: version {data[1]}, type {data[3]}, which is {kind}."
            return f"{kind}: {control.read(record)}"
        except CorruptBatch as error:
            return f"{error.message}."

    def _number(self, name: str, tag: str, kind: str, says: str) -> int:
        value, end = decode_varint(self.data, self.at)
        self.add(name, tag, kind, end, str(value), says)
        return value

    def _says(self, words: str) -> None:
        """Gives the last field its sentence."""
        last = self.found[-1]
        coded = "" if last.end - last.start == 1 else f" (varint, {last.end - last.start} bytes)"
        self.found[-1] = Field(
            last.name, last.tag, last.kind, last.start, last.end, last.value, words + coded,
            last.data, last.record,
        )  # fmt: skip

    def add(self, name: str, tag: str, kind: str, end: int, value: str, says: str) -> None:
        if end > self.place.end:
            raise ValueError("a field runs over its record's end")
        if end > self.at:
            data = bytes(self.data[self.at : min(end, self.at + BYTES_SHOWN)])
            self.found.append(
                Field(name, tag, kind, self.at, end, value, says, data, self.place.number)
            )
        self.at = end
