"""UnregisterBroker (key 64): forget a broker that will not come back (KIP-631).

A broker forwards the request to the controller.  Without this a broker that was taken away for
good stays in the metadata, fenced, and in the replica lists of its partitions.
"""

from __future__ import annotations

from engine.broker.broker import Broker
from engine.events import Request
from engine.wire import messages as m
from engine.wire.errors import Errors


def handle(broker: Broker, now: int, request: Request[m.UnregisterBrokerRequest]) -> None:
    broker.forward(now, request)


def refuse(
    request: Request[m.UnregisterBrokerRequest], code: Errors, message: str | None
) -> m.UnregisterBrokerResponse:
    return m.UnregisterBrokerResponse(error_code=code, error_message=message)
