"""CreateTopics (key 19): new topics, each with its partitions placed and a fresh id.

A broker forwards the request to the controller, which checks names, counts, placement and
configs, writes TopicRecord, PartitionRecords and ConfigRecords, and answers once they are
committed.  A topic that cannot be made is refused on its own; the others are made.  -1
partitions or replicas ask for the controller's defaults.

Left out: create.topic.policy.class.name.
Versions: 5+ flexible, the answer has configs; 7+ it has the topic's id.
"""

from __future__ import annotations

from engine.broker.broker import Broker
from engine.events import Request
from engine.wire import messages as m
from engine.wire.errors import Errors


def handle(broker: Broker, now: int, request: Request[m.CreateTopicsRequest]) -> None:
    broker.forward(now, request)


def refuse(
    request: Request[m.CreateTopicsRequest], code: Errors, message: str | None
) -> m.CreateTopicsResponse:
    return m.CreateTopicsResponse(
        topics=[
            m.CreateTopicsResponse.CreatableTopicResult(
                name=topic.name, error_code=code, error_message=message
            )
            for topic in request.body.topics
        ]
    )
