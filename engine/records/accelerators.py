"""The one place where the engine looks beyond the standard library.

Two optional wheels make it faster or more able; nothing else in `engine` may import a
third-party module (a test holds this).  Without them everything still runs:

* `crc32c`, or else `google_crc32c`: a CRC-32C that uses the processor's instruction for
  it, about 20 GB/s where `engine.records.crc32c` in Python manages 10 MB/s.  The first also
  takes a memoryview; the second needs a copy of the bytes.
* `cramjam`: the snappy, lz4 and zstd codecs.  Without it a batch compressed with one of
  them is stored and served as it is, but cannot be looked into.
"""

from __future__ import annotations

import importlib
from typing import Any, Protocol


def _optional(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


class Checksum(Protocol):
    """CRC-32C of `data`, going on from the checksum of what came before."""

    def __call__(self, data: bytes | bytearray | memoryview, so_far: int = 0, /) -> int: ...


def _find_crc32c() -> Checksum | None:
    if module := _optional("crc32c"):
        found: Checksum = module.crc32c
        return found
    google = _optional("google_crc32c")
    if google and google.implementation == "c":
        return lambda data, so_far=0: int(google.extend(so_far, bytes(data)))
    return None


crc32c = _find_crc32c()
"""`crc32c(data, so_far=0)`, or None without a wheel."""

cramjam: Any = _optional("cramjam")
"""The module with `.snappy`, `.lz4` and `.zstd`, or None without the wheel."""
