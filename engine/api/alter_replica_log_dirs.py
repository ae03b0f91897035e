"""AlterReplicaLogDirs (key 34): move a replica to another log directory of its broker (KIP-113).

Each broker speaks for its own disks.  A request to move a replica to where it already is succeeds
and does nothing; a directory that the broker does not have is LOG_DIR_NOT_FOUND; a partition
without a replica here is REPLICA_NOT_AVAILABLE.

Simplified: one log directory per broker, so there is nowhere else to move to; where a replica
will be created later is not remembered, for the same reason.
Versions: 2+ flexible.
"""

from __future__ import annotations

from engine.broker.broker import Broker
from engine.events import Request
from engine.wire import messages as m
from engine.wire.errors import Errors

Response = m.AlterReplicaLogDirsResponse
_LONGEST_FILE_NAME = 255
_ON_ITS_WAY = len("." + 32 * "0" + "-future")
"""How much longer than `topic-partition` a moving replica's directory is: a unique id, a word."""


def handle(broker: Broker, now: int, request: Request[m.AlterReplicaLogDirsRequest]) -> None:
    errors = {
        (topic.name, index): _outcome(broker, each.path, topic.name, index)
        for each in request.body.dirs
        for topic in each.topics
        for index in topic.partitions
    }
    broker.outbox.reply(request, _answer(errors))


def refuse(
    request: Request[m.AlterReplicaLogDirsRequest], code: Errors, message: str | None
) -> m.AlterReplicaLogDirsResponse:
    return _answer(
        {
            (topic.name, index): code
            for each in request.body.dirs
            for topic in each.topics
            for index in topic.partitions
        }
    )


def _outcome(broker: Broker, path: str, topic: str, index: int) -> Errors:
    if len(f"{topic}-{index}") + _ON_ITS_WAY > _LONGEST_FILE_NAME:
        return Errors.INVALID_TOPIC_EXCEPTION
    settings = broker.settings
    if path != (settings["log.dirs"] or settings["log.dir"])[0]:
        return Errors.LOG_DIR_NOT_FOUND
    if (topic, index) not in broker.replicas.partitions:
        known = broker.metadata.topic(topic)
        exists = known is not None and index in known.partitions
        return Errors.REPLICA_NOT_AVAILABLE if exists else Errors.UNKNOWN_TOPIC_OR_PARTITION
    return Errors.NONE


def _answer(errors: dict[tuple[str, int], Errors]) -> Response:
    """The outcome per partition, topics in the order in which they were asked for."""
    topics: dict[str, Response.AlterReplicaLogDirTopicResult] = {}
    for (name, index), code in errors.items():
        topic = topics.setdefault(name, Response.AlterReplicaLogDirTopicResult(topic_name=name))
        topic.partitions.append(
            Response.AlterReplicaLogDirPartitionResult(partition_index=index, error_code=code)
        )
    return Response(results=list(topics.values()))
