"""The four codecs of record batches, in the framing that Kafka's clients expect.

A compressed batch keeps its 61 byte header in the clear; everything behind it is one
compressed stream of records.  `compression.type` names the codec, the low three bits of
the batch's attributes carry its number: 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd (KIP-110).

The traps, each of which has cost some client a release:

* snappy: Java writes the xerial stream, a 16 byte header and then blocks of up to 32 KiB,
  each behind its length; librdkafka writes the same; others write one bare block.
  Both are read, the first is written.
* lz4: the standard frame format, but its blocks must be independent of each other:
  Kafka's reader refuses linked blocks, which most libraries write by default.  It also wants
  the mark at the end of the frame, and reads nothing behind it.
* gzip and xerial streams may follow one another in one batch; frames of lz4 may not.
* a few bytes can decompress to gigabytes, so every reader takes a limit.

gzip comes with Python; the others need the `cramjam` wheel.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Any

from engine.records import accelerators
from engine.wire.errors import CorruptBatch, Errors, KafkaError

Buffer = bytes | bytearray | memoryview

NONE, GZIP, SNAPPY, LZ4, ZSTD = range(5)
NAMES = ("none", "gzip", "snappy", "lz4", "zstd")
"""`compression.type` by codec number."""

_OF_THE_WHEEL = (SNAPPY, LZ4, ZSTD)
_GZIP_WINDOW = 31  # 15 bits, plus 16 for the gzip header
_GZIP_MAGIC = b"\x1f\x8b\x08"
_XERIAL_HEADER = b"\x82SNAPPY\x00" + (1).to_bytes(4, "big") * 2  # version, lowest compatible
_XERIAL_BLOCK = 32 * 1024
# Magic; version 1 with independent blocks; blocks of up to 64 KiB; the header's checksum.
_LZ4_HEADER = bytes.fromhex("04224d18 60 40 82")
_LZ4_BLOCK = 64 * 1024
_LZ4_STORED = 1 << 31
# Bits of the fifth byte of a frame.
_LZ4_INDEPENDENT, _LZ4_BLOCK_CHECKSUM, _LZ4_CONTENT_SIZE, _LZ4_CONTENT_CHECKSUM = 32, 16, 8, 4
_ZSTD_LEVEL = 3


def compress(codec: int, data: Buffer) -> bytes:
    """`data` as one compressed stream."""
    if codec == NONE:
        return bytes(data)
    if codec == GZIP:
        stream = zlib.compressobj(wbits=_GZIP_WINDOW)
        return stream.compress(data) + stream.flush()
    library = _library(codec)
    if codec == SNAPPY:
        out = [_XERIAL_HEADER]
        for start in range(0, len(data), _XERIAL_BLOCK):
            block = bytes(library.snappy.compress_raw(data[start : start + _XERIAL_BLOCK]))
            out += (len(block).to_bytes(4, "big"), block)
        return b"".join(out)
    if codec == LZ4:
        out = [_LZ4_HEADER]
        for start in range(0, len(data), _LZ4_BLOCK):
            plain = data[start : start + _LZ4_BLOCK]
            block = bytes(library.lz4.compress_block(plain, store_size=False))
            if len(block) < len(plain):
                out += (len(block).to_bytes(4, "little"), block)
            else:
                out += ((len(plain) | _LZ4_STORED).to_bytes(4, "little"), bytes(plain))
        return b"".join((*out, bytes(4)))
    return bytes(library.zstd.compress(data, _ZSTD_LEVEL))


def decompress(codec: int, data: Buffer, limit: int) -> bytes:
    """The inverse; CorruptBatch when the bytes are no such stream or exceed `limit`."""
    if codec == NONE:
        return bytes(data)
    if codec == GZIP:
        return _gunzip(data, limit)
    library = _library(codec)
    if codec == SNAPPY:
        return _unsnappy(library, data, limit)
    if codec == LZ4:
        return _unframe(library.lz4, _lz4_frame(data), limit)
    return _unframe(library.zstd, data, limit) if data else b""


def can_read(codec: int) -> bool:
    """False where only the cramjam wheel is missing: a number that no codec has is not excused."""
    return codec not in _OF_THE_WHEEL or accelerators.cramjam is not None


def _library(codec: int) -> Any:
    if codec not in _OF_THE_WHEEL:
        raise CorruptBatch(f"no compression codec has the number {codec}")
    if accelerators.cramjam is None:
        raise KafkaError(
            Errors.UNSUPPORTED_COMPRESSION_TYPE,
            f"{NAMES[codec]} needs the cramjam wheel: pip install cramjam",
        )
    return accelerators.cramjam


def _too_large(limit: int) -> CorruptBatch:
    return CorruptBatch(f"a batch decompresses to more than {limit} bytes")


def _gunzip(data: Buffer, limit: int) -> bytes:
    out, size, rest = [], 0, bytes(data)
    try:
        while True:  # a gzip stream may have several members
            stream = zlib.decompressobj(wbits=_GZIP_WINDOW)
            out.append(stream.decompress(rest, limit - size + 1))
            size += len(out[-1])
            if size > limit:
                raise _too_large(limit)
            if not stream.eof:
                raise CorruptBatch("the gzip stream is cut off")
            rest = stream.unused_data
            if not rest.startswith(_GZIP_MAGIC):  # what is no further member does not matter
                return b"".join(out)
    except zlib.error as error:
        raise CorruptBatch(f"not a gzip stream: {error}") from None


def _unsnappy(library: Any, data: Buffer, limit: int) -> bytes:
    out, size = [], 0
    try:
        for block in _snappy_blocks(data):
            size += library.snappy.decompress_raw_len(block)
            if size > limit:
                raise _too_large(limit)
            out.append(bytes(library.snappy.decompress_raw(block)))
    except library.DecompressionError as error:
        raise CorruptBatch(f"not a snappy stream: {error}") from None
    return b"".join(out)


def _snappy_blocks(data: Buffer) -> Iterator[Buffer]:
    if bytes(data[:8]) != _XERIAL_HEADER[:8]:
        yield data
        return
    position = len(_XERIAL_HEADER)
    while len(data) - position >= 4:
        if bytes(data[position : position + 8]) == _XERIAL_HEADER[:8]:
            position += len(_XERIAL_HEADER)
            continue
        end = position + 4 + int.from_bytes(data[position : position + 4], "big")
        if end > len(data):
            raise CorruptBatch("the snappy stream is cut off")
        yield data[position + 4 : end]
        position = end


def _lz4_frame(data: Buffer) -> bytes:
    """The one frame at the start, up to its end; CorruptBatch if Kafka would not read it.

    Its checksums are left to the library.
    """
    frame = bytes(data)
    if len(frame) < len(_LZ4_HEADER) or frame[:4] != _LZ4_HEADER[:4]:
        raise CorruptBatch("not an lz4 frame")
    flags = frame[4]
    if not flags & _LZ4_INDEPENDENT:
        raise CorruptBatch("the blocks of the lz4 frame depend on one another")
    position = len(_LZ4_HEADER) + 8 * bool(flags & _LZ4_CONTENT_SIZE)
    while size := int.from_bytes(frame[position : position + 4], "little") & ~_LZ4_STORED:
        position += 4 + size + 4 * bool(flags & _LZ4_BLOCK_CHECKSUM)
    end = position + 4 + 4 * bool(flags & _LZ4_CONTENT_CHECKSUM)
    if end > len(frame):
        raise CorruptBatch("the lz4 frame is cut off")
    return frame[:position] + bytes(4) + frame[position + 4 : end]


def _unframe(library: Any, data: Buffer, limit: int) -> bytes:
    """lz4 and zstd frames do not always say how large they become: guess, then double."""
    capacity = min(limit, max(4 * len(data), 64 * 1024))
    while True:
        out = bytearray(capacity)
        try:
            return bytes(memoryview(out)[: library.decompress_into(data, out)])
        except accelerators.cramjam.DecompressionError as error:
            if "whole buffer" not in str(error):
                raise CorruptBatch(f"not a compressed stream: {error}") from None
        if capacity == limit:
            raise _too_large(limit)
        capacity = min(limit, 2 * capacity)
