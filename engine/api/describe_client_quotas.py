"""DescribeClientQuotas (key 48): the limits that are set, by a filter (KIP-546).

The filter has one component for each type of entity, at most:

    exact      the entity has this name            client-id=report
    default    the entity is the default one       client-id=<default>
    specified  any name will do                    client-id=*

A strict filter finds entities of exactly these types; otherwise they may have other types
too.  An empty filter that is not strict finds everything.

Simplified: nothing is ever found for the type ip.
Versions: 1+ flexible.
"""

from __future__ import annotations

from engine.broker.broker import Broker
from engine.events import Request
from engine.metadata import quota_entities as entities
from engine.metadata.quota_entities import Entity
from engine.wire import messages as m
from engine.wire.errors import Errors, KafkaError

EXACT, DEFAULT, SPECIFIED = range(3)
Component = m.DescribeClientQuotasRequest.ComponentData
Response = m.DescribeClientQuotasResponse
_TYPES = (entities.USER, entities.CLIENT_ID, entities.IP)


def handle(broker: Broker, now: int, request: Request[m.DescribeClientQuotasRequest]) -> None:
    wanted = _filter(request.body.components)
    entries = [
        _entry(whose, limits)
        for whose, limits in broker.metadata.quotas.items()
        if _matches(dict(whose), wanted, request.body.strict)
    ]
    broker.outbox.reply(request, m.DescribeClientQuotasResponse(entries=entries))


def refuse(
    request: Request[m.DescribeClientQuotasRequest], code: Errors, message: str | None
) -> m.DescribeClientQuotasResponse:
    return m.DescribeClientQuotasResponse(error_code=code, error_message=message, entries=None)


def _filter(components: list[Component]) -> dict[str, Component]:
    """By type: the component that it must satisfy."""
    wanted: dict[str, Component] = {}
    for each in components:
        if not each.entity_type:
            raise KafkaError(Errors.INVALID_REQUEST, "Invalid empty entity type.")
        if each.entity_type in wanted:
            raise KafkaError(
                Errors.INVALID_REQUEST,
                f"Entity type {each.entity_type} cannot appear more than once in the filter.",
            )
        if each.entity_type not in _TYPES:
            raise KafkaError(
                Errors.UNSUPPORTED_VERSION, f"Unsupported entity type {each.entity_type}"
            )
        if each.match_type not in (EXACT, DEFAULT, SPECIFIED):
            raise KafkaError(Errors.INVALID_REQUEST, f"Unknown match type {each.match_type}")
        if (each.match_type == EXACT) != (each.match is not None):
            raise KafkaError(Errors.INVALID_REQUEST, "Only an exact match takes a match string.")
        wanted[each.entity_type] = each
    if entities.IP in wanted and len(wanted) > 1:
        raise KafkaError(
            Errors.INVALID_REQUEST,
            "Invalid entity filter component combination. IP filter component should not be "
            "used with user or clientId filter component.",
        )
    return wanted


def _matches(names: dict[str, str | None], wanted: dict[str, Component], strict: bool) -> bool:
    if strict and len(names) != len(wanted):
        return False
    return all(
        kind in names and (each.match_type == SPECIFIED or names[kind] == each.match)
        for kind, each in wanted.items()
    )


def _entry(whose: Entity, limits: dict[str, float]) -> Response.EntryData:
    return Response.EntryData(
        entity=[Response.EntityData(entity_type=kind, entity_name=name) for kind, name in whose],
        values=[Response.ValueData(key=key, value=value) for key, value in limits.items()],
    )
