"""DescribeTopicPartitions (key 75): Metadata for tools, in pages, with the eligible leaders.

Metadata answers with all partitions at once, which for a topic of 100,000 partitions is a
problem, and it has no room for what KIP-966 added.  Here topics come in the order of their
names, at most `response_partition_limit` partitions (and never more than
`max.request.partition.size.limit`) at a time; the cursor in the answer says where the next
request should go on.

    limit 3:  orders-0 orders-1 payments-0 | cursor (payments, 1)

Simplified: a cursor near the largest int makes Kafka's own sum overflow, and a topic without a name
is an unknown server error to Kafka; here the first ends the list and the second is illegal.

Left out: authorisation.
"""

from __future__ import annotations

from engine.api.metadata import live_brokers
from engine.api.operations import TOPIC_OPERATIONS
from engine.broker.broker import Broker
from engine.events import Request
from engine.metadata.image import PartitionImage
from engine.metadata.topic_names import INTERNAL, problem_with
from engine.wire import messages as m
from engine.wire.errors import Errors, KafkaError

Response = m.DescribeTopicPartitionsResponse
Topic = Response.DescribeTopicPartitionsResponseTopic
Partition = Response.DescribeTopicPartitionsResponsePartition
Cursor = m.DescribeTopicPartitionsRequest.Cursor


def handle(broker: Broker, now: int, request: Request[m.DescribeTopicPartitionsRequest]) -> None:
    body, image = request.body, broker.metadata
    names = sorted(image.topic_ids) if not body.topics else sorted({t.name for t in body.topics})
    start = _start(body.cursor, names, asked_for_all=not body.topics)
    limit = broker.settings["max.request.partition.size.limit"]
    remaining = max(min(limit, body.response_partition_limit), 1)
    answer = Response()
    for name in names:
        if name < start[0]:
            continue
        if not remaining:
            answer.next_cursor = Response.Cursor(topic_name=name, partition_index=0)
            break
        topic = image.topic(name)
        if topic is None:
            answer.topics.append(_missing(name))
            continue
        first = start[1] if name == start[0] else 0
        end = min(len(topic.partitions), first + remaining)
        alive = live_brokers(image)
        answer.topics.append(
            Topic(
                name=name,
                topic_id=topic.id,
                is_internal=name in INTERNAL,
                partitions=[_partition(i, topic.partitions[i], alive) for i in range(first, end)],
                topic_authorized_operations=TOPIC_OPERATIONS,
            )
        )
        if end < len(topic.partitions):
            answer.next_cursor = Response.Cursor(topic_name=name, partition_index=end)
            break
        remaining -= max(end - first, 0)
    broker.outbox.reply(request, answer)


def refuse(
    request: Request[m.DescribeTopicPartitionsRequest], code: Errors, message: str | None
) -> m.DescribeTopicPartitionsResponse:
    return Response(
        topics=[Topic(error_code=code, name=topic.name) for topic in request.body.topics]
    )


def _start(cursor: Cursor | None, names: list[str], asked_for_all: bool) -> tuple[str, int]:
    """The topic and the partition to begin with."""
    if cursor is None:
        return "", 0
    if not asked_for_all and cursor.topic_name not in names:
        raise KafkaError(
            Errors.INVALID_REQUEST, f"The cursor's topic {cursor.topic_name} is not asked for."
        )
    if cursor.partition_index < 0:
        raise KafkaError(Errors.INVALID_REQUEST, "The cursor's partition is below 0.")
    return cursor.topic_name, cursor.partition_index


def _missing(name: str) -> Topic:
    illegal = problem_with(name) is not None
    return Topic(
        error_code=Errors.INVALID_TOPIC_EXCEPTION if illegal else Errors.UNKNOWN_TOPIC_OR_PARTITION,
        name=name,
        is_internal=name in INTERNAL,
        topic_authorized_operations=TOPIC_OPERATIONS,
    )


def _partition(index: int, image: PartitionImage, alive: frozenset[int]) -> Partition:
    return Partition(
        partition_index=index,
        leader_id=image.leader,
        leader_epoch=image.leader_epoch,
        replica_nodes=image.replicas,
        isr_nodes=image.isr,
        eligible_leader_replicas=image.elr,
        last_known_elr=image.last_known_elr,
        offline_replicas=[r for r in image.replicas if r not in alive],
    )
