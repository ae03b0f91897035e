"""IncrementalAlterConfigs (key 44): sets, deletes, appends or subtracts single configs (KIP-339).

The controller does the work; see config_changes.py for what is checked here.

Left out: loggers, client metrics subscriptions, alter.config.policy.class.name.
Versions: 1+ flexible.
"""

from __future__ import annotations

from engine.api import config_changes
from engine.broker.broker import Broker
from engine.events import Request
from engine.settings.dynamic import Operation
from engine.wire import messages as m
from engine.wire.errors import Errors


def handle(broker: Broker, now: int, request: Request[m.IncrementalAlterConfigsRequest]) -> None:
    changes = {
        (each.resource_type, each.resource_name): {
            c.name: c.value if c.config_operation == Operation.SET else None for c in each.configs
        }
        for each in request.body.resources
    }
    config_changes.forward_or_refuse(broker, now, request, changes)


def fit(
    request: Request[m.IncrementalAlterConfigsRequest],
    answer: m.IncrementalAlterConfigsResponse,
    refused: m.IncrementalAlterConfigsResponse,
) -> m.IncrementalAlterConfigsResponse:
    merged: m.IncrementalAlterConfigsResponse = config_changes.fit(request, answer, refused)
    return merged


def refuse(
    request: Request[m.IncrementalAlterConfigsRequest], code: Errors, message: str | None
) -> m.IncrementalAlterConfigsResponse:
    answer: m.IncrementalAlterConfigsResponse = config_changes.refuse_all(request, code, message)
    return answer
