"""AlterConfigs (key 33): replaces all configs that a resource sets itself (KIP-133).

What is not in the request goes back to its default, so two tools that change different configs
undo each other: deprecated since KIP-339 in favor of IncrementalAlterConfigs.  The controller
does the work; see config_changes.py for what is checked here.

Simplified: when every resource of a request is refused as given twice, Kafka never answers; here
the client gets the refusals.

Left out: loggers, client metrics subscriptions, alter.config.policy.class.name.
Versions: 2+ flexible.
"""

from __future__ import annotations

from engine.api.config_changes import fit, forward_or_refuse, refuse
from engine.broker.broker import Broker
from engine.events import Request
from engine.wire import messages as m

__all__ = ["fit", "handle", "refuse"]


def handle(broker: Broker, now: int, request: Request[m.AlterConfigsRequest]) -> None:
    changes = {
        (each.resource_type, each.resource_name): {c.name: c.value for c in each.configs}
        for each in request.body.resources
    }
    forward_or_refuse(broker, now, request, changes)
