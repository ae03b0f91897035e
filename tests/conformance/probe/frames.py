"""Frames that are no requests: cut off, counting more than they hold, of unknown kinds."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from engine import api
from engine.wire import codec, framing
from engine.wire.codec import UnsupportedField
from engine.wire.schema import find
from tests.conformance.probe.case import Here, api_request
from tests.conformance.probe.mutations import PLAIN
from tests.conformance.probe.side import PREFIX, Side

HUGE = 2**31 - 1
HEADER = struct.Struct(">hhih")


def frame(key: int, version: int, body: bytes, client: bytes = b"probe") -> bytes:
    flexible = b"\0" if key in framing.API_NAMES and _is_flexible(key, version) else b""
    inside = HEADER.pack(key, version, 7, len(client)) + client + flexible + body
    return struct.pack(">i", len(inside)) + inside


def _is_flexible(key: int, version: int) -> bool:
    return version in find(f"{framing.API_NAMES[key]}Request").flexible


def frames(side: Side) -> Iterator[tuple[str, bytes]]:
    """The name of each, and its bytes: all of them end the connection."""
    for name, offered in api.APIS.items():
        key, high = offered.key, offered.high
        low = max(offered.low, api_request(name).VERSIONS.low)
        for version in sorted({low, high}):
            try:
                plain = codec.encode(
                    PLAIN[name](Here(side, name, version, f"{PREFIX}raw")), version
                )
            except UnsupportedField:
                continue
            if plain.strip(b"\0"):
                yield f"{name} v{version} cut off", frame(key, version, plain[: len(plain) // 2])
        yield f"{name} above its versions", frame(key, high + 7, b"")
    yield "an unknown API", frame(999, 0, b"")
    yield "API -1", frame(-1, 0, b"")
    yield "too short for a header", struct.pack(">i", 4) + b"abcd"
    yield "an empty frame", struct.pack(">i", 0)
    yield "a negative length", struct.pack(">i", -1)
    yield "two billion bytes", struct.pack(">i", HUGE)
    yield "two billion topics", frame(3, 8, struct.pack(">i", HUGE))
    yield "two billion topics, flexible", frame(3, 9, b"\xff\xff\xff\xff\x07")
    yield "two billion groups", frame(15, 0, struct.pack(">i", HUGE))
    yield "two billion resources", frame(44, 0, struct.pack(">i", HUGE))
    yield "two billion tags", frame(3, 9, b"\x01\x00\x00\x00\xff\xff\xff\xff\x07")
    yield "a name of -5 bytes", frame(3, 8, struct.pack(">ih", 1, -5))
    yield (
        "a name of 40,000 bytes",
        frame(3, 12, b"\x02" + bytes(16) + b"\xc1\xb8\x02" + b"x" * 40_000),
    )
