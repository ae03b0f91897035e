"""TxnOffsetCommit (key 28): a producer commits a group's offsets in its transaction (KIP-98).

The offsets are records of `__consumer_offsets` in a transactional batch.  They are pending until
the transaction coordinator's marker comes: a commit makes them the group's offsets together with
what the transaction wrote elsewhere, an abort forgets both.  So a record that is read is counted
once, however often the application crashes.

    v2      the leader epoch of the committed position (KIP-320)
    v3      member, generation and instance: the group fences a zombie too (KIP-447)
    v4      TRANSACTION_ABORTABLE (KIP-890)
    v5      the partition joins the transaction with this request, without an AddOffsetsToTxn
            before it (KIP-890, transaction.version 2)

The rules for committers are in `engine.coordinators.classic.offset_rules`.

Left out: authorization.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.broker.broker import Broker
from engine.broker.transaction_verification import ADDS, REPORTS_ABORTABLE, VERIFIES
from engine.coordinators.classic.offset_rules import check_transactional_commit, committing
from engine.coordinators.consumer import offset_rules
from engine.coordinators.group_shard import GroupShard
from engine.coordinators.offsets import CommittedOffset, OffsetRecord, metadata_length
from engine.coordinators.offsets_topic import OFFSETS_TOPIC
from engine.coordinators.runtime.shard import Producer
from engine.coordinators.runtime.writes import append_answer
from engine.events import Outbox, Request
from engine.metadata.image import MetadataImage, TopicImage
from engine.storage.producer_states import NO_GUARD
from engine.wire import messages as m
from engine.wire.errors import Errors, KafkaError

Asked = m.TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic
Topic = m.TxnOffsetCommitResponse.TxnOffsetCommitResponseTopic
Row = m.TxnOffsetCommitResponse.TxnOffsetCommitResponsePartition

_LATEST = m.OffsetCommitRequest.LATEST
_FIRST_VERSION_THAT_KNOWS_LOADING = 2
_FIRST_VERSION_THAT_KNOWS_ABORTABLE, _FIRST_VERSION_THAT_ADDS = 4, 5


def handle(broker: Broker, now: int, request: Request[m.TxnOffsetCommitRequest]) -> None:
    body = request.body
    answer = Answer(broker.outbox, request, m.TxnOffsetCommitResponse(), [])
    records: list[OffsetRecord] = []
    metadata_max = broker.settings["offset.metadata.max.bytes"]
    for topic in filter(lambda each: each.partitions, body.topics):
        image = _find(broker.metadata, topic.name)
        rows = [Row(each.partition_index) for each in topic.partitions]
        answer.body.topics.append(Topic(topic.name, rows))
        for each, row in zip(topic.partitions, rows, strict=True):
            if image is None or each.partition_index not in image.partitions:
                row.error_code = Errors.UNKNOWN_TOPIC_OR_PARTITION
                continue
            answer.accepted.append(row)
            if metadata_length(each.committed_metadata) > metadata_max:
                row.error_code = Errors.OFFSET_METADATA_TOO_LARGE
                continue
            metadata = each.committed_metadata or ""
            committed = CommittedOffset(
                each.committed_offset, each.committed_leader_epoch, metadata, now // 1000,
                topic_id=image.id,
            )  # fmt: skip
            records.append(OffsetRecord(body.group_id, topic.name, each.partition_index, committed))
    if not answer.accepted:
        answer.stored(now, Errors.NONE)
        return
    if not body.group_id:
        answer.stored(now, Errors.INVALID_GROUP_ID)
        return
    shard, error = broker.groups.shard_of(body.group_id)
    if shard is not None:
        error = _check(broker, shard, body)
    if shard is None or error is not Errors.NONE:
        answer.stored(now, error)
        return
    if body.group_id not in shard.consumer.by_id:
        committing(shard.classic, now, body.group_id, "")
    _verify(broker, now, Storing(shard, request, records, answer))


def _verify(broker: Broker, now: int, storing: Storing) -> None:
    """Stores the offsets, after a question to the transaction's coordinator if need be."""
    request, log = storing.request, storing.shard.log
    body = request.body
    producer = (body.producer_id, body.producer_epoch)
    key = (OFFSETS_TOPIC, log.index)
    partition = broker.replicas.partitions.get(key)
    if not broker.settings["transaction.partition.verification.enable"] or partition is None:
        storing.store(now, None)
        return
    producers = partition.log.producers
    if producers.is_open(*producer):
        storing.store(now, NO_GUARD)
        return
    kind = VERIFIES
    if request.version >= _FIRST_VERSION_THAT_ADDS:
        kind = ADDS
    elif request.version >= _FIRST_VERSION_THAT_KNOWS_ABORTABLE:
        kind = REPORTS_ABORTABLE
    try:
        storing.guard = producers.guard(now // 1000, *producer, 0, kind == ADDS)
    except KafkaError as error:
        storing.answer.stored(now, append_answer(error.code))
        return
    broker.verification.ask(now, body.transactional_id, producer, [key], kind, storing)


def _check(broker: Broker, shard: GroupShard, body: m.TxnOffsetCommitRequest) -> Errors:
    """Whether the group lets this committer store offsets now."""
    group = shard.consumer.by_id.get(body.group_id)
    if group is None:
        return check_transactional_commit(
            shard.classic.by_id.get(body.group_id),
            body.member_id,
            body.group_instance_id,
            body.generation_id,
        )
    images = [(_find(broker.metadata, topic.name), topic) for topic in body.topics]
    partitions = [
        (image.id, each.partition_index)
        for image, topic in images
        if image is not None
        for each in topic.partitions
    ]
    error = offset_rules.check_commit(
        group, body.member_id, body.generation_id, _LATEST, partitions
    )
    return Errors.ILLEGAL_GENERATION if error is Errors.STALE_MEMBER_EPOCH else error


def _find(metadata: MetadataImage, name: str) -> TopicImage | None:
    topic_id = metadata.topic_ids.get(name)
    return None if topic_id is None else metadata.topics[topic_id]


@dataclass(slots=True, eq=False)
class Storing:
    """What is to be stored, perhaps once the coordinator has answered."""

    shard: GroupShard
    request: Request[m.TxnOffsetCommitRequest]
    records: list[OffsetRecord]
    answer: Answer
    guard: int = NO_GUARD

    def verified(self, now: int, errors: dict[tuple[str, int], Errors]) -> None:
        error = next(iter(errors.values()))
        if error is Errors.NONE:
            self.store(now, self.guard)
        elif error is Errors.NETWORK_EXCEPTION:
            self.answer.stored(now, Errors.COORDINATOR_LOAD_IN_PROGRESS)
        else:
            self.answer.stored(now, append_answer(error))

    def store(self, now: int, guard: int | None) -> None:
        body = self.request.body
        producer = Producer(body.producer_id, body.producer_epoch, guard)
        self.shard.log.store(now, self.records, self.answer, producer)


@dataclass(slots=True)
class Answer:
    """Goes out when the records are replicated; `accepted` rows share their fate."""

    outbox: Outbox
    request: Request[m.TxnOffsetCommitRequest]
    body: m.TxnOffsetCommitResponse
    accepted: list[Row]

    def stored(self, now: int, error: Errors) -> None:
        if (
            error is Errors.COORDINATOR_LOAD_IN_PROGRESS
            and self.request.version < _FIRST_VERSION_THAT_KNOWS_LOADING
        ):
            error = Errors.COORDINATOR_NOT_AVAILABLE
        if error is not Errors.NONE:
            for row in self.accepted:
                row.error_code = error
        self.outbox.reply(self.request, self.body)


def refuse(
    request: Request[m.TxnOffsetCommitRequest], code: Errors, message: str | None
) -> m.TxnOffsetCommitResponse:
    return m.TxnOffsetCommitResponse(
        topics=[
            Topic(topic.name, [Row(each.partition_index, code) for each in topic.partitions])
            for topic in request.body.topics
        ]
    )
