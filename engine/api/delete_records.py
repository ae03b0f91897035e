"""DeleteRecords (key 21): forget everything below an offset (KIP-107).

The leader moves its log start; followers learn it with their next fetch.  -1 means up
to the high watermark.

Left out: waiting until every follower has moved its log start as well (Kafka answers
only then); a compact-only topic is refused with POLICY_VIOLATION, as in Kafka.
"""

from __future__ import annotations

from engine.broker.broker import Broker
from engine.events import Request
from engine.metadata.topic_names import INTERNAL
from engine.wire import messages as m
from engine.wire.errors import Errors, KafkaError

UP_TO_HIGH_WATERMARK = -1
Asked = m.DeleteRecordsRequest.DeleteRecordsPartition
Result = m.DeleteRecordsResponse.DeleteRecordsPartitionResult


def handle(broker: Broker, now: int, request: Request[m.DeleteRecordsRequest]) -> None:
    response = m.DeleteRecordsResponse
    answer = response()
    asked = {
        (t.name, each.partition_index): each for t in request.body.topics for each in t.partitions
    }
    topics: dict[str, m.DeleteRecordsResponse.DeleteRecordsTopicResult] = {}
    for (name, _), each in asked.items():
        topic = topics.setdefault(name, response.DeleteRecordsTopicResult(name=name))
        topic.partitions.append(_delete(broker, name, each))
    answer.topics = list(topics.values())
    broker.outbox.reply(request, answer)


def _delete(broker: Broker, topic: str, asked: Asked) -> Result:
    answer = Result(partition_index=asked.partition_index, low_watermark=-1)
    try:
        if topic in INTERNAL:
            raise KafkaError(Errors.INVALID_TOPIC_EXCEPTION)
        partition = broker.replicas.hosted.leading(topic, asked.partition_index)
        if not partition.log.config.is_deleted:
            raise KafkaError(Errors.POLICY_VIOLATION)
        offset = asked.offset
        if offset == UP_TO_HIGH_WATERMARK:
            offset = partition.high_watermark
        if not 0 <= offset <= partition.high_watermark:
            raise KafkaError(Errors.OFFSET_OUT_OF_RANGE)
        rule = "api.delete_records._delete"
        broker.outbox.trace(rule, "deleted", partition.name, "a client asks", to=offset)
        partition.advance_log_start(offset)
        answer.low_watermark = partition.log.log_start_offset
    except KafkaError as problem:
        answer.error_code = problem.code
    return answer
