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

from typing import TYPE_CHECKING, Any

from engine import past
from engine.events import Request
from engine.metadata.topic_names import INTERNAL
from engine.replication.delayed import DelayedProduce, Pending, produce_answer
from engine.replication.purgatory import Key
from engine.wire import messages as m
from engine.wire.errors import Errors, KafkaError

if TYPE_CHECKING:
    from engine.broker.broker import Broker

VALID_ACKS = (-1, 0, 1)


def handle(broker: Broker, now: int, request: Request) -> None:
    body = request.body
    answer = m.ProduceResponse()
    answers: dict[Key, Any] = {}
    pending: dict[Key, Pending] = {}
    for topic in body.topic_data:
        name = topic.name or broker.replicas.topic_name(topic.topic_id)
        topic_answer = m.ProduceResponse.TopicProduceResponse(name=name, topic_id=topic.topic_id)
        answer.responses.append(topic_answer)
        for part in topic.partition_data:
            key = (name, part.index)
            answers[key] = _append(broker, now, request, key, part.records, pending)
            topic_answer.partition_responses.append(answers[key])
    for key in answers:
        partition = broker.replicas.partitions.get(key)
        if partition is not None:
            broker.replicas.moved(now, partition)
    if body.acks == 0:
        if any(each.error_code for each in answers.values()):
            broker.outbox.hang_up(request)
        broker.outbox.reply(request, None)
    elif body.acks == 1 or not pending:
        broker.outbox.reply(request, produce_answer(broker.replicas, request, answer))
    else:
        waiting = DelayedProduce(request, answer, pending, answers)
        if not waiting.try_complete(broker.replicas, now):
            deadline = now + body.timeout_ms * 1000
            broker.replicas.purgatory.wait(waiting, tuple(pending), deadline)


def _append(
    broker: Broker, now: int, request: Request, key: Key, records: Any, pending: dict[Key, Pending]
) -> Any:
    """Appends one partition's batch; what must wait for replication goes into `pending`."""
    answer = m.ProduceResponse.PartitionProduceResponse(index=key[1], base_offset=-1)
    acks = request.body.acks
    try:
        if acks not in VALID_ACKS:
            raise KafkaError(Errors.INVALID_REQUIRED_ACKS, f"acks={acks} is none of -1, 0, 1")
        if not key[0]:
            raise KafkaError(Errors.UNKNOWN_TOPIC_ID)
        if key[0] in INTERNAL:
            raise KafkaError(Errors.INVALID_TOPIC_EXCEPTION, f"{key[0]} is Kafka's own topic")
        partition = broker.replicas.leading(*key)
        if past.KIP_360 in broker.before:
            answer.log_start_offset = partition.log.log_start_offset
            past.refuse_unknown_producer(partition.log, records or b"")
        info = partition.append_as_leader(now, records or b"", acks)
    except KafkaError as error:
        answer.error_code = error.code
        answer.error_message = error.message or None
        return answer
    answer.base_offset = info.base_offset
    answer.log_append_time_ms = info.log_append_time_ms
    answer.log_start_offset = partition.log.log_start_offset
    pending[key] = Pending(partition.leader_epoch, info.last_offset + 1, info.base_offset)
    return answer
