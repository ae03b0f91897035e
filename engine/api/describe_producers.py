"""DescribeProducers (key 61): which producers a partition remembers (KIP-664).

Any replica answers, for each remembers what it has replicated; a tool that searches one broker for
hanging transactions asks it about all that it hosts.  `last_sequence` is what the next batch of an
idempotent producer must follow; `current_txn_start_offset` other than -1 is an open transaction,
and one that never closes is what this API was made to find.
"""

from __future__ import annotations

from engine.broker.broker import Broker
from engine.events import Request
from engine.metadata.topic_names import problem_with
from engine.wire import messages as m
from engine.wire.errors import Errors, KafkaError

Response = m.DescribeProducersResponse


def handle(broker: Broker, now: int, request: Request[m.DescribeProducersRequest]) -> None:
    answer = Response()
    for topic in request.body.topics:
        partitions = [_partition(broker, topic.name, i) for i in topic.partition_indexes]
        answer.topics.append(Response.TopicResponse(name=topic.name, partitions=partitions))
    broker.outbox.reply(request, answer)


def refuse(
    request: Request[m.DescribeProducersRequest], code: Errors, message: str | None
) -> m.DescribeProducersResponse:
    return Response(
        topics=[
            Response.TopicResponse(
                name=topic.name,
                partitions=[
                    Response.PartitionResponse(
                        partition_index=index, error_code=code, error_message=message
                    )
                    for index in topic.partition_indexes
                ],
            )
            for topic in request.body.topics
        ]
    )


def _partition(broker: Broker, topic: str, index: int) -> Response.PartitionResponse:
    answer = Response.PartitionResponse(partition_index=index)
    try:
        problem = problem_with(topic)
        if problem:
            raise KafkaError(Errors.INVALID_TOPIC_EXCEPTION, problem)
        if broker.metadata.topic(topic) is None:
            raise KafkaError(Errors.UNKNOWN_TOPIC_OR_PARTITION, f"There is no topic {topic}.")
        producers = broker.replicas.hosted.serving(topic, index).log.producers
    except KafkaError as error:
        answer.error_code, answer.error_message = error.code, error.text
        return answer
    answer.active_producers = [
        Response.ProducerState(
            producer_id=producer_id,
            producer_epoch=state.epoch,
            last_sequence=state.last_sequence,
            last_timestamp=state.last_timestamp,
            coordinator_epoch=state.coordinator_epoch,
            current_txn_start_offset=state.transaction_start,
        )
        for producer_id, state in sorted(producers)
    ]
    return answer
