"""DescribeConfigs (key 32): the configs in effect, and where each comes from.

Any broker answers for topics and groups; for a broker only that broker itself, since only it
knows the file it was started with.  The empty broker name stands for what is set for all
brokers.  A value comes with its *synonyms* on request: every place it is set in, the one in
effect first (see engine/settings/settings.py for the four layers).

Two details are Kafka's.  A topic config lists the synonyms of its first counterpart only, so
`retention.ms` looks like a plain default even when `log.retention.hours` is set in the file.
And passwords are null.

Left out: loggers (an empty list) and client metrics subscriptions (INVALID_REQUEST).
Versions: 1+ synonyms, 3+ type and documentation.  The documentation is our own short note.
"""

from __future__ import annotations

from collections.abc import Callable

from engine.api.config_changes import check_is_me
from engine.broker.broker import Broker
from engine.events import Request
from engine.metadata.topic_names import problem_with
from engine.settings import definitions
from engine.settings.definitions import Config, table
from engine.settings.sources import (
    BROKER,
    BROKER_LOGGER,
    CLIENT_METRICS,
    GROUP,
    TOPIC,
    TYPE_CODES,
    Source,
    broker_synonyms,
    group_synonyms,
    topic_synonyms,
)
from engine.wire import messages as m
from engine.wire.errors import Errors, KafkaError

Response = m.DescribeConfigsResponse
Row = tuple[Config, str | None, list[tuple[str, str | None, Source]]]
"""A config, its value and its synonyms."""


def handle(broker: Broker, now: int, request: Request[m.DescribeConfigsRequest]) -> None:
    body = request.body
    answer = Response()
    for asked in body.resources:
        if asked.resource_type not in _DESCRIBE:
            raise KafkaError(Errors.INVALID_REQUEST, f"Unknown type {asked.resource_type}.")
    for asked in body.resources:
        result = Response.DescribeConfigsResult(
            error_message="", resource_type=asked.resource_type, resource_name=asked.resource_name
        )
        answer.results.append(result)
        try:
            rows = _DESCRIBE[asked.resource_type](broker, asked.resource_name)
        except KafkaError as error:
            result.error_code, result.error_message = error.code, error.text or ""
            continue
        wanted = set(asked.configuration_keys or ())
        result.configs = [
            _entry(row, asked.resource_type, body)
            for row in rows
            if not wanted or row[0].name in wanted
        ]
    broker.outbox.reply(request, answer)


def refuse(
    request: Request[m.DescribeConfigsRequest], code: Errors, message: str | None
) -> m.DescribeConfigsResponse:
    return Response(
        results=[
            Response.DescribeConfigsResult(
                error_code=code,
                error_message=message,
                resource_type=asked.resource_type,
                resource_name=asked.resource_name,
            )
            for asked in request.body.resources
        ]
    )


def _topic(broker: Broker, name: str) -> list[Row]:
    problem = problem_with(name)
    if problem:
        raise KafkaError(Errors.INVALID_TOPIC_EXCEPTION, problem)
    if name not in broker.metadata.topic_ids:
        raise KafkaError(Errors.UNKNOWN_TOPIC_OR_PARTITION)
    own = broker.metadata.configs.get((TOPIC, name), {})
    effective = broker.settings.topic(own)
    return [
        (config, config.text(effective[config.name]), topic_synonyms(broker.settings, config, own))
        for config in table("topic").values()
        if not config.is_hidden or config.name in own
    ]


def _broker(broker: Broker, name: str) -> list[Row]:
    settings = broker.settings
    if not name:
        return [
            (config, value, [(key, value, Source.DYNAMIC_DEFAULT_BROKER)])
            for key, value in sorted(settings.dynamic_default.items())
            for config in (definitions.find("broker", key),)
        ]
    check_is_me(broker, name)
    return [
        (config, config.text(settings[config.name]), broker_synonyms(settings, config.name))
        for config in table("broker").values()
        if not config.is_hidden or config.name in settings.static
    ]


def _logger(broker: Broker, name: str) -> list[Row]:
    if not name:
        raise KafkaError(Errors.INVALID_REQUEST, "Loggers belong to a broker: name its id.")
    check_is_me(broker, name)
    return []


def _group(broker: Broker, name: str) -> list[Row]:
    if not name:
        raise KafkaError(Errors.INVALID_REQUEST, "A group needs a name.")
    own = broker.metadata.configs.get((GROUP, name), {})
    rows: list[Row] = []
    for config in table("group").values():
        synonyms = group_synonyms(broker.settings, config, own)
        rows.append((config, synonyms[0][1], synonyms))
    return rows


def _client_metrics(broker: Broker, name: str) -> list[Row]:
    raise KafkaError(Errors.INVALID_REQUEST, "There are no client metrics subscriptions here.")


_DESCRIBE: dict[int, Callable[[Broker, str], list[Row]]] = {
    TOPIC: _topic,
    BROKER: _broker,
    BROKER_LOGGER: _logger,
    CLIENT_METRICS: _client_metrics,
    GROUP: _group,
}


def _entry(
    row: Row, resource_type: int, body: m.DescribeConfigsRequest
) -> Response.DescribeConfigsResourceResult:
    config, value, synonyms = row
    return Response.DescribeConfigsResourceResult(
        name=config.name,
        value=None if config.is_sensitive else value,
        read_only=resource_type == BROKER and not config.is_dynamic,
        config_source=synonyms[0][2] if synonyms else Source.DEFAULT,
        is_sensitive=config.is_sensitive,
        synonyms=[
            Response.DescribeConfigsSynonym(
                name=name, value=None if config.is_sensitive else text, source=source
            )
            for name, text, source in synonyms
        ]
        if body.include_synonyms
        else [],
        config_type=TYPE_CODES[config.type],
        documentation=config.documentation if body.include_documentation else None,
    )
