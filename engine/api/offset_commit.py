"""OffsetCommit (key 8): a group stores how far it has read.

Topics and partitions that do not exist are refused one by one; the others are one batch of
records in `__consumer_offsets`, and the answer waits until it is replicated.  The rules
for committers are in `engine.coordinators.classic.offset_rules`.

    v2-4    a retention of its own for these offsets; -1 means the broker's
    v6      the leader epoch of the committed position (KIP-320)
    v7      group.instance.id (KIP-345)
    v9      an unknown group is GROUP_ID_NOT_FOUND, before it was ILLEGAL_GENERATION
    v10     topic ids instead of names (KIP-848)

In a group of the consumer protocol the generation is the member epoch; its rules are in
`engine.coordinators.consumer.offset_rules`.

Left out: authorization.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.broker.broker import Broker
from engine.coordinators.classic.offset_rules import check_commit, committing
from engine.coordinators.consumer import offset_rules
from engine.coordinators.group_shard import GroupShard
from engine.coordinators.offsets import CommittedOffset, OffsetRecord, metadata_length
from engine.events import Outbox, Request
from engine.metadata.image import TopicImage
from engine.wire import messages as m
from engine.wire.errors import Errors

CommitRow = m.OffsetCommitResponse.OffsetCommitResponsePartition

LATEST_MS = 2**63 - 1
DEFAULT_RETENTION = -1


def handle(broker: Broker, now: int, request: Request[m.OffsetCommitRequest]) -> None:
    body = request.body
    answer = m.OffsetCommitResponse()
    records: list[OffsetRecord] = []
    accepted: list[CommitRow] = []
    metadata_max = broker.settings["offset.metadata.max.bytes"]
    for topic in body.topics:
        if not topic.partitions:
            continue
        image, unknown = _find(broker, request.version, topic)
        answers = m.OffsetCommitResponse.OffsetCommitResponseTopic(
            name=topic.name, topic_id=topic.topic_id
        )
        answer.topics.append(answers)
        for each in topic.partitions:
            row = m.OffsetCommitResponse.OffsetCommitResponsePartition(each.partition_index)
            answers.partitions.append(row)
            if image is None or each.partition_index not in image.partitions:
                row.error_code = unknown
                continue
            accepted.append(row)
            if metadata_length(each.committed_metadata) > metadata_max:
                row.error_code = Errors.OFFSET_METADATA_TOO_LARGE
            else:
                records.append(_record(now, body, image, each))
    waiting = Answer(broker.outbox, request, answer, accepted)
    if not accepted:
        waiting.stored(now, Errors.NONE)
        return
    shard, error = broker.groups.shard_of(body.group_id)
    if shard is not None:
        error = _check(broker, shard, request)
    if shard is None or error is not Errors.NONE:
        waiting.stored(now, error)
        return
    if body.group_id not in shard.consumer.by_id:
        committing(shard.classic, now, body.group_id, body.member_id)
    shard.log.store(now, records, waiting)


def _check(broker: Broker, shard: GroupShard, request: Request[m.OffsetCommitRequest]) -> Errors:
    """Whether the group lets this committer store offsets now."""
    body = request.body
    epoch = body.generation_id_or_member_epoch
    group = shard.consumer.by_id.get(body.group_id)
    if group is None:
        return check_commit(
            shard.classic.by_id.get(body.group_id),
            body.member_id,
            body.group_instance_id,
            epoch,
            request.version,
        )
    images = [(_find(broker, request.version, topic)[0], topic) for topic in body.topics]
    partitions = [
        (image.id, each.partition_index)
        for image, topic in images
        if image is not None
        for each in topic.partitions
    ]
    return offset_rules.check_commit(group, body.member_id, epoch, request.version, partitions)


@dataclass(slots=True)
class Answer:
    """Goes out when the records are replicated; `accepted` rows share their fate."""

    outbox: Outbox
    request: Request[m.OffsetCommitRequest]
    body: m.OffsetCommitResponse
    accepted: list[CommitRow]

    def stored(self, now: int, error: Errors) -> None:
        if error is not Errors.NONE:
            for row in self.accepted:
                row.error_code = error
        self.outbox.reply(self.request, self.body)


def _find(
    broker: Broker, version: int, topic: m.OffsetCommitRequest.OffsetCommitRequestTopic
) -> tuple[TopicImage | None, Errors]:
    """The topic, or None; and the error for partitions that are not there."""
    metadata = broker.metadata
    if version >= 10:
        image = metadata.topics.get(topic.topic_id)
        if image is None:
            return None, Errors.UNKNOWN_TOPIC_ID
        return image, Errors.UNKNOWN_TOPIC_OR_PARTITION
    topic_id = metadata.topic_ids.get(topic.name)
    image = None if topic_id is None else metadata.topics[topic_id]
    return image, Errors.UNKNOWN_TOPIC_OR_PARTITION


def _record(
    now: int,
    body: m.OffsetCommitRequest,
    image: TopicImage,
    partition: m.OffsetCommitRequest.OffsetCommitRequestPartition,
) -> OffsetRecord:
    now_ms = now // 1000
    retention = body.retention_time_ms
    committed = CommittedOffset(
        partition.committed_offset,
        partition.committed_leader_epoch,
        partition.committed_metadata or "",
        now_ms,
        -1 if retention == DEFAULT_RETENTION else min(now_ms + retention, LATEST_MS),
        image.id,
    )
    return OffsetRecord(body.group_id, image.name, partition.partition_index, committed)
