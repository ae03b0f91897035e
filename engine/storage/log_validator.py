"""What a leader checks before it takes a batch; followers check only that it is intact.

    INVALID_RECORD       no batch, more than one, a cut one, format v0 or v1, a control batch
                         offsets that do not start at 0
                         a record count below 1, or at odds with the last offset delta
                         a producer id without a sequence
                         records that do not fill the batch, or do not have the format
                         a record without a key in a compacted topic
    MESSAGE_TOO_LARGE    more bytes than max.message.bytes
    RECORD_LIST_TOO_LARGE  more bytes than segment.bytes
    CORRUPT_MESSAGE      a wrong checksum, a length below the header's, an unknown format
    INVALID_TIMESTAMP    a record's timestamp too far off, or left to the broker
    UNKNOWN_SERVER_ERROR a codec that there is not, a stream that does not decompress,
                         compressed records whose offsets are not 0, 1, 2 …

A leader reads each record of a produced batch, compressed or not: it counts them, and it finds the
true largest timestamp, which the header may not name.  (librdkafka says 0 where no record has one,
kafka-go names the last, which need not be the largest.)  What it reads it does not keep: the bytes
of the batch go to the log as they came.

A part of a batch behind the one batch is left out, as Kafka does.

Simplified: without the wheel for its codec a batch is taken unread.  One that decompresses to more
than 128 MiB is refused with UNKNOWN_SERVER_ERROR; Kafka reads it to its end.  Where the stream and
the records in it are broken, Kafka names what it meets first; here it is the stream.  An lz4 frame
with the wrong content size or content checksum, a reserved flag of gzip and a cut skippable frame
of zstd are refused here only.  A batch too short for a producer id is CORRUPT_MESSAGE here and
UNKNOWN_SERVER_ERROR in Kafka.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from engine.records.batch import MAGIC, BatchHeader, CorruptBatch, read_header, unpack, validate
from engine.records.compression import NONE, can_read
from engine.records.contents import read_contents
from engine.storage.log_config import CREATE_TIME, LogConfig
from engine.wire.errors import Errors, KafkaError

Origin = Literal["client", "coordinator", "raft-leader"]
"""The writer: a producer, a coordinator of this broker, the leader of the metadata log."""

NO_TIMESTAMP = -1

_LENGTH_ENDS, _MAGIC_AT = 12, 16
_SHORTEST_LENGTH = 14
"""What the length of a batch of format v0 says if it holds one empty record."""

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


class Validated(NamedTuple):
    """What is known of a batch that may be appended."""

    header: BatchHeader
    max_timestamp: int
    """The largest timestamp of its records; the header's where they were not read."""


