"""DescribeQuorum: the voters and the brokers, each with how far it has got (KIP-836)."""

from __future__ import annotations

from collections.abc import Mapping

from engine.metadata.records import METADATA_TOPIC
from engine.quorum.replica import Replica
from engine.quorum.voter_progress import Reader, VoterProgress
from engine.wire import messages as m
from engine.wire.errors import Errors

LISTENER = "CONTROLLER"


def describe(
    replica: Replica,
    now: int,
    body: m.DescribeQuorumRequest,
    addresses: Mapping[int, tuple[str, int]],
) -> m.DescribeQuorumResponse:
    """The leader's answer; of any other voter, NOT_LEADER_OR_FOLLOWER.

    `addresses`: where voters can be reached, as far as that is known.
    """
    response = m.DescribeQuorumResponse
    rows = [
        (each.topic_name, part.partition_index) for each in body.topics for part in each.partitions
    ]
    if rows != [(METADATA_TOPIC, 0)]:
        text = "There is a quorum for the metadata log only."
        return _refused(body, Errors.UNKNOWN_TOPIC_OR_PARTITION, text)
    if replica.progress is None:
        return _refused(body, Errors.NOT_LEADER_OR_FOLLOWER, "Another controller leads the quorum.")
    answer = response(
        topics=[
            response.TopicData(
                topic_name=topic.topic_name,
                partitions=[_partition(replica, replica.progress, now) for _ in topic.partitions],
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


def _refused(body: m.DescribeQuorumRequest, error: Errors, text: str) -> m.DescribeQuorumResponse:
    response = m.DescribeQuorumResponse
    topics = [
        response.TopicData(
            topic.topic_name,
            [
                response.PartitionData(part.partition_index, error, text)
                for part in topic.partitions
            ],
        )
        for topic in body.topics
    ]
    return response(topics=topics)


def _partition(
    replica: Replica, progress: VoterProgress, now: int
) -> m.DescribeQuorumResponse.PartitionData:
    answer = m.DescribeQuorumResponse.PartitionData()
    answer.leader_id = replica.state.leader
    answer.leader_epoch = replica.state.epoch
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
