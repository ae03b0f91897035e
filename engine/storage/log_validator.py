"""What a leader checks before it takes a batch; followers check only that it is intact.

    INVALID_RECORD       no batch, more than one, a cut one, format v0 or v1, a control batch
                         offsets that do not start at 0
                         a record count below 1, or at odds with the last offset delta
                         a producer id without a sequence
                         a record without a key in a compacted topic
    MESSAGE_TOO_LARGE    more bytes than max.message.bytes
    RECORD_LIST_TOO_LARGE  more bytes than segment.bytes
    CORRUPT_MESSAGE      a wrong checksum, a length below the header's
    INVALID_TIMESTAMP    a timestamp too far off, or one marked LogAppendTime

Nearly all of it comes from the 61 bytes of the header and the checksum, so a megabyte costs little
more than its CRC.  Kafka goes through the records of every batch (and unpacks compressed ones) to
count them and to find the true largest timestamp; here the header is trusted, except where a rule
needs the records: compacted topics, topics with message.timestamp.before.max.ms, and batches whose
first record has no timestamp.  librdkafka says of these that their largest timestamp is 0, and
retention would delete them as records of 1970.  Otherwise, if a client writes a valid checksum over
records that do not fit its header, its readers notice and the broker does not.

Simplified: a batch that a producer marks LogAppendTime is refused in every topic.  Kafka takes
it, and removes the mark, where the topic's timestamps are CreateTime.
"""

from __future__ import annotations

from typing import Literal

from engine.records.batch import (
    HEADER_SIZE,
    MAGIC,
    BatchHeader,
    CorruptBatch,
    Record,
    decode,
    read_header,
    validate,
)
from engine.storage.log_config import CREATE_TIME, LogConfig
from engine.wire.errors import Errors, KafkaError

Origin = Literal["client", "coordinator", "raft-leader"]
"""The writer: a producer, a coordinator of this broker, the leader of the metadata log."""

NO_TIMESTAMP = -1
NO_BEFORE_LIMIT = LogConfig().message_timestamp_before_max_ms


RecordError = tuple[int, str]
"""A record's place in its batch, and what is wrong with it."""


class InvalidRecords(KafkaError):
    """Some records of a batch are refused, and the others with them (KIP-467).

    The answer names them: the producer gives up those alone and may send the others
    again.
    """

    def __init__(self, code: Errors, record_errors: list[RecordError]) -> None:
        if code == Errors.INVALID_TIMESTAMP:
            message = "One or more records have been rejected due to invalid timestamp"
        else:
            shown = ", ".join(
                f"RecordError(batchIndex={index}, message='{what}')"
                for index, what in record_errors[:3]
            )
            message = (
                f"One or more records have been rejected due to {len(record_errors)} record errors "
                f"in total, and only showing the first three errors at most: [{shown}]"
            )
        super().__init__(code, message)
        self.record_errors = record_errors


def validate_append(
    buffer: bytes, config: LogConfig, now_ms: int, origin: Origin, partition: str
) -> BatchHeader:
    """The header of the one batch in `buffer`; KafkaError with the code for the producer.

    `partition` is its name in error messages, such as `orders-0`.
    """
    header = one_batch(buffer)
    from_client = origin == "client"
    if from_client and header.base_offset != 0:
        raise _invalid(f"offsets start at {header.base_offset}, a producer's start at 0")
    size = header.size_in_bytes
    if origin != "raft-leader" and size > config.max_message_bytes:
        raise KafkaError(
            Errors.MESSAGE_TOO_LARGE,
            f"the batch has {size} bytes; max.message.bytes allows {config.max_message_bytes}",
        )
    validate(buffer)
    if from_client:
        _check_client_batch(header)
        _check_records(buffer, header, config, now_ms, partition)
    if size > config.segment_bytes:
        raise KafkaError(
            Errors.RECORD_LIST_TOO_LARGE,
            f"the batch has {size} bytes; segment.bytes allows {config.segment_bytes}",
        )
    return header


def largest_timestamp(buffer: bytes, header: BatchHeader) -> int:
    """The header's, if it is not below the first record's and that has one; else the records'."""
    if NO_TIMESTAMP < header.base_timestamp <= header.max_timestamp:
        return header.max_timestamp
    return max(record.timestamp for record in _records(buffer))


def one_batch(buffer: bytes) -> BatchHeader:
    """The header of the one whole batch in `buffer`.

    INVALID_RECORD if there is not exactly one; CORRUPT_MESSAGE if its format is none of Kafka's.
    """
    if len(buffer) < HEADER_SIZE:
        raise _invalid("there must be one record batch, and there is none")
    header = read_header(buffer)
    if not 0 <= header.magic <= MAGIC:
        raise KafkaError(Errors.CORRUPT_MESSAGE, f"there is no batch format {header.magic}")
    if header.magic < MAGIC:
        raise _invalid(f"batch format {header.magic} is too old; Kafka 4 takes format {MAGIC}")
    if header.size_in_bytes > len(buffer):
        raise _invalid(f"{len(buffer)} of the batch's {header.size_in_bytes} bytes are there")
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


def _check_records(
    buffer: bytes, header: BatchHeader, config: LogConfig, now_ms: int, partition: str
) -> None:
    """The rules for single records; a batch is unpacked only where one of them may be broken."""
    created = config.message_timestamp_type == CREATE_TIME
    earliest = now_ms - config.message_timestamp_before_max_ms
    latest = now_ms + config.message_timestamp_after_max_ms
    is_late = created and header.max_timestamp > latest
    is_bounded = created and config.message_timestamp_before_max_ms < NO_BEFORE_LIMIT
    if not (config.is_compacted or is_bounded or is_late or header.timestamp_type):
        return
    allowed = range(earliest, latest + 1)
    errors: list[RecordError] = []
    code = Errors.INVALID_RECORD
    for index, record in enumerate(_records(buffer)):
        if config.is_compacted and record.key is None:
            what = "Compacted topic cannot accept message without key in topic partition "
            errors.append((index, what + partition))
        elif header.timestamp_type:
            code = Errors.INVALID_TIMESTAMP
            what = f"Invalid timestamp type in message {index}. "
            errors.append(
                (index, what + "Producer should not set timestamp type to LogAppendTime.")
            )
        elif created and record.timestamp not in allowed and record.timestamp != NO_TIMESTAMP:
            code = Errors.INVALID_TIMESTAMP
            what = f"Timestamp {record.timestamp} of message with offset {index} is out of range. "
            within = f"The timestamp should be within [{earliest}, {latest}]"
            errors.append((index, what + within))
    if errors:
        raise InvalidRecords(code, errors)
    if is_late:
        raise KafkaError(
            Errors.INVALID_TIMESTAMP,
            f"the header says {header.max_timestamp}, but no record has that timestamp",
        )


def _records(buffer: bytes) -> list[Record]:
    try:
        return decode(buffer)
    except CorruptBatch as error:
        raise _invalid(str(error)) from None


def _invalid(message: str) -> KafkaError:
    return KafkaError(Errors.INVALID_RECORD, message)
