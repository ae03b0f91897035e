"""What consumers tell each other through the coordinator.

To the coordinator a member's `metadata` and its assignment are opaque bytes; they are
written by one client and read by another.  Consumers agreed on a format: a 16-bit
version, then `ConsumerProtocolSubscription` (the topics I want, what I own) or
`ConsumerProtocolAssignment` (the partitions you get).  Every version starts with the
fields of version 0, so an old reader understands the start of a new message.

The coordinator peeks for two reasons only: not to expire or delete offsets of a topic
that the group subscribes to, and to show assignments to people.

Source: KIP-429 (owned partitions), KIP-792 (generation), KIP-881 (rack).
"""

from __future__ import annotations

import struct

from engine.wire import codec
from engine.wire import messages as m

PROTOCOL_TYPE = "consumer"
"""The protocol type of consumer groups; Kafka Connect's workers say `connect`."""


def subscribed_topics(metadata: bytes) -> tuple[str, ...] | None:
    """The topics of a subscription, None if it cannot be read."""
    subscription = _first_fields(m.ConsumerProtocolSubscription, metadata)
    return None if subscription is None else tuple(subscription.topics)


def assigned_partitions(assignment: bytes) -> dict[str, list[int]] | None:
    """Topic to partitions of an assignment, None if it cannot be read."""
    if not assignment:
        return {}
    decoded = _first_fields(m.ConsumerProtocolAssignment, assignment)
    if decoded is None:
        return None
    return {each.topic: list(each.partitions) for each in decoded.assigned_partitions}


def encode(message: m.Message, version: int) -> bytes:
    """A subscription or assignment as a client would send it."""
    return struct.pack(">h", version) + codec.encode(message, version)


def _first_fields(kind: type[codec.Kind], data: bytes) -> codec.Kind | None:
    """`data` read as version 0 of `kind`: the part that all versions share."""
    try:
        (version,) = struct.unpack_from(">h", data)
        if version < 0:
            return None
        message, _ = codec.decode_prefix(kind, 0, data, 2)
        return message
    except (struct.error, codec.MalformedMessage):
        return None
