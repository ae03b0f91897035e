"""ListConfigResources (key 74): which resources have configs to describe (KIP-1142).

Version 0 was ListClientMetricsResources (KIP-1000) and lists those subscriptions only.

Every broker has loggers, so each is listed for them too.

Left out: client metrics subscriptions.
Versions: 1+ resource types; an empty list asks for all of them.
"""

from __future__ import annotations

from engine.broker.broker import Broker
from engine.events import Request
from engine.settings.sources import BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP, TOPIC
from engine.wire import messages as m
from engine.wire.errors import Errors, KafkaError

KNOWN_TYPES = (TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP)


def handle(broker: Broker, now: int, request: Request[m.ListConfigResourcesRequest]) -> None:
    image = broker.metadata
    types = (request.body.resource_types or KNOWN_TYPES) if request.version >= 1 else ()
    unknown = sorted(set(types) - set(KNOWN_TYPES))
    if unknown:
        raise KafkaError(Errors.UNSUPPORTED_VERSION, f"Unknown resource types: {unknown}.")
    names: list[tuple[str, int]] = []
    if TOPIC in types:
        names += [(name, TOPIC) for name in sorted(image.topic_ids)]
    if BROKER in types:
        names += [(str(broker_id), BROKER) for broker_id in sorted(image.brokers)]
    if BROKER_LOGGER in types:
        names += [(str(broker_id), BROKER_LOGGER) for broker_id in sorted(image.brokers)]
    if GROUP in types:
        names += [(name, kind) for kind, name in sorted(image.configs) if kind == GROUP]
    broker.outbox.reply(
        request,
        m.ListConfigResourcesResponse(
            config_resources=[
                m.ListConfigResourcesResponse.ConfigResource(resource_name=name, resource_type=kind)
                for name, kind in names
            ]
        ),
    )
