"""DeleteTopics (key 20): remove topics, by name or by id, with all their records.

A broker forwards the request to the controller, which writes a RemoveTopicRecord; each broker
deletes its replicas as it applies that.  The name may be used again at once, for another
topic: it has another id (KIP-516).

Versions: before 6 topics have names only; 4+ flexible; 5+ the answer has messages.
"""

from __future__ import annotations

from engine.broker.broker import Broker
from engine.events import Request
from engine.wire import messages as m
from engine.wire.errors import Errors


def handle(broker: Broker, now: int, request: Request[m.DeleteTopicsRequest]) -> None:
    broker.forward(now, request)


def refuse(
    request: Request[m.DeleteTopicsRequest], code: Errors, message: str | None
) -> m.DeleteTopicsResponse:
    asked = [(topic.name, topic.topic_id) for topic in request.body.topics]
    asked += [(name, bytes(16)) for name in request.body.topic_names]
    return m.DeleteTopicsResponse(
        responses=[
            m.DeleteTopicsResponse.DeletableTopicResult(
                name=name, topic_id=topic_id, error_code=code, error_message=message
            )
            for name, topic_id in asked
        ]
    )
