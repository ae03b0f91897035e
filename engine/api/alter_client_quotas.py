"""AlterClientQuotas (key 49): sets and removes limits of users and client ids (KIP-546).

The controller writes ClientQuotaRecords (engine/control/client_quotas.py); each broker acts by
them as soon as it has applied them, on connections that are open too.

Left out: ip entities.
Versions: 1+ flexible.
"""

from __future__ import annotations

from engine.broker.broker import Broker
from engine.events import Request
from engine.wire import messages as m
from engine.wire.errors import Errors


def handle(broker: Broker, now: int, request: Request[m.AlterClientQuotasRequest]) -> None:
    broker.forward(now, request)


def refuse(
    request: Request[m.AlterClientQuotasRequest], code: Errors, message: str | None
) -> m.AlterClientQuotasResponse:
    response = m.AlterClientQuotasResponse
    entries = []
    for asked in request.body.entries:
        entry = response.EntryData(error_code=code, error_message=message)
        for part in asked.entity:
            entry.entity.append(
                response.EntityData(entity_type=part.entity_type, entity_name=part.entity_name)
            )
        entries.append(entry)
    return response(entries=entries)
