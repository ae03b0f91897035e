"""The quorum that keeps the metadata log: here one voter, which always leads.

Kafka elects one of several controllers by Raft (KIP-595).  This engine has one so far:
each start is a won election, and committed means flushed.  This module is where the
quorum will live; it already answers questions about it.
"""

from __future__ import annotations

from engine.control.metadata_fetches import MetadataFetches
from engine.control.metadata_log import MetadataLog
from engine.wire import messages as m
from engine.wire.errors import Errors

METADATA_TOPIC = "__cluster_metadata"


def describe(
    log: MetadataLog, fetches: MetadataFetches, now: int, body: m.DescribeQuorumRequest
) -> m.DescribeQuorumResponse:
    """DescribeQuorum: the voter, and the brokers as observers with what they have fetched."""
    response = m.DescribeQuorumResponse
    rows = [
        (each.topic_name, part.partition_index) for each in body.topics for part in each.partitions
    ]
    if rows != [(METADATA_TOPIC, 0)]:
        return _refused(body)
    answer = response(
        topics=[
            response.TopicData(
                topic_name=topic.topic_name,
                partitions=[_partition(log, fetches, now) for _ in topic.partitions],
            )
            for topic in body.topics
        ],
    )
    answer.nodes = [response.Node(node_id=fetches.node_id)]
    return answer


def _refused(body: m.DescribeQuorumRequest) -> m.DescribeQuorumResponse:
    """Refuses every row of a request for anything but that one partition."""
    response = m.DescribeQuorumResponse
    refused = Errors.UNKNOWN_TOPIC_OR_PARTITION, "There is a quorum for the metadata log only."
    topics = [
        response.TopicData(
            topic.topic_name,
            [response.PartitionData(each.partition_index, *refused) for each in topic.partitions],
        )
        for topic in body.topics
    ]
    return response(topics=topics)


def _partition(
    log: MetadataLog, fetches: MetadataFetches, now: int
) -> m.DescribeQuorumResponse.PartitionData:
    response = m.DescribeQuorumResponse
    answer = response.PartitionData()
    answer.leader_id = fetches.node_id
    answer.leader_epoch = log.epoch
    answer.high_watermark = log.high_watermark
    answer.current_voters = [
        response.ReplicaState(
            replica_id=fetches.node_id,
            log_end_offset=log.end_offset,
            last_fetch_timestamp=now // 1000,
            last_caught_up_timestamp=now // 1000,
        )
    ]
    answer.observers = [
        response.ReplicaState(
            replica_id=reader,
            log_end_offset=seen.offset,
            last_fetch_timestamp=seen.fetched_at // 1000,
            last_caught_up_timestamp=max(seen.caught_up_at // 1000, -1),
        )
        for reader, seen in sorted(fetches.observers.items())
    ]
    return answer
