"""Makes Produce, Fetch and ListOffsets requests by hand, and reads their answers.

Client libraries batch, retry, wait and hide.  To show one answer of one broker, a lesson
makes the request itself.  The same request goes to a cluster in virtual time, to a live one,
and over one bare connection:

    first_partition(world.ask(fetching(topic_id(world, "orders"), 3), 101))
    first_partition(clients.ask(cluster, 101, fetching(clients.topic_id(cluster, "orders"), 3)))
    first_partition(raw_client.ask(fetching("orders", 3)))

The request's version decides how a topic is named: by its name (text) up to version 12 of
Produce and Fetch, by its id (bytes) from 13 on.  All requests are those of consumers and
producers, not of followers.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

from engine.records import batch
from engine.wire import messages as m
from engine.wire.errors import Errors

EARLIEST, LATEST = -2, -1
"""Timestamps of ListOffsets that stand for an end of the log."""
PARTITION_BYTES = 1 << 20
ANSWER_BYTES = 1 << 22


def now_ms() -> int:
    """The time for a record: retention.ms (seven days) would soon delete an old one."""
    return time.time_ns() // 1_000_000


def one_batch(*values: bytes, at_ms: int | None = None, key: bytes | None = None,
              **producer: Any) -> bytes:  # fmt: skip
    """One uncompressed batch; `producer` may give producer_id, producer_epoch, base_sequence."""
    when = now_ms() if at_ms is None else at_ms
    records = [batch.Record(0, when, key, value, ()) for value in values]
    return batch.encode(records, **producer)


def producing(
    topic: str | bytes,
    value_bytes: int = 10,
    acks: int = 1,
    records: bytes = b"",
    *,
    partition: int = 0,
    timeout_ms: int = 20_000,
) -> Any:
    """A Produce request with one record of `value_bytes` bytes, or with a given batch."""
    request = m.ProduceRequest
    data = records or one_batch(bytes(value_bytes))
    part = request.PartitionProduceData(index=partition, records=data)
    named = request.TopicProduceData(**_named(topic, "name"), partition_data=[part])
    return request(acks=acks, timeout_ms=timeout_ms, topic_data=[named])


def fetching(
    topic: str | bytes,
    offset: int = 0,
    *,
    partitions: Iterable[int] = (0,),
    epoch: int = -1,
    max_wait_ms: int = 0,
    min_bytes: int = 1,
    session: tuple[int, int] = (0, -1),
) -> Any:
    """A consumer's Fetch; `epoch` is the leader epoch that the consumer knows, -1 for none.

    `session` is the fetch session's id and epoch, (0, -1) for none.
    """
    request = m.FetchRequest
    parts = [
        request.FetchPartition(
            partition=index,
            current_leader_epoch=epoch,
            fetch_offset=offset,
            partition_max_bytes=PARTITION_BYTES,
        )
        for index in partitions
    ]
    named = request.FetchTopic(**_named(topic, "topic"), partitions=parts)
    return request(
        max_wait_ms=max_wait_ms,
        min_bytes=min_bytes,
        max_bytes=ANSWER_BYTES,
        session_id=session[0],
        session_epoch=session[1],
        topics=[named] if parts else [],
    )


def listing(topic: str, timestamp: int = LATEST) -> Any:
    """A consumer's ListOffsets for partition 0."""
    request = m.ListOffsetsRequest
    part = request.ListOffsetsPartition(0, timestamp=timestamp)
    return request(-1, topics=[request.ListOffsetsTopic(topic, [part])])


# -- answers


def first_partition(answer: Any) -> Any:
    """What an answer to one of the three requests says about its first partition."""
    match answer:
        case m.ProduceResponse():
            return answer.responses[0].partition_responses[0]
        case m.FetchResponse():
            return answer.responses[0].partitions[0]
        case _:
            return answer.topics[0].partitions[0]


def refusal(part: Any) -> str:
    """The name of the error that a partition's answer carries; empty if it carries none."""
    return Errors(part.error_code).name if part.error_code else ""


def values(records: bytes | None, since: int = 0) -> list[str]:
    """The values of the records in some batches, from an offset on."""
    found = batch.decode_all(records or b"")
    return [(record.value or b"").decode() for record in found if record.offset >= since]


def records_in(answer: Any) -> int:
    """How many records a Fetch answer holds."""
    found = [p.records or b"" for topic in answer.responses for p in topic.partitions]
    return sum(header.records_count for data in found for header, _ in batch.iterate(data))


def _named(topic: str | bytes, by_name: str) -> dict[str, Any]:
    return {by_name: topic} if isinstance(topic, str) else {"topic_id": topic}
