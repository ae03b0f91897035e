"""Produce (key 0): append batches to partitions led here.

acks=0 gets no answer at all, and if something is wrong loses its connection, so that the
producer asks anew who leads; acks=1 is answered when the leader's log has the batch;
acks=all (-1) when the high watermark has passed it, or when `timeout_ms` is over.  A
batch is validated and stored as it came: records are not decoded, except inside a
compressed batch where the log's rules ask for it.

Left out: transactions (a transactional batch is refused with INVALID_TXN_STATE), magic
0 and 1 (gone since Kafka 4.0).
Versions: 9+ flexible; 10+ name the new leader in a refusal (KIP-951); 13 topic ids.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine import past
from engine.api.produce.answers import Part, produce_answer, refusal
from engine.api.produce.delayed_produce import DelayedProduce
from engine.events import Request
from engine.metadata.topic_names import INTERNAL
from engine.replication.delayed_append import PendingAppend
from engine.replication.hosted import Key
from engine.wire import messages as m
from engine.wire.errors import Errors, KafkaError

if TYPE_CHECKING:
    from engine.broker.broker import Broker

VALID_ACKS = (-1, 0, 1)


def handle(broker: Broker, now: int, request: Request[m.ProduceRequest]) -> None:
    body = request.body
    hosted = broker.replicas.hosted
    answer = m.ProduceResponse()
    parts: dict[Key, Part] = {}
    waiting: list[tuple[PendingAppend, Part]] = []
    for topic in body.topic_data:
        name = topic.name or hosted.topic_name(topic.topic_id)
        topic_answer = m.ProduceResponse.TopicProduceResponse(name=name, topic_id=topic.topic_id)
        answer.responses.append(topic_answer)
        for asked in topic.partition_data:
            key = (name, asked.index)
            try:
                part, pending = _append(broker, now, body.acks, key, asked.records or b"")
                waiting.append((pending, part))
            except KafkaError as error:
                part = refusal(key, error)
            parts[key] = part
            topic_answer.partition_responses.append(part)
    for key in parts:
        broker.replicas.purgatory.check(now, key)
    if body.acks == 0:
        refused = [
            f"{topic}-{index}: {Errors(each.error_code).name}"
            for (topic, index), each in parts.items()
            if each.error_code
        ]
        if refused:
            why = f"a record sent with acks=0 could not be appended ({', '.join(refused)})"
            broker.outbox.hang_up(request, why)
        broker.outbox.reply(request, None)
    elif body.acks == 1 or not waiting:
        broker.outbox.reply(request, produce_answer(hosted, request, answer))
    else:
        delayed = DelayedProduce(hosted, broker.outbox, request, answer, waiting)
        keys = tuple(pending.key for pending, _ in waiting)
        broker.replicas.purgatory.try_or_wait(now, delayed, keys, body.timeout_ms)


def _append(
    broker: Broker, now: int, acks: int, key: Key, records: bytes
) -> tuple[Part, PendingAppend]:
    """Appends one partition's batch: its part of the answer, and what acks=all waits for."""
    if acks not in VALID_ACKS:
        raise KafkaError(Errors.INVALID_REQUIRED_ACKS, f"acks={acks} is none of -1, 0, 1")
    if not key[0]:
        raise KafkaError(Errors.UNKNOWN_TOPIC_ID)
    if key[0] in INTERNAL:
        raise KafkaError(Errors.INVALID_TOPIC_EXCEPTION, f"{key[0]} is Kafka's own topic")
    partition = broker.replicas.hosted.leading(*key)
    if past.KIP_360 in broker.before:
        past.refuse_unknown_producer(partition.log, records)
    info = partition.append_as_leader(now, records, acks)
    part = Part(
        index=key[1],
        base_offset=info.base_offset,
        log_append_time_ms=info.log_append_time_ms,
        log_start_offset=partition.log.log_start_offset,
    )
    return part, PendingAppend(key, partition.leader_epoch, info.last_offset + 1)
