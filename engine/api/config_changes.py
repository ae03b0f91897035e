"""What AlterConfigs and IncrementalAlterConfigs have in common: the broker's share of the work.

A change of a topic or a group goes to the controller as it is.  A change of a broker is first
held against what may change in a running broker, by the broker that the request names: Kafka
does it there because only that broker knows its own file and listeners.  The controller then
writes the ConfigRecords, and every broker applies them.

Simplified: when one resource of a request is refused here, the request goes no further and the
others are told so; Kafka would apply the others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from engine.events import Request
from engine.settings import dynamic
from engine.settings.sources import BROKER, BROKER_LOGGER
from engine.wire import messages as m
from engine.wire.errors import Errors, KafkaError

if TYPE_CHECKING:
    from engine.broker.broker import Broker

Changes = Mapping[str, str | None]
Key = tuple[int, str]


def forward_or_refuse(
    broker: Broker, now: int, request: Request, changes: Mapping[Key, Changes]
) -> None:
    """`changes` has what each resource of the request sets (None: deletes)."""
    times = Counter((each.resource_type, each.resource_name) for each in request.body.resources)
    problems: dict[Key, KafkaError] = {}
    for key, wanted in changes.items():
        try:
            if times[key] > 1:
                raise KafkaError(Errors.INVALID_REQUEST, "A resource may appear only once.")
            _check(broker, key, wanted)
        except KafkaError as error:
            problems[key] = error
    if not problems:
        broker.forward(now, request)
        return
    untried = KafkaError(Errors.INVALID_REQUEST, "Not tried: another resource was refused.")
    broker.outbox.reply(
        request,
        _answer(request, {key: problems.get(key, untried) for key in changes}),
    )


def refuse_all(request: Request, code: Errors, message: str | None) -> Any:
    """The answer with one error for every resource."""
    error = KafkaError(code, message or "")
    keys = ((each.resource_type, each.resource_name) for each in request.body.resources)
    return _answer(request, dict.fromkeys(keys, error))


def _check(broker: Broker, key: Key, changes: Changes) -> None:
    resource_type, name = key
    if resource_type == BROKER_LOGGER:
        raise KafkaError(Errors.INVALID_REQUEST, "There are no loggers to set here.")
    if resource_type != BROKER:
        return
    if name and name != str(broker.node_id):
        raise KafkaError(
            Errors.INVALID_REQUEST, f"This is broker {broker.node_id}: ask broker {name} itself."
        )
    dynamic.check_broker_change(changes, for_all=not name)


def _answer(request: Request, errors: Mapping[Key, KafkaError]) -> Any:
    name = type(request.body).__name__.removesuffix("Request") + "Response"
    answer = getattr(m, name)()
    for each in request.body.resources:
        error = errors[each.resource_type, each.resource_name]
        answer.responses.append(
            answer.AlterConfigsResourceResponse(
                error_code=error.code,
                error_message=error.message,
                resource_type=each.resource_type,
                resource_name=each.resource_name,
            )
        )
    return answer
