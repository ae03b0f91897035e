"""What a coordinator has, as the invariants read it."""

from __future__ import annotations

from collections.abc import Iterator

from engine.client.metadata import Place
from engine.coordinators.classic.stored_group import GroupRecord
from engine.coordinators.group_records import StoredRecord, decode_record
from engine.coordinators.group_shard import GroupShard
from engine.coordinators.offsets_topic import OFFSETS_TOPIC
from engine.coordinators.runtime.host import Partition
from engine.records import batch
from engine.wire.consumer_protocol import assigned_partitions

READ_BYTES = 1 << 20


def is_stored(shard: GroupShard, group_id: str, generation: int) -> bool:
    """Whether a replicated record has this generation; a second SyncGroup may write it again."""
    log = shard.log
    on_their_way = (each for each in log.on_their_way() if isinstance(each, GroupRecord))
    values = (each.value for each in on_their_way if each.group == group_id)
    if not any(each is not None and each.generation == generation for each in values):
        return True
    replica = log.host.replicas.partition(OFFSETS_TOPIC, log.index)
    if replica is None:
        return True
    return any(
        isinstance(record, GroupRecord)
        and record.group == group_id
        and record.value is not None
        and record.value.generation == generation
        for record in _replicated(replica)
    )


def _replicated(replica: Partition) -> Iterator[StoredRecord | None]:
    """The records below the high watermark."""
    position = replica.log.log_start_offset
    while position < replica.high_watermark:
        chunk = replica.log.read(position, READ_BYTES)
        for header, start in batch.iterate(chunk):
            position = header.next_offset
            if position <= replica.high_watermark:
                yield from (
                    decode_record(each.key, each.value) for each in batch.decode(chunk, start)
                )


def places_assigned(assignment: bytes) -> list[Place]:
    found = assigned_partitions(assignment) or {}
    return [(topic, index) for topic, indexes in found.items() for index in indexes]


def places_owned(shard: GroupShard, owned: dict[bytes, dict[int, int]]) -> list[Place]:
    topics = shard.log.host.metadata.topics
    return [
        (topics[topic_id].name, index)
        for topic_id, indexes in owned.items()
        if topic_id in topics
        for index in indexes
    ]
