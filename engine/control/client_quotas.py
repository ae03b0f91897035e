"""Client quotas in the metadata log: what AlterClientQuotas may set (KIP-546, KIP-599).

A limit is a ClientQuotaRecord: an entity, a key, and a value or its removal.  Each entry
of a request is taken or refused as a whole.  Names of entities and keys, what is refused,
and the messages are Kafka's.

Simplified: `ip` entities, whose only key is connection_creation_rate (KIP-612), are
refused: how fast connections are made is not limited here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

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
    """AlterClientQuotas; with `validate_only`, only checked."""
    response = m.AlterClientQuotasResponse
    answer = response()
    decision = Decision(answer)
    results: dict[frozenset[tuple[str, str | None]], m.AlterClientQuotasResponse.EntryData] = {}
    for entry in body.entries:
        # If a type appears twice Kafka takes the last name; a repeated entity gets one result.
        parts = {part.entity_type: part.entity_name for part in entry.entity}
        whole = frozenset(parts.items())
        is_again = whole in results
        result = results[whole] = response.EntryData(
            error_message=None, entity=[response.EntityData(*part) for part in parts.items()]
        )
        try:
            whose = _entity(parts)
            if is_again:
                raise _invalid(f"Ignoring duplicate entity {whose}")
            records = _records(state, entry, whose)
        except KafkaError as error:
            result.error_code, result.error_message = error.code, error.text
            continue
        decision.records += records
        decision.check_size()
        for record in records:
            _tell(decision, whose, record)
    answer.entries = list(results.values())
    return Decision(answer) if body.validate_only else decision


def _entity(parts: Mapping[str, str | None]) -> Entity:
    if not parts:
        raise _invalid("Invalid empty client quota entity")
    for kind, name in parts.items():
        if kind == entities.IP:
            raise _invalid("This engine has no connection quotas: an ip entity limits nothing.")
        if kind not in (entities.USER, entities.CLIENT_ID):
            raise _invalid(f"Unhandled client quota entity type: {kind}")
        if name == "":
            raise _invalid(f"Empty {kind} not supported")
    return entities.entity(parts.items())


def _records(
    state: ControlState, entry: Asked.EntryData, whose: Entity
) -> list[m.ClientQuotaRecord]:
    keys = Counter(op.key for op in entry.ops)
    current = state.image.quotas.get(whose, {})
    records = []
    for op in entry.ops:
        if keys[op.key] > 1:
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
