"""What the coordinator writes down: the records of `__transaction_state`.

    key 0  (transactional id)  ->  producer id and epoch, state, partitions, time-out, times

One record holds everything about an id, so the last one of each key is enough, and the topic
is compacted.  A null value (a *tombstone*) removes an id that expired.  Kafka's own tools
read it (`kafka-dump-log --transaction-log-decoder`).

The value's version follows the finalised transaction.version:

    value 0   transaction.version 0
    value 1   from 1 on: tagged fields, for the previous and the next producer id and the client's
              transaction.version (KIP-890)

Simplified: a client that bumps epochs without a finalised transaction.version 2 gets value 1 too;
Kafka has no value for it and fails.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from engine.coordinators.runtime.shard import AppendTerms, LogTopic
from engine.coordinators.transactions.metadata import TransactionMetadata
from engine.coordinators.transactions.states import TransactionState
from engine.settings import Settings
from engine.wire import codec
from engine.wire import messages as m

TRANSACTIONS_TOPIC = "__transaction_state"
TRANSACTION_KEY = 0


@dataclass(frozen=True, slots=True)
class TransactionRecord:
    """An id's stored form, or its removal when `metadata` is None.

    `why` is for the trace, it is not stored.
    """

    transactional_id: str
    metadata: TransactionMetadata | None
    version: int = 1
    why: str = ""


def encode_record(record: TransactionRecord) -> tuple[bytes, bytes | None]:
    """A record's key and value; no value for a removal."""
    key = _prefixed(TRANSACTION_KEY, m.TransactionLogKey(record.transactional_id), 0)
    metadata = record.metadata
    if metadata is None:
        return key, None
    version = 1 if metadata.client_version else record.version
    value = m.TransactionLogValue(
        producer_id=metadata.producer_id,
        producer_epoch=metadata.producer_epoch,
        transaction_timeout_ms=metadata.timeout_ms,
        transaction_status=metadata.state.number,
        transaction_partitions=_topics(metadata),
        transaction_last_update_timestamp_ms=metadata.last_update_ms,
        transaction_start_timestamp_ms=metadata.start_ms,
        client_transaction_version=metadata.client_version,
    )
    if version >= 1:
        value.previous_producer_id = metadata.previous_producer_id
        value.next_producer_id = metadata.next_producer_id
    return key, _prefixed(version, value, version)


def decode_record(key: bytes | None, value: bytes | None) -> TransactionRecord | None:
    """A record of the log, None for a kind of key or value that we do not know."""
    try:
        return None if key is None else _decode(key, value)
    except (codec.MalformedMessage, struct.error, IndexError):
        return None


def _decode(key: bytes, value: bytes | None) -> TransactionRecord | None:
    (kind,) = struct.unpack_from(">h", key)
    if kind != TRANSACTION_KEY:
        return None
    whose = codec.decode(m.TransactionLogKey, 0, key, 2).transactional_id
    if value is None:
        return TransactionRecord(whose, None)
    (version,) = struct.unpack_from(">h", value)
    if version not in (0, 1):
        return None
    stored = codec.decode(m.TransactionLogValue, version, value, 2)
    partitions = tuple(
        (each.topic, index)
        for each in stored.transaction_partitions or ()
        for index in each.partition_ids
    )
    metadata = TransactionMetadata(
        producer_id=stored.producer_id,
        producer_epoch=stored.producer_epoch,
        timeout_ms=stored.transaction_timeout_ms,
        last_update_ms=stored.transaction_last_update_timestamp_ms,
        state=TransactionState.of(stored.transaction_status),
        partitions=tuple(sorted(partitions)),
        start_ms=stored.transaction_start_timestamp_ms,
        previous_producer_id=stored.previous_producer_id,
        next_producer_id=stored.next_producer_id,
        client_version=stored.client_transaction_version,
    )
    return TransactionRecord(whose, metadata, version)


def _topics(metadata: TransactionMetadata) -> list[m.TransactionLogValue.PartitionsSchema] | None:
    """Null in the state Empty, as Kafka writes it."""
    if metadata.state is TransactionState.EMPTY:
        return None
    by_topic: dict[str, list[int]] = {}
    for topic, index in metadata.partitions:
        by_topic.setdefault(topic, []).append(index)
    return [m.TransactionLogValue.PartitionsSchema(*each) for each in by_topic.items()]


def _prefixed(number: int, message: m.Message, version: int) -> bytes:
    return struct.pack(">h", number) + codec.encode(message, version)


def _terms(settings: Settings) -> AppendTerms:
    return AppendTerms(compression=0, timeout_ms=settings["request.timeout.ms"])


TRANSACTIONS_LOG: LogTopic[TransactionRecord] = LogTopic(
    TRANSACTIONS_TOPIC, encode_record, decode_record, _terms
)
