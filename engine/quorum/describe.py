"""DescribeQuorum: the voters and the brokers, each with how far it has got (KIP-836)."""

from __future__ import annotations

from collections.abc import Mapping

from engine.metadata.records import METADATA_TOPIC
from engine.quorum.replica import Replica
from engine.quorum.voter_progress import Reader
from engine.wire import messages as m
from engine.wire.errors import Errors

LISTENER = "CONTROLLER"


def describe(
    replica: Replica,
    now: int,
    body: m.DescribeQuorumRequest,
    addresses: Mapping[int, tuple[str, int]],
) -> m.DescribeQuorumResponse:
    """The leader's answer; of any other voter, NOT_LEADER_OR_FOLLOWER with who leads.

    `addresses`: where voters can be reached, as far as that is known.
    """
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
                partitions=[_partition(replica, now) for _ in topic.partitions],
            )
            for topic in body.topics
        ],
    )
    answer.nodes = [
        response.Node(
            voter,
            [response.Listener(LISTENER, *addresses[voter])] if voter in addresses else [],
        )
        for voter in replica.state.voters
    ]
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


def _partition(replica: Replica, now: int) -> m.DescribeQuorumResponse.PartitionData:
    answer = m.DescribeQuorumResponse.PartitionData()
    answer.leader_id = replica.state.leader
    answer.leader_epoch = replica.state.epoch
    progress = replica.progress
    if progress is None:
        answer.error_code = Errors.NOT_LEADER_OR_FOLLOWER
        return answer
    answer.high_watermark = replica.log.high_watermark
    leader = Reader(replica.log.end_offset, now, now)
    voters = {**progress.voters, replica.node_id: leader}
    answer.current_voters = [_row(voter, voters[voter]) for voter in replica.state.voters]
    answer.observers = [_row(*each) for each in sorted(progress.observers.items())]
    return answer


def _row(reader: int, seen: Reader) -> m.DescribeQuorumResponse.ReplicaState:
    return m.DescribeQuorumResponse.ReplicaState(
        replica_id=reader,
        log_end_offset=seen.offset,
        last_fetch_timestamp=max(seen.fetched_at // 1000, -1),
        last_caught_up_timestamp=max(seen.caught_up_at // 1000, -1),
    )
