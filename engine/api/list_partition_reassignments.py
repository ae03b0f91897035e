"""ListPartitionReassignments (key 46): which replicas are on the move (KIP-455).

A broker forwards the request to the controller, which knows the replicas being added and removed.

Left out: moving them.  Without AlterPartitionReassignments the list is always empty.
"""

from __future__ import annotations

from engine.broker.broker import Broker
from engine.events import Request
from engine.wire import messages as m
from engine.wire.errors import Errors


def handle(broker: Broker, now: int, request: Request[m.ListPartitionReassignmentsRequest]) -> None:
    broker.forward(now, request)


def refuse(
    request: Request[m.ListPartitionReassignmentsRequest], code: Errors, message: str | None
) -> m.ListPartitionReassignmentsResponse:
    return m.ListPartitionReassignmentsResponse(error_code=code, error_message=message)
