"""Shows a request on the wire, field by field: where each byte belongs.

The engine's codec encodes the request, and this module reads it by hand, in the order of the
protocol's definition.  If the two disagreed, the fields would not add up to the frame.

    frames = captured(client)        what a RawClient sends from now on
    api_key(frames[-1])              the first two bytes of the header
    asked_for(frames[-1])            the partition and the offset in a Fetch
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from socket import socket
from typing import Any, cast

from engine.records import batch
from engine.wire import framing, uuids
from kit.probes.raw_client import RawClient
from kit.probes.requests import one_batch, producing
from kit.tables import Table

VERSION = 13
"""Produce with topic ids, as a client of 4.x sends it."""
LENGTH, HEADER, BODY = PARTS = ("length", "header", "body")
SHOWN_BYTES = 12
_WHEN_MS = 1_767_225_600_000
_TOPIC_ID = uuids.from_text("AAECAwQFBgcICQoLDA0ODw")
_ACKS = {-1: "all", 1: "1", 0: "0"}


@dataclass
class Reader:
    """Bytes and how far they have been read."""

    frame: bytes
    position: int = 0

    def take(self, size: int) -> bytes:
        self.position += size
        return self.frame[self.position - size : self.position]

    def number(self, size: int) -> tuple[int, bytes]:
        raw = self.take(size)
        return int.from_bytes(raw, "big", signed=True), raw

    def length(self) -> tuple[int, bytes]:
        """A compact length: one more than it says, seven bits to a byte."""
        value, shift, start = 0, 0, self.position
        while True:
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                return value - 1, self.frame[start : self.position]


def produce_frame(value: bytes = b"forty euros to Alice", acks: int = -1) -> bytes:
    """A Produce request with one record for partition 0."""
    records = one_batch(value, at_ms=_WHEN_MS, key=b"Bob")
    body = producing(_TOPIC_ID, acks=acks, records=records, timeout_ms=30_000)
    return bytes(framing.write_request(VERSION, 7, "till-4", body))


def anatomy(frame: bytes | None = None) -> Table:
    """Every field of a Produce request."""
    frame = frame or produce_frame()
    fields = list(_fields(Reader(frame)))
    rows = [(part, str(at), name, says, _hex(raw)) for part, at, name, says, raw in fields]
    sizes = {name: sum(len(raw) for part, *_, raw in fields if part == name) for name in PARTS}
    carried = next(len(raw) for _, _, name, _, raw in fields if name == "batch")
    spoken = ", ".join(f"{size} of {part}" for part, size in sizes.items())
    closing = f"{len(frame)} bytes: {spoken}; {carried} of them are the batch."
    columns = ("part", "at", "field", "value", "bytes")
    return Table("A Produce request, version 13", columns, rows, closing)


def _fields(r: Reader) -> Iterator[tuple[str, int, str, str, bytes]]:
    part = LENGTH

    def field(name: str, says: Any, raw: bytes) -> tuple[str, int, str, str, bytes]:
        return part, r.position - len(raw), name, str(says), raw

    yield field("length", *_shown(r.number(4), "{} bytes follow"))
    part = HEADER
    yield field("API key", *_shown(r.number(2), "{} = Produce"))
    yield field("API version", *r.number(2))
    yield field("correlation id", *_shown(r.number(4), "{}, comes back in the answer"))
    size, raw = r.number(2)
    name = r.take(size)
    yield field("client id", name.decode(), raw + name)
    yield field("tagged fields", "none", r.take(1))
    part = BODY
    yield field("transactional id", "null", r.take(1))
    acks, raw = r.number(2)
    yield field("acks", f"{acks} = {_ACKS[acks]}", raw)
    yield field("timeout", *_shown(r.number(4), "{} ms"))
    yield field("topics", *_shown(r.length(), "{}"))
    yield field("topic id", uuids.to_text(r.frame[r.position : r.position + 16]), r.take(16))
    yield field("partitions", *_shown(r.length(), "{}"))
    yield field("partition", *r.number(4))
    size, raw = r.length()
    yield field("batch, length", f"{size} bytes", raw)
    header = batch.read_header(r.frame, r.position)
    what = f"{header.records_count} record, magic {header.magic}, CRC {header.crc:08x}"
    yield field("batch", what, r.take(size))
    yield field("tagged fields", "none, three times", r.take(3))
    assert r.position == len(r.frame)


def _shown(found: tuple[int, bytes], words: str) -> tuple[str, bytes]:
    return words.format(found[0]), found[1]


def _hex(raw: bytes) -> str:
    text = raw[:SHOWN_BYTES].hex(" ")
    return text + (" …" if len(raw) > SHOWN_BYTES else "")


FIELDS = {
    "base offset": 8, "batch length": 4, "leader epoch": 4, "magic": 1, "CRC": 4,
    "attributes": 2, "last offset delta": 4, "timestamps": 16, "producer": 14, "record count": 4,
}  # fmt: skip
"""The header of a batch, in its order: fields and their bytes.  The records follow."""


def changed_fields(sent: bytes, stored: bytes) -> list[str]:
    """The fields of a batch in which the stored bytes differ from those sent."""
    found, start = [], 0
    for name, size in (*FIELDS.items(), ("records", max(len(sent), len(stored)))):
        if sent[start : start + size] != stored[start : start + size]:
            found.append(name)
        start += size
    return found


# -- frames of a run


class Tap:
    """A socket that also keeps what is sent through it."""

    def __init__(self, tapped: socket) -> None:
        self.tapped = tapped
        self.frames: list[bytes] = []

    def sendall(self, frame: bytes) -> None:
        self.frames.append(bytes(frame))
        self.tapped.sendall(frame)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.tapped, name)


def captured(client: RawClient) -> list[bytes]:
    """The frames that the client sends from now on, each with its length; the list grows."""
    tap = Tap(client.socket)
    client.socket = cast(socket, tap)
    return tap.frames


def api_key(frame: bytes) -> int:
    """The number of the API, such as 0 for Produce."""
    return int.from_bytes(frame[4:6], "big")


def asked_for(frame: bytes) -> list[int]:
    """The partition and the offset in a Fetch request."""
    request = frame[4:]
    body: Any = framing.read_request_body(framing.read_request_header(request), request)
    part = body.topics[0].partitions[0]
    return [part.partition, part.fetch_offset]
