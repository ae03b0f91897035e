"""OffsetDelete (key 47): remove a group's offsets for some partitions (KIP-496).

A topic that the group subscribes to is refused (GROUP_SUBSCRIBED_TO_TOPIC).  A group with
members that are not consumers is refused as a whole (NON_EMPTY_GROUP), because the broker
does not know what they read.  A partition without an offset is fine.  The answer waits
until the tombstones are replicated.  One version.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.broker.broker import Broker
from engine.coordinators.classic.group import Group
from engine.coordinators.classic.offset_rules import check_delete_offsets
from engine.coordinators.consumer.group import ConsumerGroup
from engine.coordinators.offsets import TopicPartition, tombstones
from engine.events import Outbox, Request
from engine.wire import messages as m
from engine.wire.errors import Errors


def handle(broker: Broker, now: int, request: Request[m.OffsetDeleteRequest]) -> None:
    body = request.body
    answer = Answer(broker.outbox, request, m.OffsetDeleteResponse())
    shard, error = broker.groups.shard_of(body.group_id)
    group = None if shard is None else shard.group(body.group_id)
    if not body.group_id:
        error = Errors.INVALID_GROUP_ID
    elif shard is not None:
        error = Errors.GROUP_ID_NOT_FOUND if group is None else _check(group)
    if shard is None or group is None or error is not Errors.NONE:
        answer.stored(now, error)
        return
    written = shard.written(group.id).places(group.id)
    removed: list[TopicPartition] = []
    for topic in filter(lambda each: each.partitions, body.topics):
        topic_id = broker.metadata.topic_ids.get(topic.name)
        existing = () if topic_id is None else broker.metadata.topics[topic_id].partitions
        answers = m.OffsetDeleteResponse.OffsetDeleteResponseTopic(name=topic.name)
        answer.body.topics.append(answers)
        for each in topic.partitions:
            index = each.partition_index
            row = m.OffsetDeleteResponse.OffsetDeleteResponsePartition(partition_index=index)
            answers.partitions.append(row)
            if index not in existing:
                row.error_code = Errors.UNKNOWN_TOPIC_OR_PARTITION
            elif group.is_subscribed(topic.name):
                row.error_code = Errors.GROUP_SUBSCRIBED_TO_TOPIC
            elif (topic.name, index) in written:
                removed.append((topic.name, index))
    shard.log.store(now, tombstones(group.id, removed), answer)


def _check(group: Group | ConsumerGroup) -> Errors:
    """What a consumer group reads is known, so its other topics may go at any time."""
    return Errors.NONE if isinstance(group, ConsumerGroup) else check_delete_offsets(group)


@dataclass(slots=True)
class Answer:
    """Goes out when the tombstones are replicated."""

    outbox: Outbox
    request: Request[m.OffsetDeleteRequest]
    body: m.OffsetDeleteResponse

    def stored(self, now: int, error: Errors) -> None:
        self.body.error_code = error
        self.outbox.reply(self.request, self.body)
