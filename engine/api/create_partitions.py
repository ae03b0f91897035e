"""CreatePartitions (key 37): more partitions for a topic that exists; never fewer.

A broker forwards the request to the controller.  Keys that hashed to one partition hash to another
afterwards, and old records stay where they are, so the order within a key ends here.

Versions: 2+ flexible.
"""

from __future__ import annotations

from engine.broker.broker import Broker
from engine.events import Request
from engine.wire import messages as m
from engine.wire.errors import Errors


def handle(broker: Broker, now: int, request: Request[m.CreatePartitionsRequest]) -> None:
    broker.forward(now, request)


def refuse(
    request: Request[m.CreatePartitionsRequest], code: Errors, message: str | None
) -> m.CreatePartitionsResponse:
    return m.CreatePartitionsResponse(
        results=[
            m.CreatePartitionsResponse.CreatePartitionsTopicResult(
                name=topic.name, error_code=code, error_message=message
            )
            for topic in request.body.topics
        ]
    )
