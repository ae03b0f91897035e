"""OffsetForLeaderEpoch (key 23): where does an epoch end with you?

The answer is the largest epoch that this replica holds up to the one asked for, and its
end offset (KIP-101, KIP-279).  Consumers use it after a leader change to find out
whether what they read was truncated meanwhile (KIP-320); followers did before the Fetch
answer itself said so.

Versions: 2+ leader epoch of the requester; 3+ replica id; 4+ flexible.
"""

from __future__ import annotations

from engine.broker.broker import Broker
from engine.events import Request
from engine.replication.truncation import end_of_epoch
from engine.wire import messages as m
from engine.wire.errors import Errors, KafkaError

Asked = m.OffsetForLeaderEpochRequest.OffsetForLeaderPartition
Answer = m.OffsetForLeaderEpochResponse.EpochEndOffset


def handle(broker: Broker, now: int, request: Request[m.OffsetForLeaderEpochRequest]) -> None:
    response = m.OffsetForLeaderEpochResponse
    answer = response()
    for topic in request.body.topics:
        topic_answer = response.OffsetForLeaderTopicResult(topic=topic.topic)
        answer.topics.append(topic_answer)
        for asked in topic.partitions:
            topic_answer.partitions.append(_look_up(broker, topic.topic, asked))
    broker.outbox.reply(request, answer)


def _look_up(broker: Broker, topic: str, asked: Asked) -> Answer:
    answer = Answer(partition=asked.partition, leader_epoch=-1, end_offset=-1)
    try:
        partition = broker.replicas.hosted.serving(topic, asked.partition)
        error = partition.check_leader_epoch(asked.current_leader_epoch)
        if error != Errors.NONE:
            raise KafkaError(error)
        if not partition.is_leader:
            raise KafkaError(Errors.NOT_LEADER_OR_FOLLOWER)
        answer.leader_epoch, answer.end_offset = end_of_epoch(
            partition.log, asked.leader_epoch, partition.leader_epoch
        )
    except KafkaError as problem:
        answer.error_code = problem.code
    return answer
