"""DescribeCluster (key 60): the brokers and the cluster's id, without any topic (KIP-700).

Until KIP-1073 (version 2) fenced brokers were invisible to clients; now they can be asked for
and come with a flag.  As in Metadata, "the controller" is a live broker that forwards.

A controller answers for the controllers, on its own listener (on_controllers.py).

Left out: authorisation.
Versions: 1+ endpoint type, 2+ fenced brokers.
"""

from __future__ import annotations

from engine.api.metadata import controller_id, live_brokers
from engine.api.operations import CLUSTER_OPERATIONS
from engine.broker.broker import Broker
from engine.events import Request
from engine.wire import messages as m
from engine.wire.errors import Errors, KafkaError

BROKERS, CONTROLLERS = 1, 2


def handle(broker: Broker, now: int, request: Request[m.DescribeClusterRequest]) -> None:
    body = request.body
    if body.endpoint_type == CONTROLLERS:
        raise KafkaError(
            Errors.MISMATCHED_ENDPOINT_TYPE, "This is a broker; ask a controller's listener."
        )
    if body.endpoint_type != BROKERS:
        raise KafkaError(
            Errors.UNSUPPORTED_ENDPOINT_TYPE,
            f"Endpoint type {body.endpoint_type} is neither 1 (brokers) nor 2 (controllers).",
        )
    alive = live_brokers(broker.metadata)
    answer = m.DescribeClusterResponse(
        cluster_id=broker.lifecycle.cluster_id, controller_id=controller_id(broker, alive)
    )
    for broker_id, each in sorted(broker.metadata.brokers.items()):
        if broker_id in alive or body.include_fenced_brokers:
            answer.brokers.append(
                m.DescribeClusterResponse.DescribeClusterBroker(
                    broker_id=broker_id,
                    host=each.host,
                    port=each.port,
                    rack=each.rack,
                    is_fenced=each.fenced,
                )
            )
    if body.include_cluster_authorized_operations:
        answer.cluster_authorized_operations = CLUSTER_OPERATIONS
    broker.outbox.reply(request, answer)
