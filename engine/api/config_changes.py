"""What AlterConfigs and IncrementalAlterConfigs have in common: the broker's share of the work.

A change of a topic or a group goes to the controller as it is.  The broker that the request names
first checks whether a running broker may make the change: Kafka does it there because only that
broker knows its own file and listeners.  The controller then writes the ConfigRecords, and every
broker applies them.

Each resource of a request is handled alone: what is refused here stays here, the others go on,
and the client gets one answer with both.

    asked      topic orders     broker 102     topic nope
    here                        refused: this is broker 101
    there      changed                         refused: unknown
    answered   NONE             INVALID_REQUEST  UNKNOWN_TOPIC_OR_PARTITION
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, Protocol, TypeVar

from engine.broker.broker import Broker
from engine.events import Request
from engine.settings import dynamic
from engine.settings.numbers import whole
from engine.settings.sources import BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP, TOPIC
from engine.wire import messages as m
from engine.wire.errors import Errors, KafkaError
from engine.wire.framing import response_class


class Named(Protocol):
    """A resource in a request, or its row in an answer."""

    resource_type: int
    resource_name: str


Answer = TypeVar("Answer", m.AlterConfigsResponse, m.IncrementalAlterConfigsResponse)
Changes = Mapping[str, str | None]
Key = tuple[int, str]


def forward_or_refuse(
    broker: Broker, now: int, request: Request, changes: Mapping[Key, Changes]
) -> None:
    """`changes` has what each resource of the request sets (None: deletes)."""
    body = request.body
    times = Counter(map(_key, body.resources))
    problems: dict[Key, KafkaError] = {}
    for resource in body.resources:
        key = _key(resource)
        try:
            if times[key] > 1:
                raise KafkaError(Errors.INVALID_REQUEST, "Each resource must appear at most once.")
            _check_values(resource.configs)
            if isinstance(body, m.IncrementalAlterConfigsRequest):
                _check_operations(broker, resource)
            _check(broker, key, changes[key])
        except KafkaError as error:
            problems[key] = error
    left = [each for each in body.resources if _key(each) not in problems]
    refused = _answer(request, problems)
    if left or not body.resources:
        broker.forward(now, request, type(body)(left, body.validate_only), refused)
    else:
        broker.outbox.reply(request, refused)


def refuse(request: Request, code: Errors, message: str | None) -> Any:
    """The answer with one error for every resource."""
    error = KafkaError(code, message or "")
    return _answer(request, dict.fromkeys(map(_key, request.body.resources), error))


def fit(request: Request, answer: Answer, refused: Answer) -> Answer:
    """The controller's answer and this broker's, in the order of the request."""
    if not refused.responses:
        return answer
    answers = {_key(each): each for each in (*answer.responses, *refused.responses)}
    rows = [answers[_key(each)] for each in request.body.resources]
    return type(answer)(throttle_time_ms=answer.throttle_time_ms, responses=rows)


def _key(each: Named) -> Key:
    return each.resource_type, each.resource_name


def _check_values(configs: Any) -> None:
    if any(count > 1 for count in Counter(each.name for each in configs).values()):
        raise KafkaError(Errors.INVALID_REQUEST, "Error due to duplicate config keys")
    without = [
        each.name
        for each in configs
        if each.value is None
        and getattr(each, "config_operation", None) != dynamic.Operation.DELETE
    ]
    if without:
        raise KafkaError(
            Errors.INVALID_REQUEST, f"Null value not supported for : {', '.join(without)}"
        )


def _check_operations(broker: Broker, resource: Any) -> None:
    """Refuses loggers, of which there are none, and operations that a broker does not know."""
    if resource.resource_type == BROKER_LOGGER:
        check_is_me(broker, resource.resource_name)
        raise KafkaError(Errors.INVALID_CONFIG, "There are no loggers to set here.")
    if resource.resource_type == BROKER:
        for each in resource.configs:
            if each.config_operation not in set(dynamic.Operation):
                raise KafkaError(
                    Errors.INVALID_REQUEST, f"Unknown operations type {each.config_operation}"
                )


def _check(broker: Broker, key: Key, changes: Changes) -> None:
    resource_type, name = key
    if resource_type == BROKER:
        if name:
            check_is_me(broker, name)
        dynamic.check_broker_change(changes, for_all=not name, settings=broker.settings)
    elif resource_type not in (TOPIC, CLIENT_METRICS, GROUP):
        raise KafkaError(Errors.INVALID_REQUEST, f"Unknown resource type {resource_type}")


def check_is_me(broker: Broker, name: str) -> None:
    """A broker speaks for itself only."""
    number = whole(name)
    if number is None:
        raise KafkaError(Errors.INVALID_REQUEST, f"A broker's id is a number; {name!r} is not.")
    if number != broker.node_id:
        raise KafkaError(
            Errors.INVALID_REQUEST, f"This is broker {broker.node_id}: ask broker {name} itself."
        )


def _answer(request: Request, errors: Mapping[Key, KafkaError]) -> Any:
    """Rows for the resources that have an error."""
    answer: Any = response_class(request.body)()
    for each in request.body.resources:
        error = errors.get(_key(each))
        if error is not None:
            answer.responses.append(
                answer.AlterConfigsResourceResponse(
                    error_code=error.code,
                    error_message=error.text,
                    resource_type=each.resource_type,
                    resource_name=each.resource_name,
                )
            )
    return answer
