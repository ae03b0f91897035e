"""The operations that wait in purgatory: acks=all appends and long-polling fetches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from engine.events import Request, Token
from engine.replication.fetch_sessions import FetchContext, FetchedPartition
from engine.replication.partition import Partition
from engine.replication.purgatory import Key
from engine.replication.reading import FetchTerms, diverges, has_no_news, read, readable
from engine.wire import messages as m
from engine.wire.errors import Errors, KafkaError

if TYPE_CHECKING:
    from engine.replication.replica_manager import ReplicaManager

FIRST_VERSION_OF_PRODUCE_THAT_NAMES_THE_LEADER = 10


@dataclass(slots=True)
class Pending:
    """One partition of a waiting append: done once the high watermark reaches `required`."""

    leader_epoch: int
    required: int
    base_offset: int
    error: Errors = Errors.REQUEST_TIMED_OUT
    done: bool = False

    def judge(self, partition: Partition | None) -> bool:
        """Finds out whether the wait is over, and how it ended."""
        if self.done:
            return True
        if partition is None:
            self.error = Errors.UNKNOWN_TOPIC_OR_PARTITION
        elif not partition.is_leader or partition.leader_epoch != self.leader_epoch:
            self.error = Errors.NOT_LEADER_OR_FOLLOWER
        elif partition.high_watermark < self.required:
            return False
        elif len(partition.isr.maximal) < partition.min_in_sync_replicas:
            self.error = Errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND
        else:
            self.error = Errors.NONE
        self.done = True
        return True


@dataclass(slots=True)
class DelayedProduce:
    """A Produce request with acks=all; `answers` holds the partitions' parts of its `body`."""

    request: Request
    body: Any
    pending: dict[Key, Pending]
    answers: dict[Key, Any]

    def try_complete(self, replicas: ReplicaManager, now: int) -> bool:
        finished = True
        for key, each in self.pending.items():
            finished = each.judge(replicas.partitions.get(key)) and finished
        if finished:
            self.expire(replicas, now)
        return finished

    def expire(self, replicas: ReplicaManager, now: int) -> None:
        for key, each in self.pending.items():
            answer = self.answers[key]
            answer.error_code = each.error
            if each.error != Errors.NONE:
                answer.base_offset = -1
        replicas.outbox.reply(self.request, produce_answer(replicas, self.request, self.body))


def produce_answer(replicas: ReplicaManager, request: Request, body: Any) -> Any:
    """The ProduceResponse; it names the leader of what is not led here (KIP-951)."""
    if request.version < FIRST_VERSION_OF_PRODUCE_THAT_NAMES_THE_LEADER:
        return body
    for topic in body.responses:
        for answer in topic.partition_responses:
            if answer.error_code == Errors.NOT_LEADER_OR_FOLLOWER:
                answer.current_leader = _leader(replicas, topic.name, answer.index)
    body.node_endpoints = replicas.endpoints(
        m.ProduceResponse.NodeEndpoint,
        (each.current_leader for topic in body.responses for each in topic.partition_responses),
    )
    return body


def _leader(replicas: ReplicaManager, topic: str, index: int) -> Any:
    leader = replicas.leader_of(topic, index)
    if leader is None:
        return None
    return m.ProduceResponse.LeaderIdAndEpoch(leader_id=leader[0], leader_epoch=leader[1])


class Coordinator(Protocol):
    """A part of this broker that keeps its state in an internal topic."""

    def on_appended(self, now: int, token: Token, error: Errors, offset: int) -> None: ...

    def on_leader(self, now: int, partition_index: int) -> None: ...

    def on_resign(self, now: int, partition_index: int) -> None: ...


@dataclass(slots=True)
class DelayedAppend:
    """An append by a coordinator of this broker; `token` says who and what for."""

    token: Token
    key: Key
    pending: Pending

    def try_complete(self, replicas: ReplicaManager, now: int) -> bool:
        if not self.pending.judge(replicas.partitions.get(self.key)):
            return False
        self.expire(replicas, now)
        return True

    def expire(self, replicas: ReplicaManager, now: int) -> None:
        replicas.appended(now, self.token, self.pending.error, self.pending.base_offset)