def validate_append(
    buffer: bytes, config: LogConfig, now_ms: int, origin: Origin, partition: str
) -> Validated:
    """The one batch at the start of `buffer`; KafkaError with the code for the producer.

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
    max_timestamp = header.max_timestamp
    if from_client:
        _check_client_batch(header)
        if can_read(header.compression):
            max_timestamp = _check_records(buffer, header, config, now_ms, partition)
    if size > config.segment_bytes:
        raise KafkaError(
            Errors.RECORD_LIST_TOO_LARGE,
            f"the batch has {size} bytes; segment.bytes allows {config.segment_bytes}",
        )
    return Validated(header, max_timestamp)


def one_batch(buffer: bytes) -> BatchHeader:
    """The header of the one whole batch in `buffer`; what follows it may be a part of another.

    INVALID_RECORD if there is not exactly one; CORRUPT_MESSAGE if its format is none of Kafka's.
    """
    size = _size_of_whole_batch(buffer, 0)
    if size is None:
        raise _invalid("there must be one whole record batch, and there is none")
    magic = buffer[_MAGIC_AT]
    if magic < MAGIC:
        raise _invalid(f"batch format {magic} is too old; Kafka 4 takes format {MAGIC}")
    if _size_of_whole_batch(buffer, size) is not None:
        raise _invalid("there must be exactly one record batch, and there is more")
    return read_header(buffer)


def _size_of_whole_batch(buffer: bytes, position: int) -> int | None:
    """The bytes of the batch of any format at `position`; None where there is but a part."""
    left = len(buffer) - position
    if left < _LENGTH_ENDS:
        return None
    length = int.from_bytes(buffer[position + 8 : position + _LENGTH_ENDS], "big", signed=True)
    if length < _SHORTEST_LENGTH:
        raise KafkaError(Errors.CORRUPT_MESSAGE, f"no batch has a length of {length} bytes")
    if left <= _MAGIC_AT:
        return None
    if buffer[position + _MAGIC_AT] > MAGIC:
        raise KafkaError(Errors.CORRUPT_MESSAGE, "a batch format that is none of Kafka's")
    size = length + _LENGTH_ENDS
    return size if size <= left else None


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
) -> int:
    """Reads each record, and gives the largest timestamp."""
    try:
        _, plain = unpack(buffer)
    except CorruptBatch as error:
        raise KafkaError(Errors.UNKNOWN_SERVER_ERROR, str(error)) from None
    compressed = header.compression != NONE
    try:
        contents = read_contents(plain, header.records_count, compressed)
    except ValueError as error:
        raise _invalid(str(error)) from None
    if header.timestamp_type:  # the producer left them to the broker
        base, deltas = header.max_timestamp, [0] * header.records_count
    else:
        base, deltas = header.base_timestamp, contents.timestamp_deltas
    largest = base + max(deltas)
    if not _all_may_stay(base + min(deltas), largest, contents.keyless, header, config, now_ms):
        timestamps = [base + delta for delta in deltas]
        _refuse_records(contents.keyless, timestamps, header, config, now_ms, partition)
    if compressed and not contents.in_order:
        raise KafkaError(Errors.UNKNOWN_SERVER_ERROR, "the records' offsets do not count up from 0")
    return max(NO_TIMESTAMP, largest)


def _all_may_stay(
    smallest: int,
    largest: int,
    keyless: list[int],
    header: BatchHeader,
    config: LogConfig,
    now_ms: int,
) -> bool:
    """Whether no rule for single records needs a look at them."""
    if (config.is_compacted and keyless) or header.timestamp_type:
        return False
    return config.message_timestamp_type != CREATE_TIME or (
        smallest >= now_ms - config.message_timestamp_before_max_ms
        and largest <= now_ms + config.message_timestamp_after_max_ms
    )


def _refuse_records(
    keyless: list[int],
    timestamps: list[int],
    header: BatchHeader,
    config: LogConfig,
    now_ms: int,
    partition: str,
) -> None:
    """InvalidRecords with those at fault; of two faults of one record the key's is named."""
    created = config.message_timestamp_type == CREATE_TIME
    earliest = now_ms - config.message_timestamp_before_max_ms
    latest = now_ms + config.message_timestamp_after_max_ms
    without_key = set(keyless) if config.is_compacted else set()
    errors: list[RecordError] = []
    code = Errors.INVALID_RECORD
    for index, timestamp in enumerate(timestamps):
        if index in without_key:
            what = "Compacted topic cannot accept message without key in topic partition "
            errors.append((index, what + partition))
        elif created and timestamp != NO_TIMESTAMP:
            if not earliest <= timestamp <= latest:
                code = Errors.INVALID_TIMESTAMP
                what = f"Timestamp {timestamp} of message with offset {index} is out of range. "
                within = f"The timestamp should be within [{earliest}, {latest}]"
                errors.append((index, what + within))
        elif header.timestamp_type:
            code = Errors.INVALID_TIMESTAMP
            what = f"Invalid timestamp type in message {index}. "
            errors.append(
                (index, what + "Producer should not set timestamp type to LogAppendTime.")
            )
    if errors:
        raise InvalidRecords(code, errors)


def _invalid(message: str) -> KafkaError:
    return KafkaError(Errors.INVALID_RECORD, message)
