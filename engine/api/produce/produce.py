"""Produce (key 0): append batches to partitions led here.

acks=0 gets no answer at all; if something is wrong its connection is closed, so that the producer
asks again who leads.  acks=1 is answered when the leader's log has the batch, acks=all (-1) when
the high watermark has passed it, or when `timeout_ms` is over.  The leader reads the records
of a batch to check them, and stores the batch as it came.

The first batch of a transaction in a partition waits until its coordinator knows of it: see
`transactions.py` here.

Left out: magic 0 and 1 (gone since Kafka 4.0).
Simplified: null records are refused as no batch; Kafka 4.3.1 never answers them.  The refusal of an
unknown batch format has no text.
Versions: 5+ tell where the log starts; 7+ may bring zstd; 8+ say which records are at fault
(KIP-467); 9+ flexible; 10+ name the new leader in a refusal (KIP-951); 13 topic ids.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from engine import past
from engine.api.produce import transactions
from engine.api.produce.answers import Part, produce_answer, refusal
from engine.api.produce.delayed_produce import DelayedProduce
from engine.api.produce.transactions import Batches
from engine.broker.broker import Broker
from engine.events import Request
from engine.metadata.topic_names import INTERNAL
from engine.records.compression import ZSTD
from engine.replication.delayed_append import PendingAppend
from engine.replication.hosted import HostedPartitions, Key
from engine.storage.log_validator import one_batch
from engine.storage.producer_states import NO_GUARD
from engine.wire import messages as m
from engine.wire.errors import Errors, KafkaError

VALID_ACKS = (-1, 0, 1)
FIRST_VERSION_WITH_ZSTD = 7
FIRST_VERSION_WITH_TOPIC_IDS = 13
ADMIN_CLIENT_ID = "__admin_client"
"""A client with this id may write Kafka's own topics; Kafka's tools use it."""


def handle(broker: Broker, now: int, request: Request[m.ProduceRequest]) -> None:
    batches = _by_topic(broker.replicas.hosted, request.body)
    transactional = transactions.batches(batches)
    if transactional and request.body.transactional_id is None:
        error = KafkaError(Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
        if request.body.acks:
            raise error
        broker.outbox.hang_up(request, f"a batch sent with acks=0 was refused ({error})")
        broker.outbox.reply(request, None)
        return
    if not transactions.verify(broker, now, request, transactional, Waiting(broker, request)):
        _answer(broker, now, request, batches, {}, {})


def refuse(
    request: Request[m.ProduceRequest], code: Errors, message: str | None
) -> m.ProduceResponse:
    topic_response = m.ProduceResponse.TopicProduceResponse
    return m.ProduceResponse(
        responses=[
            topic_response(
                name=topic.name,
                topic_id=topic.topic_id,
                partition_responses=[
                    refusal((topic.name, each.index), KafkaError(code))
                    for each in topic.partition_data
                ],
            )
            for topic in request.body.topic_data
        ]
    )


@dataclass(slots=True, eq=False)
class Waiting:
    """A request whose transaction is being verified."""

    broker: Broker
    request: Request[m.ProduceRequest]

    def go_on(self, now: int, refused: Mapping[Key, KafkaError], guards: Mapping[Key, int]) -> None:
        batches = _by_topic(self.broker.replicas.hosted, self.request.body)
        _answer(self.broker, now, self.request, batches, refused, guards)


def _answer(
    broker: Broker,
    now: int,
    request: Request[m.ProduceRequest],
    asked: Batches,
    refused: Mapping[Key, KafkaError],
    guards: Mapping[Key, int],
) -> None:
    """Appends what may be appended, and answers now or when it is replicated."""
    body = request.body
    hosted = broker.replicas.hosted
    answer = m.ProduceResponse()
    parts: dict[Key, Part] = {}
    waiting: list[tuple[PendingAppend, Part]] = []
    for (name, topic_id), batches in asked.items():
        topic_answer = m.ProduceResponse.TopicProduceResponse(name=name, topic_id=topic_id)
        answer.responses.append(topic_answer)
        for index, records in batches.items():
            key = (name, index)
            if key in refused:
                part, pending = refusal(key, refused[key]), None
            else:
                part, pending = _append(broker, now, request, key, records, guards.get(key))
            if pending is not None:
                waiting.append((pending, part))
            parts[key] = part
            topic_answer.partition_responses.append(part)
    for key in parts:
        broker.replicas.purgatory.check(now, key)
    if body.acks == 0:
        refusals = [
            f"{topic}-{index}: {Errors(each.error_code).name}"
            for (topic, index), each in parts.items()
            if each.error_code
        ]
        if refusals:
            why = f"a record sent with acks=0 could not be appended ({', '.join(refusals)})"
            broker.outbox.hang_up(request, why)
        broker.outbox.reply(request, None)
    elif body.acks == 1 or not waiting:
        broker.outbox.reply(request, produce_answer(hosted, request, answer))
    else:
        delayed = DelayedProduce(hosted, broker.outbox, request, answer, waiting)
        keys = tuple(pending.key for pending, _ in waiting)
        broker.replicas.purgatory.try_or_wait(now, delayed, keys, body.timeout_ms)


def _by_topic(hosted: HostedPartitions, body: m.ProduceRequest) -> Batches:
    """The records by topic and partition; of a partition that is named twice, the last."""
    found: Batches = {}
    for topic in body.topic_data:
        name = topic.name or hosted.topic_name(topic.topic_id)
        for asked in topic.partition_data:
            found.setdefault((name, topic.topic_id), {})[asked.index] = asked.records or b""
    return found


def _append(
    broker: Broker, now: int, request: Request, key: Key, records: bytes, guard: int | None
) -> tuple[Part, PendingAppend | None]:
    """Appends one partition's batch: its part of the answer, and what acks=all waits for."""
    hosted, log_start_offset = broker.replicas.hosted, -1
    try:
        _check(request, hosted, key, records)
        partition = hosted.leading(*key)
        log_start_offset = partition.log.log_start_offset
        if past.KIP_360 in broker.before:
            past.refuse_unknown_producer(partition.log, records)
        if transactions.are_verified(broker, request.body):
            guard = guard or NO_GUARD
        info = partition.append_as_leader(now, records, request.body.acks, guard=guard)
    except KafkaError as error:
        return refusal(key, error, log_start_offset), None
    part = Part(
        index=key[1],
        base_offset=info.base_offset,
        log_append_time_ms=info.log_append_time_ms,
        log_start_offset=partition.log.log_start_offset,
    )
    return part, PendingAppend(key, info.last_offset + 1)


def _check(request: Request, hosted: HostedPartitions, key: Key, records: bytes) -> None:
    """What is refused before any log is asked."""
    body: m.ProduceRequest = request.body
    if not key[0] and request.version >= FIRST_VERSION_WITH_TOPIC_IDS:
        raise KafkaError(Errors.UNKNOWN_TOPIC_ID)
    if key not in hosted.partitions and hosted.leader_of(*key) is None:
        raise KafkaError(Errors.UNKNOWN_TOPIC_OR_PARTITION)
    header = one_batch(records)
    if header.compression == ZSTD and request.version < FIRST_VERSION_WITH_ZSTD:
        raise KafkaError(Errors.UNSUPPORTED_COMPRESSION_TYPE)
    if body.acks not in VALID_ACKS:
        raise KafkaError(Errors.INVALID_REQUIRED_ACKS)
    if key[0] in INTERNAL and request.client_id != ADMIN_CLIENT_ID:
        raise KafkaError(Errors.INVALID_TOPIC_EXCEPTION)
