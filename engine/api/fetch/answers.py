"""The FetchResponse: what each partition has, and which part of it an answer carries."""

from __future__ import annotations

from engine.replication.fetch_sessions import FetchContext, FetchedPartition
from engine.replication.hosted import HostedPartitions
from engine.replication.reading import (
    FIRST_VERSION_WITH_TOPIC_IDS,
    FetchTerms,
    has_news,
    read,
)
from engine.wire import messages as m
from engine.wire.errors import Errors, KafkaError

FIRST_VERSION_THAT_NAMES_THE_LEADER = 16
_UNKNOWN = (Errors.UNKNOWN_TOPIC_ID, Errors.UNKNOWN_TOPIC_OR_PARTITION)
"""Refusals for which no log is asked; their list of aborted transactions is empty, not null."""
Data = m.FetchResponse.PartitionData
Found = list[tuple[FetchedPartition, Data | None]]
"""What was found, in the order in which it was asked for; None where there is no news."""


def read_all(hosted: HostedPartitions, terms: FetchTerms, context: FetchContext) -> Found:
    """Reads every partition of a request; of a session, those that are due.

    The first partition with data gives at least one batch even if it is larger than
    asked for, or a consumer would be stuck before it (KIP-74).
    """
    found: Found = []
    total = 0
    for asked in context.partitions:
        if context.session is not None and not has_news(hosted, terms, asked):
            found.append((asked, None))
            continue
        try:
            budget = max(0, terms.max_bytes - total) if total else terms.max_bytes
            data = read(hosted, terms, asked, budget, total == 0)
            total += len(data.records or b"")
        except KafkaError as error:
            data = refusal(hosted, terms, asked, error)
        found.append((asked, data))
    return found


def segment_with(hosted: HostedPartitions, asked: FetchedPartition, offset: int) -> int:
    """The base offset of the segment that holds an offset of a partition that is here."""
    log = hosted.partitions[asked.topic, asked.index].log
    return log.segments.from_offset(offset)[0].base_offset


def refusal(
    hosted: HostedPartitions, terms: FetchTerms, asked: FetchedPartition, error: KafkaError
) -> Data:
    """Why a partition is not read, and its leader, so that the client need not ask (KIP-951)."""
    data = Data(
        partition_index=asked.index,
        error_code=error.code,
        high_watermark=-1,
        aborted_transactions=[] if error.code in _UNKNOWN else None,
        records=b"",
    )
    may_name = terms.version >= FIRST_VERSION_THAT_NAMES_THE_LEADER
    if may_name and error.code in (Errors.NOT_LEADER_OR_FOLLOWER, Errors.FENCED_LEADER_EPOCH):
        leader = hosted.leader_of(asked.topic, asked.index)
        if leader is not None:
            data.current_leader = m.FetchResponse.LeaderIdAndEpoch(
                leader_id=leader[0], leader_epoch=leader[1]
            )
    return data


def is_known(data: Data | None) -> bool:
    """Whether the metadata knows the partition; one that it does not is no reason to hurry."""
    return data is None or data.error_code not in _UNKNOWN


def is_due(terms: FetchTerms, found: Found) -> bool:
    """Whether to answer at once: enough bytes are there, or there is something else to tell."""
    parts = [data for _, data in found if data is not None and is_known(data)]
    if any(
        data.error_code or data.diverging_epoch is not None or data.preferred_read_replica != -1
        for data in parts
    ):
        return True
    return sum(len(data.records or b"") for data in parts) >= terms.min_bytes


def fetch_answer(
    hosted: HostedPartitions, terms: FetchTerms, context: FetchContext, found: Found
) -> m.FetchResponse:
    """The FetchResponse; in an incremental session only what is news."""
    topics: dict[bytes | str, m.FetchResponse.FetchableTopicResponse] = {}
    leaders = []
    for asked, data in found:
        if data is None:
            continue
        news = asked.has_news(data)
        if data.current_leader is not None:
            leaders.append(data.current_leader.leader_id)
        if context.session is not None:
            if not news:
                continue
            if data.records:
                context.session.served(asked)
        by_id = terms.version >= FIRST_VERSION_WITH_TOPIC_IDS
        key = asked.topic_id if by_id else asked.topic
        topic = topics.get(key)
        if topic is None:
            topic = topics[key] = m.FetchResponse.FetchableTopicResponse(
                topic=asked.topic, topic_id=asked.topic_id
            )
        topic.partitions.append(data)
    answer = m.FetchResponse(session_id=context.session_id, responses=list(topics.values()))
    if terms.version >= FIRST_VERSION_THAT_NAMES_THE_LEADER:
        answer.node_endpoints = hosted.endpoints(m.FetchResponse.NodeEndpoint, leaders)
    return answer
