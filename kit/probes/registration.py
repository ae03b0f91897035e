"""Asks a controller to register a broker, as one more broker process would (KIP-631).

    attempt(cluster, 101)                         DUPLICATE_BROKER_REGISTRATION: 101 is alive
    attempt(cluster, 104, cluster_id="another")   INCONSISTENT_CLUSTER_ID
    standing(cluster)                             101 in service, 102 in service, 103 fenced
    unregister(cluster, 103)                      NONE: 103 is forgotten

A registration is a request to the active controller.  This one has no process behind it: what it
registers sends no heartbeat and stays fenced.
"""

from __future__ import annotations

import random
from contextlib import closing, suppress
from typing import Any

from engine.wire import messages as m
from engine.wire import uuids
from engine.wire.errors import Errors
from kit.clusters.connections import Address, Connections, Unreachable
from kit.clusters.interface import Cluster
from kit.probes.clients import ANSWER_S, ask_any

NOWHERE = ("127.0.0.1", 9)
"""The address that is registered: nothing listens there."""
LISTENERS = ("PLAINTEXT", "CLIENT", "REPLICATION")
"""The engine's and a local Kafka's: a client hears of brokers by the name of its own listener."""
CONTROLLERS = 2
"""An endpoint type of DescribeCluster."""


def attempt(cluster: Cluster, broker: int, *, cluster_id: str = "") -> str:
    """NONE, or the error that the active controller answers to a new incarnation of a broker.

    `cluster_id` is the newcomer's, by default this cluster's.  NotOffered where the controllers
    cannot be reached.
    """
    with closing(Connections(ANSWER_S)) as connections:
        for address in _controllers(cluster):
            with suppress(Unreachable):
                body = _request(connections, address, broker, cluster_id)
                error = Errors(connections.ask(address, body).error_code)
                if error != Errors.NOT_CONTROLLER:
                    return error.name
    raise Unreachable("No controller is active: wait until one is.")


def unregister(cluster: Cluster, broker: int) -> str:
    """NONE, or the error that the cluster answers to UnregisterBroker."""
    return Errors(ask_any(cluster, m.UnregisterBrokerRequest(broker)).error_code).name


def standing(cluster: Cluster) -> list[str]:
    """Every registered broker, and whether it is in service or fenced."""
    answer = ask_any(cluster, m.DescribeClusterRequest(include_fenced_brokers=True))
    found = sorted(answer.brokers, key=lambda each: each.broker_id)
    return [f"{each.broker_id} {'fenced' if each.is_fenced else 'in service'}" for each in found]


def addresses(cluster: Cluster) -> dict[int, str]:
    """The brokers that clients hear of, and where they are."""
    known = sorted(ask_any(cluster, m.MetadataRequest([])).brokers, key=lambda each: each.node_id)
    return {each.node_id: f"{each.host}:{each.port}" for each in known}


def known_to_clients(cluster: Cluster) -> list[int]:
    """The ids of these brokers."""
    return list(addresses(cluster))


def _controllers(cluster: Cluster) -> list[Address]:
    places = (each.rsplit(":", 1) for each in cluster.bootstrap_controllers.split(","))
    return [(host, int(port)) for host, port in places]


def _request(connections: Connections, address: Address, broker: int, cluster_id: str) -> Any:
    """What a broker process of the cluster's own release says of itself."""
    here = connections.ask(address, m.DescribeClusterRequest(endpoint_type=CONTROLLERS))
    known = connections.ask(address, m.ApiVersionsRequest("kafka-inside-out", "1"))
    request, ids = m.BrokerRegistrationRequest, random.SystemRandom()
    return request(
        broker_id=broker,
        cluster_id=cluster_id or here.cluster_id,
        incarnation_id=uuids.new(ids),
        listeners=[request.Listener(name, *NOWHERE) for name in LISTENERS],
        features=[
            request.Feature(each.name, each.min_version, each.max_version)
            for each in known.supported_features
        ],
        log_dirs=[uuids.new(ids)],
    )
