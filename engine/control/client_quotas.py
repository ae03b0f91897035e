"""Client quotas in the metadata log: what AlterClientQuotas may set (KIP-546, KIP-599).

A limit is a ClientQuotaRecord: an entity, a key, a value, or the word that it is gone.
Each entry of a request is taken or refused as a whole.  Names of entities and keys, and
what is refused, are Kafka's; so are the sentences.

Simplified: `ip` entities, whose only key is connection_creation_rate (KIP-612), are
refused: how fast connections are made is not limited here.
"""

from __future__ import annotations

from engine.control.state import ControlState, Decision
from engine.metadata import quota_entities as entities
from engine.metadata.quota_entities import Entity
from engine.wire import messages as m
from engine.wire.errors import Errors, KafkaError

INTEGRAL = (entities.PRODUCER_BYTE_RATE, entities.CONSUMER_BYTE_RATE)
KEYS = (*INTEGRAL, entities.REQUEST_PERCENTAGE, entities.CONTROLLER_MUTATION_RATE)
Asked = m.AlterClientQuotasRequest
_LONG_MAX = 2**63 - 1
_FRACTION = 1e-6


def alter(state: ControlState, body: m.AlterClientQuotasRequest) -> Decision:
    """AlterClientQuotas; with `validate_only`, only judged."""
    response = m.AlterClientQuotasResponse
    answer = response()
    decision = Decision(answer)
    seen: dict[Entity, None] = {}
    for entry in body.entries:
        result = response.EntryData(
            entity=[
                response.EntityData(entity_type=part.entity_type, entity_name=part.entity_name)
                for part in entry.entity
            ]
        )
        answer.entries.append(result)
        try:
            whose = _entity(entry.entity)
            if whose in seen:
                raise _invalid(f"Ignoring duplicate entity {whose}")
            seen[whose] = None
            records = _records(state, entry, whose)
        except KafkaError as error:
            result.error_code, result.error_message = error.code, error.message
            continue
        decision.records += records
        for record in records:
            _tell(decision, whose, record)
    return Decision(answer) if body.validate_only else decision


def _entity(parts: list[Asked.EntityData]) -> Entity:
    if not parts:
        raise _invalid("Invalid empty client quota entity")
    types = [part.entity_type for part in parts]
    for part in parts:
        if types.count(part.entity_type) > 1:
            raise _invalid(
                f"Invalid client quota entity, duplicate entity entry {part.entity_type}"
            )
        if part.entity_type == entities.IP:
            raise _invalid("This engine has no connection quotas: an ip entity limits nothing.")
        if part.entity_type not in (entities.USER, entities.CLIENT_ID):
            raise _invalid(f"Unhandled client quota entity type: {part.entity_type}")
        if part.entity_name == "":
            raise _invalid(f"Empty {part.entity_type} not supported")
    return entities.entity((part.entity_type, part.entity_name) for part in parts)


def _records(
    state: ControlState, entry: Asked.EntryData, whose: Entity
) -> list[m.ClientQuotaRecord]:
    keys = [op.key for op in entry.ops]
    current = state.image.quotas.get(whose, {})
    records = []
    for op in entry.ops:
        if keys.count(op.key) > 1:
            raise _invalid(f"Duplicate quota key {op.key} not updating quota for this entity")
        if op.remove:
            changed = op.key in current
        else:
            _check(op.key, op.value)
            changed = current.get(op.key) != op.value
        if changed:
            records.append(_record(whose, op))
    return records


def _check(key: str, value: float) -> None:
    if key not in KEYS:
        raise _invalid(f"Invalid configuration key {key}")
    if value <= 0:
        raise _invalid(f"Quota {key} must be greater than 0")
    if key in INTEGRAL:
        if value > _LONG_MAX:
            raise _invalid(f"Proposed value for {key} is too large for a LONG.")
        if value % 1 > _FRACTION:
            raise _invalid(f"{key} cannot be a fractional value.")


def _record(whose: Entity, op: Asked.OpData) -> m.ClientQuotaRecord:
    parts = [
        m.ClientQuotaRecord.EntityData(entity_type=kind, entity_name=name) for kind, name in whose
    ]
    value = 0.0 if op.remove else op.value
    return m.ClientQuotaRecord(entity=parts, key=op.key, value=value, remove=op.remove)


def _tell(decision: Decision, whose: Entity, record: m.ClientQuotaRecord) -> None:
    named = " ".join(f"{kind}={name or '<default>'}" for kind, name in whose)
    decision.tell(
        "client_quotas.alter",
        "quota",
        "asked by a client",
        entity=named,
        key=record.key,
        value=None if record.remove else record.value,
    )


def _invalid(message: str) -> KafkaError:
    return KafkaError(Errors.INVALID_REQUEST, message)
