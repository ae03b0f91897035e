"""The ProduceResponse, partition by partition."""

from __future__ import annotations

from engine.events import Request
from engine.replication.hosted import HostedPartitions, Key
from engine.storage.log_validator import InvalidRecords
from engine.wire import messages as m
from engine.wire.errors import Errors, KafkaError

FIRST_VERSION_THAT_NAMES_THE_LEADER = 10
Part = m.ProduceResponse.PartitionProduceResponse
_WITHOUT_LOG_START = (
    Errors.MESSAGE_TOO_LARGE,
    Errors.RECORD_LIST_TOO_LARGE,
    Errors.CORRUPT_MESSAGE,
    Errors.KAFKA_STORAGE_ERROR,
)
"""Refusals of a log that do not say where it starts."""


class Unverified(KafkaError):
    """A batch whose transaction its coordinator did not confirm; its text goes to the producer."""


def refusal(key: Key, error: KafkaError, log_start_offset: int = -1) -> Part:
    """A partition's part when nothing was appended.

    `log_start_offset` is -1 where no log was asked.  Where single records are at fault, the part
    also names them and says why (KIP-467).  Other refusals have no text.
    """
    part = Part(index=key[1], error_code=error.code, base_offset=-1, error_message=None)
    if error.code not in _WITHOUT_LOG_START:
        part.log_start_offset = log_start_offset
    if isinstance(error, (Unverified, InvalidRecords)):
        part.error_message = error.message
    if isinstance(error, InvalidRecords):
        part.record_errors = [
            m.ProduceResponse.BatchIndexAndErrorMessage(
                batch_index=index, batch_index_error_message=what
            )
            for index, what in error.record_errors
        ]
    return part


def produce_answer(
    hosted: HostedPartitions, request: Request[m.ProduceRequest], answer: m.ProduceResponse
) -> m.ProduceResponse:
    """The answer, completed: it names the leaders of partitions not led here (KIP-951)."""
    if request.version < FIRST_VERSION_THAT_NAMES_THE_LEADER:
        return answer
    leaders = []
    for topic in answer.responses:
        for part in topic.partition_responses:
            if part.error_code == Errors.NOT_LEADER_OR_FOLLOWER:
                leader = hosted.leader_of(topic.name, part.index)
                if leader is not None:
                    part.current_leader = m.ProduceResponse.LeaderIdAndEpoch(
                        leader_id=leader[0], leader_epoch=leader[1]
                    )
                    leaders.append(leader[0])
    answer.node_endpoints = hosted.endpoints(m.ProduceResponse.NodeEndpoint, leaders)
    return answer
