"""What consumers tell each other through the coordinator.

To the coordinator a member's `metadata` and its assignment are opaque bytes; they are
written by one client and read by another.  Consumers agreed on a format: a 16-bit
version, then `ConsumerProtocolSubscription` (the topics I want, what I own) or
`ConsumerProtocolAssignment` (the partitions you get).  Every version starts with the
fields of version 0, so an old reader understands the start of a new message.

The coordinator peeks for two reasons only: not to expire or delete offsets of a topic
that the group subscribes to, and to show assignments to people.  It reads the fields of version 0.
Consumers read and write all fields (engine/client/consumer), and so does the coordinator for
classic members of a consumer group (engine/coordinators/consumer/classic_members.py).

Source: KIP-429 (owned partitions), KIP-792 (generation), KIP-881 (rack).
"""

from __future__ import annotations

import struct

from engine.wire import codec
from engine.wire import messages as m

LATEST = 3
PROTOCOL_TYPE = "consumer"
"""The protocol type of consumer groups; Kafka Connect's workers say `connect`."""


def version_of(data: bytes) -> int:
    """The version in front of a subscription; MalformedMessage if there is none."""
    if len(data) < 2:
        raise codec.MalformedMessage("no version")
    version: int = struct.unpack_from(">h", data)[0]
    if version < 0:
        raise codec.MalformedMessage(f"version {version}")
    return version


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


def read_subscription(data: bytes) -> m.ConsumerProtocolSubscription:
    """A subscription with all its fields; MalformedMessage if it is none."""
    return _all_fields(m.ConsumerProtocolSubscription, data)


def read_assignment(data: bytes) -> m.ConsumerProtocolAssignment:
    """An assignment with all its fields; MalformedMessage if it is none."""
    return _all_fields(m.ConsumerProtocolAssignment, data)


def encode(message: m.Message, version: int = LATEST) -> bytes:
    """A subscription or assignment as a client would send it."""
    version = min(version, LATEST)
    return struct.pack(">h", version) + codec.encode(message, version)


def _all_fields(kind: type[codec.Kind], data: bytes) -> codec.Kind:
    """`data` read in its own version, or in the latest that is known here."""
    if len(data) < 2:
        raise codec.MalformedMessage(f"{len(data)} bytes are no {kind.__name__}")
    (version,) = struct.unpack_from(">h", data)
    if version < 0:
        raise codec.MalformedMessage(f"version {version} of {kind.__name__}")
    message, _ = codec.decode_prefix(kind, min(version, LATEST), data, 2)
    return message


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
