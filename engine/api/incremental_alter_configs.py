"""IncrementalAlterConfigs (key 44): sets, deletes, appends or subtracts single configs (KIP-339).

The controller does the work; see config_changes.py for what is checked here.

Left out: loggers, client metrics subscriptions, alter.config.policy.class.name.
Versions: 1+ flexible.
"""

from __future__ import annotations

from engine.api.config_changes import fit, forward_or_refuse, refuse
from engine.broker.broker import Broker
from engine.events import Request
from engine.settings.dynamic import Operation
from engine.wire import messages as m

__all__ = ["fit", "handle", "refuse"]


def handle(broker: Broker, now: int, request: Request[m.IncrementalAlterConfigsRequest]) -> None:
    changes = {
        (each.resource_type, each.resource_name): {
            c.name: c.value if c.config_operation == Operation.SET else None for c in each.configs
        }
        for each in request.body.resources
    }
    forward_or_refuse(broker, now, request, changes)
