"""What a coordinator has written about a group: its records in `__consumer_offsets`, in order."""

from __future__ import annotations

import struct
from typing import Any

from engine.coordinators.consumer.stored_group import KEYS, VALUES
from engine.coordinators.offsets_topic import OFFSETS_TOPIC, partition_for
from engine.records import batch
from engine.wire import codec
from engine.wire import messages as m
from kit.probes.raw_client import RawClient
from kit.probes.requests import fetching, first_partition
from tests.conformance.probe.side import GROUP, OFFSETS_PARTITIONS, Side

KINDS = {
    0: (m.OffsetCommitKey, m.OffsetCommitValue),
    1: (m.OffsetCommitKey, m.OffsetCommitValue),
    2: (m.GroupMetadataKey, m.GroupMetadataValue),
    **{kind: (KEYS[kind], VALUES[kind]) for kind in KEYS},
}
"""Key and value by the number in front of the key."""

Written = tuple[int, Any, int, Any]
"""Kind, key, version of the value (-1 for a tombstone), value."""


def records(side: Side) -> dict[str, list[Written]]:
    """By group, from the partition in which the probe's groups are."""
    found: dict[str, list[Written]] = {}
    with RawClient.at(side.brokers[side.coordinator], "probe") as client:
        for each in _read(client):
            (kind,) = struct.unpack_from(">h", each.key)
            if kind in KINDS:
                key_class, value_class = KINDS[kind]
                key = codec.decode(key_class, 0, each.key, 2)
                group = key.group_id if kind in KEYS else key.group
                found.setdefault(group, []).append((kind, key, *_value(value_class, each)))
    return found


def _value(value_class: Any, record: batch.Record) -> tuple[int, Any]:
    if record.value is None:
        return -1, None
    (version,) = struct.unpack_from(">h", record.value)
    return version, codec.decode(value_class, version, record.value, 2)


def _read(client: RawClient) -> list[batch.Record]:
    index = partition_for(GROUP, OFFSETS_PARTITIONS)
    read: list[batch.Record] = []
    offset = 0
    while True:
        part = first_partition(client.ask(fetching(OFFSETS_TOPIC, offset, partitions=(index,))))
        assert part.error_code == 0
        data = bytes(part.records or b"")
        if not data:
            return read
        for header, start in batch.iterate(data):
            if not header.is_control and header.last_offset >= offset:
                read += batch.decode(data, start)
            offset = max(offset, header.next_offset)
