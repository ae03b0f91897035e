"""Topic ids, directory ids and incarnation ids: 16 raw bytes, and Kafka's way to spell them.

A topic that is deleted and created again is another topic, though its name is the same;
since KIP-516 it therefore has an id.  Kafka prints ids as URL-safe base64 without
padding: 22 characters, which survive in file names and command lines.  A few ids are
reserved, and a fresh id never starts with a dash, so that tools do not take it for an
option.
"""

from __future__ import annotations

import base64
import binascii
import random

ZERO = bytes(16)
"""No id: a topic without one, or a field left out."""

METADATA_TOPIC = bytes(15) + b"\x01"
"""`__cluster_metadata`, the topic id `AAAAAAAAAAAAAAAAAAAAAQ`."""

_RESERVED_BELOW = 100
"""Kafka keeps the first hundred ids for itself (unknown, lost, migrating directories)."""


def to_text(uuid: bytes) -> str:
    """16 bytes as 22 characters."""
    return base64.urlsafe_b64encode(uuid).decode().rstrip("=")


def from_text(text: str) -> bytes:
    """22 characters as 16 bytes; ValueError with a sentence when it is no such id."""
    try:
        uuid = base64.b64decode(text.encode() + b"==", altchars=b"-_", validate=True)
    except (binascii.Error, UnicodeEncodeError):
        uuid = b""
    if len(uuid) != 16 or to_text(uuid) != text:
        raise ValueError(f"{text!r} is not a topic id: 22 characters of A-Z a-z 0-9 - _")
    return uuid


def new(ids: random.Random) -> bytes:
    """A fresh random (version 4) id out of the caller's seeded source."""
    while True:
        bits = ids.getrandbits(128)
        bits = bits & ~(0xF << 76) | 4 << 76  # the version
        bits = bits & ~(3 << 62) | 2 << 62  # the variant
        uuid = bits.to_bytes(16, "big")
        if bits >= _RESERVED_BELOW and not to_text(uuid).startswith("-"):
            return uuid
