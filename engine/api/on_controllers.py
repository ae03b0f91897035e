"""What a controller answers on its own listener, whether it is active or not (KIP-919).

    ApiVersions        what this listener offers (`api.ON_CONTROLLERS`)
    DescribeCluster    the controllers' addresses, and which of them is active

All else that is offered there the active controller decides, as it does for the brokers.

BrokerRegistration is offered too, so that a process from outside can try to become a broker of this
cluster.  A stranger with a taken id or another cluster's id is refused.

Left out: what else only brokers and other controllers ask (Vote, Fetch, BrokerHeartbeat, …).  In
this engine they are in the same process, so it does not come over a socket.  Of what clients may
ask a controller: creating and altering topics, configs, quotas, which clients ask a broker for.
"""

from __future__ import annotations

from collections.abc import Mapping

from engine import api
from engine.api import api_versions
from engine.api.describe_cluster import BROKERS, CONTROLLERS
from engine.api.operations import CLUSTER_OPERATIONS
from engine.events import AnyRequest
from engine.metadata.image import MetadataImage
from engine.wire import messages as m
from engine.wire.errors import Errors, KafkaError
from engine.wire.structures import Message

NAMES = {BROKERS: "BROKER", CONTROLLERS: "CONTROLLER"}


def answer(
    request: AnyRequest,
    cluster_id: str,
    leader: int,
    addresses: Mapping[int, tuple[str, int]],
    image: MetadataImage,
) -> Message | None:
    """None for a request that the active controller has to answer; KafkaError refuses one."""
    match request.body:
        case m.ApiVersionsRequest() as body:
            return api_versions.answer(request.version, body, image, api.ON_CONTROLLERS)
        case m.DescribeClusterRequest() as body:
            return _cluster(request.version, body, cluster_id, leader, addresses)
    return None


def _cluster(
    version: int,
    body: m.DescribeClusterRequest,
    cluster_id: str,
    leader: int,
    addresses: Mapping[int, tuple[str, int]],
) -> m.DescribeClusterResponse:
    if body.endpoint_type != CONTROLLERS:
        known = body.endpoint_type in NAMES
        error = Errors.MISMATCHED_ENDPOINT_TYPE if known else Errors.UNSUPPORTED_ENDPOINT_TYPE
        raise KafkaError(
            error if version else Errors.INVALID_REQUEST,
            "The request was sent to an endpoint of type CONTROLLER, but we wanted an endpoint of "
            f"type {NAMES[body.endpoint_type]}" if known
            else f"Unsupported endpoint type {body.endpoint_type}",
        )  # fmt: skip
    row = m.DescribeClusterResponse.DescribeClusterBroker
    response = m.DescribeClusterResponse(
        endpoint_type=CONTROLLERS,
        cluster_id=cluster_id,
        controller_id=leader if leader in addresses else -1,
        brokers=[row(node_id, host, port) for node_id, (host, port) in addresses.items()],
    )
    if body.include_cluster_authorized_operations:
        response.cluster_authorized_operations = CLUSTER_OPERATIONS
    return response
