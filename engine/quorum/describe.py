"""DescribeQuorum: the voters and the brokers, each with how far it has got (KIP-836)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from engine.metadata.records import METADATA_TOPIC
from engine.quorum.replica import Replica
from engine.quorum.voter_progress import Reader, VoterProgress
from engine.quorum.voters import LISTENER, Endpoint, ReplicaKey, Voter
from engine.wire import messages as m
from engine.wire.errors import Errors


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
        response.Node(voter.key.id, [response.Listener(*at) for at in _endpoints(voter, addresses)])
        for voter in replica.state.history.voters.voters
    ]
    return answer


def _endpoints(voter: Voter, addresses: Mapping[int, tuple[str, int]]) -> Sequence[Endpoint]:
    """Those in the log of the voters; if these are fixed, what has been registered."""
    if voter.endpoints or voter.key.id not in addresses:
        return voter.endpoints
    return [Endpoint(LISTENER, *addresses[voter.key.id])]


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
    voters, observers = {**progress.voters, replica.node_id: leader}, dict(progress.observers)
    if not progress.counts_itself:
        observers[progress.leader] = leader
    answer.current_voters = [
        _row(each, voters[each.id]) for each in replica.state.history.voters.keys
    ]
    answer.observers = [_row(*each) for each in sorted(observers.items())]
    return answer


def _row(reader: ReplicaKey, seen: Reader) -> m.DescribeQuorumResponse.ReplicaState:
    return m.DescribeQuorumResponse.ReplicaState(
        replica_id=reader.id,
        replica_directory_id=reader.directory,
        log_end_offset=seen.offset,
        last_fetch_timestamp=max(seen.fetched_at // 1000, -1),
        last_caught_up_timestamp=max(seen.caught_up_at // 1000, -1),
    )
