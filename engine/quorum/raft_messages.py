"""The requests and answers among voters, for the one partition that they are about.

Kafka's messages can speak of many topics.  Of the metadata log there is one, with one partition; a
request that names anything else is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engine.metadata.records import METADATA_TOPIC, METADATA_TOPIC_ID
from engine.quorum.election_state import ElectionState
from engine.quorum.voters import ReplicaKey, Voter
from engine.wire import messages as m
from engine.wire.errors import Errors
from engine.wire.structures import Message, RequestMessage

# -- requests


def vote(
    cluster_id: str,
    voter: ReplicaKey,
    epoch: int,
    replica: ReplicaKey,
    last: tuple[int, int],
    pre_vote: bool,
) -> m.VoteRequest:
    """`last`: (epoch, offset) at which the asking replica's log ends."""
    request = m.VoteRequest
    part = request.PartitionData(
        replica_epoch=epoch,
        replica_id=replica.id,
        replica_directory_id=replica.directory,
        voter_directory_id=voter.directory,
        last_offset_epoch=last[0],
        last_offset=last[1],
        pre_vote=pre_vote,
    )
    return request(cluster_id, voter.id, [request.TopicData(METADATA_TOPIC, [part])])


def begin_epoch(
    cluster_id: str, voter: ReplicaKey, epoch: int, leader: int
) -> m.BeginQuorumEpochRequest:
    request = m.BeginQuorumEpochRequest
    part = request.PartitionData(
        voter_directory_id=voter.directory, leader_id=leader, leader_epoch=epoch
    )
    return request(cluster_id, voter.id, [request.TopicData(METADATA_TOPIC, [part])])


def end_epoch(
    cluster_id: str, epoch: int, leader: int, successors: Sequence[ReplicaKey]
) -> m.EndQuorumEpochRequest:
    request = m.EndQuorumEpochRequest
    part = request.PartitionData(
        leader_id=leader,
        leader_epoch=epoch,
        preferred_candidates=[request.ReplicaInfo(*each) for each in successors],
    )
    return request(cluster_id, [request.TopicData(METADATA_TOPIC, [part])])


def fetch(
    cluster_id: str,
    replica: ReplicaKey,
    epoch: int,
    last: tuple[int, int],
    high_watermark: int,
    max_wait_ms: int,
    max_bytes: int,
) -> m.FetchRequest:
    """What comes after `last`, the (epoch, offset) at which the replica's log ends."""
    request = m.FetchRequest
    part = request.FetchPartition(
        current_leader_epoch=epoch,
        fetch_offset=last[1],
        last_fetched_epoch=last[0],
        partition_max_bytes=max_bytes,
        replica_directory_id=replica.directory,
        high_watermark=high_watermark,
    )
    return request(
        cluster_id=cluster_id,
        replica_state=request.ReplicaState(replica_id=replica.id),
        max_wait_ms=max_wait_ms,
        max_bytes=max_bytes,
        topics=[request.FetchTopic(topic_id=METADATA_TOPIC_ID, partitions=[part])],
    )


def add_voter(
    cluster_id: str | None, voter: Voter, timeout_ms: int, *, when_committed: bool = True
) -> m.AddRaftVoterRequest:
    """`when_committed`: whether the answer waits for that."""
    request = m.AddRaftVoterRequest
    listeners = [request.Listener(*each) for each in voter.endpoints]
    return request(cluster_id, timeout_ms, *voter.key, listeners, when_committed)


def update_voter(cluster_id: str, epoch: int, voter: Voter) -> m.UpdateRaftVoterRequest:
    request = m.UpdateRaftVoterRequest
    return request(
        cluster_id,
        epoch,
        *voter.key,
        [request.Listener(*each) for each in voter.endpoints],
        request.KRaftVersionFeature(*voter.supported),
    )


def partition_of(body: RequestMessage[Message]) -> Any:
    """What the request asks of the metadata log; None if it is about anything else."""
    topics: Any = getattr(body, "topics", ())
    if len(topics) != 1 or len(topics[0].partitions) != 1:
        return None
    topic, part = topics[0], topics[0].partitions[0]
    if isinstance(body, m.FetchRequest):
        found = topic.topic_id == METADATA_TOPIC_ID and part.partition == 0
    elif isinstance(body, m.FetchSnapshotRequest):
        found = topic.name == METADATA_TOPIC and part.partition == 0
    else:
        found = topic.topic_name == METADATA_TOPIC and part.partition_index == 0
    return part if found else None


# -- answers


def answer(
    body: RequestMessage[Message],
    state: ElectionState,
    error: Errors = Errors.NONE,
    granted: bool = False,
) -> Message:
    """To Vote, BeginQuorumEpoch or EndQuorumEpoch; each says who leads, as far as is known."""
    match body:
        case m.VoteRequest():
            response: Any = m.VoteResponse
            part = response.PartitionData(vote_granted=granted)
        case m.BeginQuorumEpochRequest():
            response = m.BeginQuorumEpochResponse
            part = response.PartitionData()
        case _:
            response = m.EndQuorumEpochResponse
            part = response.PartitionData()
    part.error_code, part.leader_id, part.leader_epoch = error, state.leader, state.epoch
    found: Message = response(topics=[response.TopicData(METADATA_TOPIC, [part])])
    return found


def refusal(body: RequestMessage[Message], error: Errors) -> Message:
    """The whole request is refused: another cluster's, or about another log."""
    kinds: dict[type[Message], type[Any]] = {
        m.VoteRequest: m.VoteResponse,
        m.BeginQuorumEpochRequest: m.BeginQuorumEpochResponse,
        m.EndQuorumEpochRequest: m.EndQuorumEpochResponse,
        m.FetchRequest: m.FetchResponse,
        m.FetchSnapshotRequest: m.FetchSnapshotResponse,
    }
    found: Message = kinds[type(body)](error_code=error)
    return found


def answered_partition(body: Message | tuple[()] | None) -> Any:
    """(error, leader epoch, leader, partition) of an answer; None if it has no partition."""
    if not isinstance(body, Message):
        return None
    if isinstance(body, m.UpdateRaftVoterResponse):
        told = body.current_leader or body.CurrentLeader()
        return Errors(body.error_code), told.leader_epoch, told.leader_id, body
    rows: Any = getattr(body, "responses", None) or getattr(body, "topics", None)
    if not rows or not rows[0].partitions:
        return None
    part = rows[0].partitions[0]
    fetched = isinstance(body, m.FetchResponse | m.FetchSnapshotResponse)
    told = part.current_leader if fetched else part
    if told is None:
        return None
    return Errors(part.error_code), told.leader_epoch, told.leader_id, part
