"""ListOffsets (key 2): the offset for a timestamp, or for one of the named places.

    -1 latest (high watermark for consumers, log end for replicas)    -2 earliest
    -3 the record with the largest timestamp (KIP-734)
    -4 earliest local, -5 latest tiered, -6 earliest not yet tiered (KIP-405, KIP-1023; without
       tiered storage -4 equals -2, and the other two are unknown)

Right after an election a leader may not know where the log ends for a consumer: then the
answer is OFFSET_NOT_AVAILABLE, and the client asks again (KIP-207, `check_end_is_known`).
Replica id -2 reads the log end of any replica: a debugging aid.

Versions: 1+ single offset; 4+ leader epoch; 5+ OFFSET_NOT_AVAILABLE (before:
LEADER_NOT_AVAILABLE); 6+ flexible; 7+ -3; 8+ -4; 9+ -5; 10+ timeout.
"""

from __future__ import annotations

from engine import past
from engine.broker.broker import Broker
from engine.events import Request
from engine.replication.partition import Partition
from engine.replication.reading import ISOLATION_LEVELS, READ_COMMITTED
from engine.wire import messages as m
from engine.wire.errors import Errors, KafkaError

LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED = -1, -2, -3, -4, -5
EARLIEST_PENDING_UPLOAD = -6
FIRST_VERSION = {-1: 1, -2: 1, -3: 7, -4: 8, -5: 9, -6: 11}
CONSUMER, DEBUGGER = -1, -2
Row = m.ListOffsetsResponse.ListOffsetsPartitionResponse


def handle(broker: Broker, now: int, request: Request[m.ListOffsetsRequest]) -> None:
    by_topic: dict[str, dict[int, Row]] = {}
    for topic in request.body.topics:
        rows = by_topic.setdefault(topic.name, {})
        for asked in topic.partitions:
            index = asked.partition_index
            is_second = index in rows
            rows[index] = (
                Row(index, Errors.INVALID_REQUEST)
                if is_second
                else _look_up(broker, request, topic.name, asked)
            )
    answer = m.ListOffsetsResponse()
    for name, rows in by_topic.items():
        if rows:
            answer.topics.append(
                m.ListOffsetsResponse.ListOffsetsTopicResponse(name, list(rows.values()))
            )
    broker.outbox.reply(request, answer)


def _look_up(
    broker: Broker,
    request: Request[m.ListOffsetsRequest],
    topic: str,
    asked: m.ListOffsetsRequest.ListOffsetsPartition,
) -> Row:
    body, index, wanted = request.body, asked.partition_index, asked.timestamp
    try:
        if body.isolation_level not in ISOLATION_LEVELS:
            raise KafkaError(Errors.UNKNOWN_SERVER_ERROR)
        if wanted < 0 and request.version < FIRST_VERSION.get(wanted, 1 << 15):
            raise KafkaError(Errors.UNSUPPORTED_VERSION)
        partition = broker.replicas.hosted.serving(topic, index)
        error = partition.check_leader_epoch(asked.current_leader_epoch)
        if error:
            raise KafkaError(error)
        if body.replica_id != DEBUGGER and not partition.is_leader:
            raise KafkaError(Errors.NOT_LEADER_OR_FOLLOWER)
        offset, timestamp, epoch = find(
            partition, wanted, body.replica_id, body.isolation_level, past.KIP_207 in broker.before
        )
    except KafkaError as problem:
        code = problem.code
        if code == Errors.OFFSET_NOT_AVAILABLE and request.version < 5:
            code = Errors.LEADER_NOT_AVAILABLE
        return Row(index, code)
    return Row(index, 0, timestamp, offset, epoch if request.version >= 4 else -1)


def check_end_is_known(partition: Partition) -> None:
    """Refuses to tell a client where the log ends, as long as this leader cannot know it.

    The leader holds all that its predecessor committed, but learns one fetch late how far that
    reached.  Until its high watermark has reached the start of its own epoch, an answer might go
    back behind the predecessor's (KIP-207).  The check is for "latest", and for a timestamp that no
    record below the high watermark has.
    """
    start = partition.epoch_start_offset
    if start is not None and partition.high_watermark < start:
        raise KafkaError(Errors.OFFSET_NOT_AVAILABLE)


def find(
    partition: Partition, timestamp: int, replica_id: int, isolation_level: int, old: bool = False
) -> tuple[int, int, int]:
    """(offset, timestamp, leader epoch), (-1, -1, -1) if no record has that time or a later one.

    `old`: as before KIP-207, going back in time if need be.
    """
    log = partition.log
    from_client = replica_id == CONSUMER
    if not from_client:
        end = log.log_end_offset
    elif isolation_level == READ_COMMITTED:
        end = partition.last_stable_offset
    else:
        end = partition.high_watermark
    if timestamp == LATEST:
        if from_client and not old:
            check_end_is_known(partition)
        return end, -1, partition.leader_epoch
    if timestamp in (EARLIEST, EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING_UPLOAD):
        offset = _boundary(partition, timestamp)
        epoch = log.epochs.epoch_for_offset(offset)
        return offset, -1, epoch if epoch is not None else -1
    found = None
    if partition.remote is not None and timestamp >= 0:
        found = partition.remote.offset_for_timestamp(timestamp)
    if found is None:
        found = (
            log.max_timestamp()
            if timestamp == MAX_TIMESTAMP
            else log.offset_for_timestamp(timestamp)
        )
    if found is not None and found[0] < end:
        return found
    if from_client and not old:
        check_end_is_known(partition)
    return -1, -1, -1


def _boundary(partition: Partition, which: int) -> int:
    """Where the log, its local part or its part in the tier begins or ends; -1 if it is unknown."""
    log, remote = partition.log, partition.remote
    if which == EARLIEST:
        return log.log_start_offset
    if which == EARLIEST_LOCAL:
        return log.local_log_start_offset
    if remote is None:
        return -1
    highest = log.highest_remote_offset
    if which == LATEST_TIERED:
        return highest
    if highest >= 0:
        return max(highest + 1, log.log_start_offset)
    return log.log_start_offset if log.local_log_start_offset == log.log_start_offset else -1
