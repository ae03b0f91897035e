"""What the coordinator writes down: the records of `__consumer_offsets`.

Each record names its kind in the 16-bit number in front of the key.  The number in front
of the value is the version of the value's schema:

    key 1  (group, topic, partition)  ->  offset, leader epoch, metadata, commit time
    key 2  (group)                    ->  generation, protocol, leader, every member with
                                          its subscription and assignment
    key 3 and more                        a group of the consumer protocol, in small
                                          records: see `consumer.stored_group`

The topic is compacted: the last value of a key is the truth, a null value (a
*tombstone*) says that there is none.  So the log is the database, and a broker that
takes over reads it from the start.  Kafka's own tools read it too
(`kafka-dump-log --offsets-decoder`).

Offsets that are committed in a transaction are in batches that carry the producer's id, and a
control batch ends them.

Values are written as 4.3 writes them: offsets in version 4 (which carries the topic id),
or 1 when an old client asked for a retention of its own; group metadata in version 3.

Other kinds of key (share and streams groups) are skipped.
"""

from __future__ import annotations

import struct

from engine.coordinators.classic.stored_group import GroupRecord
from engine.coordinators.consumer.stored_group import KEYS, VALUES, ConsumerRecord
from engine.coordinators.offsets import (
    CommittedOffset,
    OffsetRecord,
    PendingOffset,
    TransactionEnd,
)
from engine.coordinators.offsets_topic import OFFSETS_TOPIC
from engine.coordinators.runtime.shard import AppendTerms, LogTopic, Transactions
from engine.settings import Settings
from engine.wire import codec
from engine.wire import messages as m

OFFSET_COMMIT_KEY = 1
GROUP_METADATA_KEY = 2
_OFFSET_VALUE, _OFFSET_VALUE_WITH_EXPIRY, _GROUP_VALUE = 4, 1, 3

StoredRecord = OffsetRecord | GroupRecord | ConsumerRecord | PendingOffset | TransactionEnd


def decode_record(key: bytes | None, value: bytes | None) -> StoredRecord | None:
    """A record of the log, None for a kind of key we do not know.

    Simplified: what is no record at all is passed over too.  An admin's tool may have written it
    (engine/api/produce/produce.py); Kafka then fails to load the partition.
    """
    try:
        return None if key is None else _decode(key, value)
    except (codec.MalformedMessage, struct.error):
        return None


def _decode(key: bytes, value: bytes | None) -> StoredRecord | None:
    (kind,) = struct.unpack_from(">h", key)
    if kind in (0, OFFSET_COMMIT_KEY):  # 0: written before Kafka 0.9, same fields
        where = codec.decode(m.OffsetCommitKey, 0, key, 2)
        return OffsetRecord(where.group, where.topic, where.partition, _committed(value))
    if kind == GROUP_METADATA_KEY:
        group = codec.decode(m.GroupMetadataKey, 0, key, 2).group
        return GroupRecord(group, None if value is None else _read(m.GroupMetadataValue, value))
    if kind in KEYS:
        whose = codec.decode(KEYS[kind], 0, key, 2)
        return ConsumerRecord(whose, None if value is None else _read(VALUES[kind], value))
    return None


def encode_record(record: StoredRecord) -> tuple[bytes, bytes | None]:
    """A record's key and value; no value for a removal."""
    if isinstance(record, ConsumerRecord):
        key = _prefixed(type(record.key).API_KEY, record.key, 0)
        return key, None if record.value is None else _prefixed(0, record.value, 0)
    if isinstance(record, GroupRecord):
        key = _prefixed(GROUP_METADATA_KEY, m.GroupMetadataKey(group=record.group), 0)
        value = record.value
        return key, None if value is None else _prefixed(_GROUP_VALUE, value, _GROUP_VALUE)
    assert isinstance(record, OffsetRecord), "the log says it by the batch around a record"
    where = m.OffsetCommitKey(group=record.group, topic=record.topic, partition=record.partition)
    key = _prefixed(OFFSET_COMMIT_KEY, where, 0)
    committed = record.committed
    if committed is None:
        return key, None
    commit = m.OffsetCommitValue(
        offset=committed.offset,
        leader_epoch=committed.leader_epoch,
        metadata=committed.metadata,
        commit_timestamp=committed.commit_timestamp_ms,
        expire_timestamp=committed.expire_timestamp_ms,
        topic_id=committed.topic_id,
    )
    expires = committed.expire_timestamp_ms != -1
    version = _OFFSET_VALUE_WITH_EXPIRY if expires else _OFFSET_VALUE
    return key, _prefixed(version, commit, version)


def _committed(value: bytes | None) -> CommittedOffset | None:
    if value is None:
        return None
    stored = _read(m.OffsetCommitValue, value)
    return CommittedOffset(
        stored.offset,
        stored.leader_epoch,
        stored.metadata,
        stored.commit_timestamp,
        stored.expire_timestamp,
        stored.topic_id,
    )


def _read(kind: type[codec.Kind], value: bytes) -> codec.Kind:
    (version,) = struct.unpack_from(">h", value)
    return codec.decode(kind, version, value, 2)


def _prefixed(number: int, message: m.Message, version: int) -> bytes:
    return struct.pack(">h", number) + codec.encode(message, version)


def _terms(settings: Settings) -> AppendTerms:
    return AppendTerms(
        settings["offsets.topic.compression.codec"], settings["offsets.commit.timeout.ms"]
    )


def _pending(record: StoredRecord, producer_id: int) -> StoredRecord:
    """Only commits come in transactions; Kafka takes any other record there as it is."""
    return PendingOffset(producer_id, record) if isinstance(record, OffsetRecord) else record


OFFSETS_LOG: LogTopic[StoredRecord] = LogTopic(
    OFFSETS_TOPIC, encode_record, decode_record, _terms, Transactions(_pending, TransactionEnd)
)
