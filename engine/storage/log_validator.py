"""What a leader checks before it takes a batch; followers check only that it is intact.

    INVALID_RECORD       no batch, more than one, format v0 or v1, a control batch
                         offsets that do not start at 0
                         a record count below 1, or at odds with the last offset delta
                         a producer id without a sequence
                         a record without a key in a compacted topic
    MESSAGE_TOO_LARGE    more bytes than max.message.bytes
    RECORD_LIST_TOO_LARGE  more bytes than segment.bytes
    CORRUPT_MESSAGE      a wrong checksum, a cut batch
    INVALID_TIMESTAMP    a timestamp too far off, or one marked LogAppendTime

Nearly all of it comes from the 61 bytes of the header and the checksum, so a megabyte costs
little more than its CRC.  Kafka goes through the records of every batch (and unpacks
compressed ones) to count them and to find the true largest timestamp; here the header is
believed, except where a rule needs the records: compacted topics and topics with
message.timestamp.before.max.ms.  A client that writes a valid checksum over records that
do not fit its header is therefore found out by its readers, not by the broker.
"""

from __future__ import annotations

from typing import Literal

from engine.records.batch import (
    HEADER_SIZE,
    MAGIC,
    BatchHeader,
    CorruptBatch,
    decode,
    read_header,
    validate,
)
from engine.storage.log_config import CREATE_TIME, LogConfig
from engine.wire.errors import Errors, KafkaError

Origin = Literal["client", "coordinator", "raft-leader"]
"""Who appends: a producer, a coordinator of this broker, the leader of the metadata log."""

NO_TIMESTAMP = -1
NO_BEFORE_LIMIT = LogConfig().message_timestamp_before_max_ms


def validate_append(buffer: bytes, config: LogConfig, now_ms: int, origin: Origin) -> BatchHeader:
    """The header of the one batch in `buffer`; KafkaError with the code for the producer."""
    header = _one_batch(buffer)
    from_client = origin == "client"
    if from_client and header.base_offset != 0:
        raise _invalid(f"offsets start at {header.base_offset}, a producer's start at 0")
    size = header.size_in_bytes
    if origin != "raft-leader" and size > config.max_message_bytes:
        raise KafkaError(
            Errors.MESSAGE_TOO_LARGE,
            f"the batch has {size} bytes, max.message.bytes allows {config.max_message_bytes}",
        )
    validate(buffer)
    if from_client:
        _check_client_batch(header)
        _check_timestamps(buffer, header, config, now_ms)
        if config.is_compacted:
            _check_keys(buffer)
    if size > config.segment_bytes:
        raise KafkaError(
            Errors.RECORD_LIST_TOO_LARGE,
            f"the batch has {size} bytes, segment.bytes allows {config.segment_bytes}",
        )
    return header


def _one_batch(buffer: bytes) -> BatchHeader:
    if len(buffer) < HEADER_SIZE:
        raise _invalid("there must be one record batch, and there is none")
    header = read_header(buffer)
    if header.magic != MAGIC:
        raise _invalid(f"batch format {header.magic} is too old; Kafka 4 takes format {MAGIC}")
    if HEADER_SIZE <= header.size_in_bytes < len(buffer):
        raise _invalid("there must be exactly one record batch, and there is more")
    return header


def _check_client_batch(header: BatchHeader) -> None:
    count = header.records_count
    if count <= 0:
        raise _invalid(f"the batch claims {count} records")
    if header.last_offset_delta + 1 != count:
        raise _invalid(
            f"the batch claims {count} records and a last offset delta of "
            f"{header.last_offset_delta}"
        )
    if header.is_control:
        raise _invalid("only brokers write control records")
    if header.producer_id >= 0 and header.base_sequence < 0:
        raise _invalid(f"producer {header.producer_id} sent sequence {header.base_sequence}")


def _check_timestamps(buffer: bytes, header: BatchHeader, config: LogConfig, now_ms: int) -> None:
    if header.timestamp_type:
        raise KafkaError(
            Errors.INVALID_TIMESTAMP, "only the broker may mark a batch as LogAppendTime"
        )
    if config.message_timestamp_type != CREATE_TIME:
        return
    latest = now_ms + config.message_timestamp_after_max_ms
    if header.max_timestamp > latest:
        raise _out_of_range(
            header.max_timestamp, f"message.timestamp.after.max.ms ends at {latest}"
        )
    if config.message_timestamp_before_max_ms < NO_BEFORE_LIMIT:
        earliest = now_ms - config.message_timestamp_before_max_ms
        for record in _records(buffer):
            if record.timestamp != NO_TIMESTAMP and record.timestamp < earliest:
                raise _out_of_range(
                    record.timestamp, f"message.timestamp.before.max.ms begins at {earliest}"
                )


def _check_keys(buffer: bytes) -> None:
    if any(record.key is None for record in _records(buffer)):
        raise _invalid("a compacted topic takes no record without a key")


def _records(buffer: bytes) -> list:
    try:
        return decode(buffer)
    except CorruptBatch as error:
        raise _invalid(str(error)) from None


def _invalid(message: str) -> KafkaError:
    return KafkaError(Errors.INVALID_RECORD, message)


def _out_of_range(timestamp: int, limit: str) -> KafkaError:
    return KafkaError(Errors.INVALID_TIMESTAMP, f"timestamp {timestamp} is out of range: {limit}")