@dataclass(slots=True)
class DelayedFetch:
    """A Fetch that waits for `min_bytes`.

    `segments` holds the base offset of the segment in which each partition's reader stood when
    it began to wait.  Only what lies in that segment is worth a wait: a reader who is left
    behind in an older one is answered with what it holds.
    """

    request: Request
    context: FetchContext
    terms: FetchTerms
    segments: tuple[int, ...]

    def try_complete(self, replicas: ReplicaManager, now: int) -> bool:
        available = 0
        for asked, segment in zip(self.context.partitions, self.segments, strict=True):
            try:
                available += self._available(replicas, asked, segment)
            except KafkaError:
                available = self.terms.min_bytes
            if available >= self.terms.min_bytes:
                self.expire(replicas, now)
                return True
        return False

    def _available(self, replicas: ReplicaManager, asked: FetchedPartition, segment: int) -> int:
        """Bytes to be had; enough for an answer if there is something else to say."""
        partition = readable(replicas, self.terms, asked)
        limit = self.terms.limit(partition)
        if asked.fetch_offset > limit or diverges(partition, asked) is not None:
            return self.terms.min_bytes
        if asked.fetch_offset == limit:
            return 0
        if self.terms.min_bytes <= 1 or segment_with(partition, limit - 1) > segment:
            return self.terms.min_bytes
        available = partition.log.bytes_between(asked.fetch_offset, limit)
        return min(available, asked.max_bytes)

    def expire(self, replicas: ReplicaManager, now: int) -> None:
        data, _ = read_all(replicas, now, self.terms, self.context, note_progress=False)
        replicas.outbox.reply(self.request, fetch_answer(replicas, self.context, self.terms, data))


def segment_with(partition: Partition, offset: int) -> int:
    """The base offset of the segment in which an offset lies."""
    return partition.log.segments.from_offset(offset)[0].base_offset


Answers = list[tuple[FetchedPartition, Any]]


def read_all(
    replicas: ReplicaManager,
    now: int,
    terms: FetchTerms,
    context: FetchContext,
    note_progress: bool,
) -> tuple[Answers, bool]:
    """Reads every partition of a request; also tells whether to answer at once.

    The first partition with data gives at least one batch even if it is larger than
    asked for, or a consumer would be stuck before it (KIP-74).
    """
    answers: Answers = []
    total, at_once = 0, False
    for asked in context.partitions:
        if context.session is not None and has_no_news(replicas, now, terms, asked, note_progress):
            continue
        data = read(replicas, now, terms, asked, terms.max_bytes - total, total == 0, note_progress)
        total += len(data.records)
        at_once = at_once or data.error_code != 0 or data.diverging_epoch is not None
        answers.append((asked, data))
    return answers, at_once or total >= terms.min_bytes


def fetch_answer(
    replicas: ReplicaManager, context: FetchContext, terms: FetchTerms, answers: Answers
) -> Any:
    """The FetchResponse; in an incremental session only what is news."""
    by_topic: dict[Any, Any] = {}
    for asked, data in answers:
        news = asked.has_news(data)
        if context.session is not None:
            if not news:
                continue
            if data.records:
                context.session.served(asked)
        key = asked.topic_id if terms.version >= 13 else asked.topic
        topic = by_topic.get(key)
        if topic is None:
            topic = by_topic[key] = m.FetchResponse.FetchableTopicResponse(
                topic=asked.topic, topic_id=asked.topic_id
            )
        topic.partitions.append(data)
    answer = m.FetchResponse(session_id=context.session_id, responses=list(by_topic.values()))
    if terms.version >= 16:
        answer.node_endpoints = replicas.endpoints(
            m.FetchResponse.NodeEndpoint, (data.current_leader for _, data in answers)
        )
    return answer
