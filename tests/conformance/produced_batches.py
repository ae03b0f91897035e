"""Batches that a producer should not send, by name; the checksum of each is right.

`table()` has them in families: records, timestamps, codecs, what is before and behind the batch.
`damaged(seed)` has good ones with bytes changed, left out and put in at random.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator

import cramjam

from engine.records import compression
from engine.records.compression import GZIP, LZ4, NAMES, NONE, SNAPPY, ZSTD
from engine.records.crc32c import crc32c
from engine.records.varint import encode_varint as number
from kit.probes.requests import now_ms

NOW = now_ms()
FIFTY_DAYS = 50 * 86_400_000
XERIAL = b"\x82SNAPPY\0"
LZ4_MAGIC = bytes.fromhex("04224d18")
ZSTD_MAGIC = bytes.fromhex("28b52ffd")
SKIPPABLE = bytes.fromhex("502a4d18") + (4).to_bytes(4, "little") + b"skip"


def sealed(
    body: bytes,
    *,
    count: int = 2,
    codec: int = NONE,
    base_ms: int = NOW,
    max_ms: int = NOW,
    marked: bool = False,
) -> bytes:
    """A batch with this body; `marked` says that the broker set the timestamps."""
    checked = struct.pack(
        ">hiqqqhii", codec | 8 * marked, count - 1, base_ms, max_ms, -1, -1, -1, count
    )
    before = struct.pack(">qiib", 0, 9 + len(checked) + len(body), -1, 2)
    return before + crc32c(checked + body).to_bytes(4, "big") + checked + body


def record(
    offset: int = 0,
    after_ms: int = 0,
    key: bytes = number(1) + b"k",
    value: bytes = number(1) + b"v",
    headers: bytes = number(0),
    length: int | None = None,
) -> bytes:
    """One record from the bytes of its fields; `length` may lie."""
    fields = b"\0" + number(after_ms) + number(offset) + key + value + headers
    return number(len(fields) if length is None else length) + fields


TWO = record(0) + record(1)
GOOD = sealed(TWO)


def table() -> dict[str, bytes]:
    return dict(
        (
            *_bodies(),
            *_times(),
            *_streams(),
            *_gzip(),
            *_snappy(),
            *_lz4(),
            *_zstd(),
            *_around(),
        )
    )


def _bodies() -> Iterator[tuple[str, bytes]]:
    null, long = number(-1), number(500)
    bodies = {
        "good": (TWO, 2),
        "offsets 0 0": (record(0) + record(0), 2),
        "offsets 1 0": (record(1) + record(0), 2),
        "offsets 0 5": (record(0) + record(5), 2),
        "offsets -1 0": (record(-1) + record(0), 2),
        "three of two": (TWO, 3),
        "one of two": (TWO, 1),
        "bytes behind": (TWO + b"xx", 2),
        "a zero behind": (TWO + b"\0", 2),
        "no records": (b"", 2),
        "cut in a record": (TWO[:-3], 2),
        "cut before the last byte": (TWO[:-1], 2),
        **{
            f"length {length}": (record(0, length=length) + record(1), 2)
            for length in (-1, 0, 6, 8, 1 << 20, 2**31 - 1)
        },
        "null header name": (record(0, headers=number(1) + null + null) + record(1), 2),
        "null header value": (
            record(0, headers=number(1) + number(1) + b"n" + null) + record(1),
            2,
        ),
        "header name not UTF-8": (
            record(0, headers=number(1) + number(1) + b"\xff" + null) + record(1),
            2,
        ),
        "minus one headers": (record(0, headers=number(-1)) + record(1), 2),
        "a thousand headers": (record(0, headers=number(1000)) + record(1), 2),
        "a header is missing": (record(0) + record(1, headers=number(1)), 2),
        "null key": (record(0, key=null) + record(1), 2),
        "null value": (record(0, value=null) + record(1), 2),
        "key of -2": (record(0, key=number(-2)) + record(1), 2),
        "value of -9": (record(0, value=number(-9)) + record(1), 2),
        "key too long": (record(0) + record(1, key=long), 2),
        "key of 2 GiB": (record(0) + record(1, key=number(2**31 - 1)), 2),
        "value too long": (record(0) + record(1, value=long), 2),
        "a length in five bytes": (record(0, key=b"\x82\x80\x80\x80\0k") + record(1), 2),
        "a length with bits too many": (record(0, key=b"\x82\x80\x80\x80\x70k") + record(1), 2),
        "a length in six bytes": (record(0, key=b"\x82\x80\x80\x80\x80\0k") + record(1), 2),
        "a time in eleven bytes": (number(18) + b"\0" + b"\x80" * 10 + bytes(2) + TWO, 3),
    }
    for name, (body, count) in bodies.items():
        yield name, sealed(body, count=count)
        packed = compression.compress(GZIP, body)
        yield f"{name}, gzip", sealed(packed, count=count, codec=GZIP)


def _times() -> Iterator[tuple[str, bytes]]:
    back = record(0) + record(1, after_ms=-5000)
    for codec in (NONE, GZIP):

        def batch(body: bytes, codec: int = codec, **fields: int) -> bytes:
            return sealed(compression.compress(codec, body), codec=codec, **fields)

        of = f", {NAMES[codec]}"
        yield "time goes back" + of, batch(back)
        yield "time goes back, the header names the last" + of, batch(back, max_ms=NOW - 5000)
        future = record(0) + record(1, after_ms=FIFTY_DAYS)
        yield "a record of the future" + of, batch(future)
        yield (
            "a record of the future, then back" + of,
            batch(record(0, after_ms=FIFTY_DAYS) + record(1)),
        )
        yield "only the header is in the future" + of, batch(TWO, max_ms=NOW + FIFTY_DAYS)
        yield "no timestamps" + of, batch(TWO, base_ms=-1, max_ms=-1)
        yield "the header names 0" + of, batch(TWO, max_ms=0)
        yield "the header names 0, none in the batch" + of, batch(TWO, base_ms=-1, max_ms=0)
        yield "before 1970" + of, batch(TWO, base_ms=-7, max_ms=-7)
        yield "marked" + of, batch(TWO, marked=True)
        yield "marked, no timestamps" + of, batch(TWO, base_ms=-1, max_ms=-1, marked=True)
        yield "marked, of the future" + of, batch(TWO, max_ms=NOW + FIFTY_DAYS, marked=True)


def _streams() -> Iterator[tuple[str, bytes]]:
    """The same damage to each codec."""
    large = record(0, value=number(128_000) + bytes(range(256)) * 500) + record(1)
    for codec in (GZIP, SNAPPY, LZ4, ZSTD):
        of = NAMES[codec]
        stream = compression.compress(codec, TWO)
        streams = {"good": stream, "large": compression.compress(codec, large)}
        for size in (1, 2, 4, 8, 9):
            for name in ("good", "large"):
                streams[f"{name} less {size}"] = streams[name][:-size]
        streams |= {
            "junk behind": stream + b"junk",
            "zero behind": stream + b"\0",
            "zeros behind": stream + bytes(8),
            "twice": stream * 2,
            "nothing": b"",
            "not compressed": TWO,
            "in two": compression.compress(codec, record(0))
            + compression.compress(codec, record(1)),
            "nothing, then all": compression.compress(codec, b"") + stream,
        }
        for other in (GZIP, SNAPPY, LZ4, ZSTD):
            if other != codec:
                streams[f"is {NAMES[other]}"] = compression.compress(other, TWO)
        for name, body in streams.items():
            yield f"{of}: {name}", sealed(body, codec=codec)
    for codec in (5, 6, 7):
        yield f"codec {codec}", sealed(TWO, codec=codec)


def _gzip() -> Iterator[tuple[str, bytes]]:
    stream = compression.compress(GZIP, TWO)
    for name, at in {"checksum": -8, "size": -1, "method": 2}.items():
        body = bytearray(stream)
        body[at] ^= 1
        yield f"gzip: wrong {name}", sealed(bytes(body), codec=GZIP)


def _snappy() -> Iterator[tuple[str, bytes]]:
    block = bytes(cramjam.snappy.compress_raw(TWO))
    one = (1).to_bytes(4, "big")
    sized = len(block).to_bytes(4, "big") + block
    header = XERIAL + one + one
    bodies = {
        "one bare block": block,
        "framed": bytes(cramjam.snappy.compress(TWO)),
        "version 0": XERIAL + bytes(4) + one + sized,
        "version 2": XERIAL + (2).to_bytes(4, "big") + one + sized,
        "header only": header,
        "block too long": header + (500).to_bytes(4, "big") + block,
        "block of -16": header + (-16).to_bytes(4, "big", signed=True) + block,
        "empty block": header + bytes(4) + sized,
        "claims 2 GiB": b"\xff\xff\xff\xff\x07" + block[1:],
    }
    for name, body in bodies.items():
        yield f"snappy: {name}", sealed(body, codec=SNAPPY)


def _lz4() -> Iterator[tuple[str, bytes]]:
    stored = (len(TWO) | 1 << 31).to_bytes(4, "little") + TWO
    # Flags, block size and what follows them, then their checksum (xxHash32, its second byte).
    independent, linked = bytes.fromhex("604082"), bytes.fromhex("4040c0")
    bodies = {
        "stored": LZ4_MAGIC + independent + stored + bytes(4),
        "linked": LZ4_MAGIC + linked + stored + bytes(4),
        "linked by a library": bytes(cramjam.lz4.compress(TWO)),
        "wrong header checksum": LZ4_MAGIC + b"\x60\x40\0" + stored + bytes(4),
        "no end mark": LZ4_MAGIC + independent + stored,
        "half an end mark": LZ4_MAGIC + independent + stored + bytes(2),
        "behind the end mark": LZ4_MAGIC + independent + stored + bytes(4) + stored,
        "nothing in it": LZ4_MAGIC + independent + bytes(4),
        "an end mark that is stored": LZ4_MAGIC + independent + b"\0\0\0\x80" + stored + bytes(4),
        "block too large": LZ4_MAGIC
        + independent
        + (70_000 | 1 << 31).to_bytes(4, "little")
        + bytes(70_004),
        "block beyond the end": LZ4_MAGIC
        + independent
        + (500 | 1 << 31).to_bytes(4, "little")
        + TWO,
        "skippable frame first": SKIPPABLE + LZ4_MAGIC + independent + stored + bytes(4),
        "old format": bytes.fromhex("02214c18") + len(TWO).to_bytes(4, "little") + TWO,
    }
    for name, body in bodies.items():
        yield f"lz4: {name}", sealed(body, codec=LZ4)


def _zstd() -> Iterator[tuple[str, bytes]]:
    def frame(window: int = 0, flags: int = 0, more: bytes = b"", last: bool = True) -> bytes:
        """`window`: five bits for the power of two above 1 KiB, three for eighths."""
        block = (len(TWO) << 3 | last).to_bytes(3, "little") + TWO
        return ZSTD_MAGIC + bytes([flags, window]) + more + block

    bodies = {
        **{f"window of 2^{10 + n}": frame(n << 3) for n in (0, 7, 17, 18, 20, 31)},
        "window above 2^27": frame(17 << 3 | 1),
        "window of 2^28, size known": frame(18 << 3, 0x80, len(TWO).to_bytes(4, "little")),
        "reserved bit": frame(0, 8),
        "another dictionary": frame(0, 1, b"\7"),
        "no checksum where one is promised": frame(0, 4),
        "wrong checksum": frame(0, 4) + b"1234",
        "no last block": frame(last=False),
        "skippable frame first": SKIPPABLE + frame(),
        "skippable frame last": frame() + SKIPPABLE,
    }
    for name, body in bodies.items():
        yield f"zstd: {name}", sealed(body, codec=ZSTD)


def _around() -> Iterator[tuple[str, bytes]]:
    def with_length(length: int, size: int) -> bytes:
        return GOOD[:8] + length.to_bytes(4, "big", signed=True) + GOOD[12:size]

    parts = {
        "a byte": b"x",
        "11 zeros": bytes(11),
        "12 zeros": bytes(12),
        "61 zeros": bytes(61),
        "16 bytes": GOOD[:16],
        "17 bytes": GOOD[:17],
        "40 bytes": GOOD[:40],
        "all but one": GOOD[:-1],
        "a whole batch": GOOD,
        "format 1": GOOD[:16] + b"\1" + GOOD[17:40],
        "format 3": GOOD[:16] + b"\3" + GOOD[17:40],
        "format -1": GOOD[:16] + b"\xff" + GOOD[17:40],
        "a length of 13": with_length(13, 40),
        "a length of 48": with_length(48, 60),
        "a length of -1": with_length(-1, 40),
    }
    for name, part in parts.items():
        yield f"only {name}", part
        yield f"then {name}", GOOD + part


def damaged(seed: int, count: int) -> dict[str, bytes]:
    """Batches of three records, damaged before or after they are compressed."""
    rng = random.Random(seed)
    found = {}
    for turn in range(count):
        codec = rng.choice((NONE, NONE, NONE, GZIP, SNAPPY, LZ4, ZSTD))
        body = b"".join(_any_record(rng, offset) for offset in range(3))
        if rng.random() < 0.5:
            body = compression.compress(codec, _damage(rng, body))
        else:
            body = _damage(rng, compression.compress(codec, body))
        found[f"damaged {turn}, {NAMES[codec]}"] = sealed(body, count=3, codec=codec)
    return found


def _any_record(rng: random.Random, offset: int) -> bytes:
    def field() -> bytes:
        size = rng.choice((-1, 0, 1, 70, 300))
        return number(size) + rng.randbytes(max(size, 0))

    after_ms = rng.choice((0, 0, 1, -1, 70, 5000, 10**10))
    headers = rng.choice((number(0), number(1) + number(1) + b"h" + number(-1)))
    return record(offset, after_ms, field(), field(), headers)


def _damage(rng: random.Random, body: bytes) -> bytes:
    out = bytearray(body)
    for _ in range(rng.choice((1, 1, 2))):
        at = rng.randrange(len(out))
        kind = rng.random()
        if kind < 0.6:
            out[at] ^= 1 << rng.randrange(8)
        elif kind < 0.8:
            del out[at]
        else:
            out.insert(at, rng.randrange(256))
    return bytes(out)
