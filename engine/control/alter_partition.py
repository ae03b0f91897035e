"""AlterPartition: a leader reports who is in sync with it (KIP-497).

Only the leader sees its followers' progress, only the controller may change the ISR; so
the leader proposes and the controller compares and sets.  Each check has a reader:

    leader epoch or partition epoch ahead of ours   NOT_CONTROLLER           we are behind
    leader epoch behind                             FENCED_LEADER_EPOCH      you were deposed
    not the leader                                  INVALID_REQUEST
    partition epoch behind                          INVALID_UPDATE_VERSION   look again
    a member fenced, leaving, unregistered, or
    of another incarnation                          INELIGIBLE_REPLICA       (KIP-841, KIP-903)

The last one closes a race: a follower dies and returns with an empty disk while the
leader still counts its old fetches; the broker epoch tells the two apart.
"""

from __future__ import annotations

from engine.control.partition_changes import Election, change_partition
from engine.control.state import ControlState, Decision
from engine.metadata.image import RECOVERED, RECOVERING, PartitionImage
from engine.wire import messages as m
from engine.wire.errors import Errors

Proposal = m.AlterPartitionRequest.PartitionData
_Member = tuple[int, int]
"""Broker id and the broker epoch that the leader saw, -1 if it does not say."""


def alter_partition(state: ControlState, body: m.AlterPartitionRequest) -> Decision:
    """Works a leader's proposals into the metadata log, partition by partition."""
    state.check_broker_epoch(body.broker_id, body.broker_epoch)
    answer = m.AlterPartitionResponse()
    decision = Decision(answer)
    for asked in body.topics:
        partitions = [
            _alter(state, decision, body.broker_id, asked.topic_id, each)
            for each in asked.partitions
        ]
        answer.topics.append(answer.TopicData(topic_id=asked.topic_id, partitions=partitions))
    return decision


def _alter(
    state: ControlState, decision: Decision, broker_id: int, topic_id: bytes, asked: Proposal
) -> m.AlterPartitionResponse.PartitionData:
    answer = m.AlterPartitionResponse.PartitionData(partition_index=asked.partition_index)
    topic = state.image.topics.get(topic_id)
    if topic is None:
        answer.error_code = Errors.UNKNOWN_TOPIC_ID
        return answer
    partition = topic.partitions.get(asked.partition_index)
    members = _members(asked)
    answer.error_code = _refusal(state, broker_id, partition, asked, members)
    if answer.error_code or partition is None:
        return answer
    change = change_partition(
        partition,
        topic_id,
        asked.partition_index,
        state.rules(topic.name),
        isr=tuple(member for member, _ in members),
        election=Election.UNCLEAN if state.unclean_allowed(topic.name) else Election.ONLINE,
        recovery_state=asked.leader_recovery_state,
    )
    if change is not None:
        decision.change(topic.name, asked.partition_index, change, "the leader changed the ISR")
        partition = change.after
        if partition.leader != broker_id:
            answer.error_code = Errors.NEW_LEADER_ELECTED
            return answer
    answer.leader_id = partition.leader
    answer.leader_epoch = partition.leader_epoch
    answer.isr = list(partition.isr)
    answer.leader_recovery_state = partition.leader_recovery_state
    answer.partition_epoch = partition.partition_epoch
    return answer


def _members(asked: Proposal) -> list[_Member]:
    """The proposed ISR; up to version 2 it comes without epochs."""
    if asked.new_isr_with_epochs:
        return [(each.broker_id, each.broker_epoch) for each in asked.new_isr_with_epochs]
    return [(broker_id, -1) for broker_id in asked.new_isr]


def _refusal(
    state: ControlState,
    broker_id: int,
    partition: PartitionImage | None,
    asked: Proposal,
    members: list[_Member],
) -> Errors:
    """Why the proposal cannot be taken; NONE if it can."""
    if partition is None:
        return Errors.UNKNOWN_TOPIC_OR_PARTITION
    if asked.leader_epoch > partition.leader_epoch:
        return Errors.NOT_CONTROLLER
    if asked.partition_epoch > partition.partition_epoch:
        return Errors.NOT_CONTROLLER
    if asked.leader_epoch < partition.leader_epoch:
        return Errors.FENCED_LEADER_EPOCH
    if broker_id != partition.leader:
        return Errors.INVALID_REQUEST
    if asked.partition_epoch < partition.partition_epoch:
        return Errors.INVALID_UPDATE_VERSION
    isr = [member for member, _ in members]
    replicas_once = len(set(isr)) == len(isr) and all(each in partition.replicas for each in isr)
    if not replicas_once or partition.leader not in isr:
        return Errors.INVALID_REQUEST
    recovering = asked.leader_recovery_state == RECOVERING
    if recovering and (len(isr) > 1 or partition.leader_recovery_state == RECOVERED):
        return Errors.INVALID_REQUEST
    if not all(_is_eligible(state, *member) for member in members):
        return Errors.INELIGIBLE_REPLICA
    return Errors.NONE


def _is_eligible(state: ControlState, broker_id: int, epoch: int) -> bool:
    return state.is_active(broker_id) and epoch in (-1, state.image.brokers[broker_id].epoch)
