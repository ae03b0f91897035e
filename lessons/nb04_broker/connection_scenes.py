"""Scenarios of notebook 04 on connections: how many a broker accepts."""

from __future__ import annotations

import time
from collections.abc import Callable

from engine.wire import messages as m
from kit.both.outcomes import measured
from kit.clusters.interface import Cluster
from kit.probes.clients import ask, set_broker_config
from kit.probes.raw_client import RawClient, addresses
from lessons.nb04_broker.scenes import PATIENCE_S, SHORT_S, Seen

CROWD = 20


def connection_limits(cluster: Cluster) -> Seen:
    """max.connections.per.ip lowered, and lifted for one address, while the broker runs."""
    limit, exceptions = "max.connections.per.ip", "max.connections.per.ip.overrides"
    crowd = Crowd(cluster, 103)
    try:
        set_broker_config(cluster, "103", limit, str(CROWD // 2))
        served = crowd.served_until(lambda count: count < CROWD)
        set_broker_config(cluster, "103", exceptions, f"127.0.0.2:{10 * CROWD}")
        cluster.wait_until(lambda c: "127.0.0.2" in _broker_config(c, exceptions), PATIENCE_S)
        other_address = crowd.served_until(lambda count: True)
        set_broker_config(cluster, "103", exceptions, f"127.0.0.1:{10 * CROWD}")
        with_exception = crowd.served_until(lambda count: count == CROWD)
    finally:
        crowd.leave()
        set_broker_config(cluster, "103", exceptions, "")
        set_broker_config(cluster, "103", limit, "2147483647")
    return {
        f"{limit}={CROWD // 2}, {CROWD} clients come: too many for it": served < CROWD,
        "served": measured(served, "clients"),
        "127.0.0.2 as an exception: too many from 127.0.0.1": other_address < CROWD,
        "127.0.0.1 as an exception: served": with_exception,
        "max.connections": waiting_at_the_door(cluster),
    }


def _broker_config(cluster: Cluster, setting: str) -> str:
    """A setting of 103, as 103 itself has it."""
    request = m.DescribeConfigsRequest
    resource = request.DescribeConfigsResource(4, "103", [setting])
    return str(ask(cluster, 103, request([resource])).results[0].configs[0].value)


def waiting_at_the_door(cluster: Cluster) -> Seen:
    """A limit for all clients together: the next one waits until another leaves.

    Kafka's brokers connect to a listener of their own, so the limit is that of the clients'
    listener.
    """
    own_port = cluster.name != "engine"
    setting = "listener.name.client.max.connections" if own_port else "max.connections"
    address, clients = addresses(cluster)[103], []
    set_broker_config(cluster, "103", setting, str(CROWD // 2))
    try:
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            clients.append(RawClient.at(address, "crowd"))
            if _is_held(clients[-1], clients[:-1]):
                break
            if len(clients) == CROWD:  # the broker does not know the limit yet
                while clients:
                    clients.pop().close()
        waits = clients[-1]
        silent = not waits.answers(SHORT_S)
        for client in clients[:-1]:
            client.close()
        return {"the next one": "waits" if silent else "served",
                "when the others have left": "served" if waits.answers() else "waits"}  # fmt: skip
    finally:
        for client in clients:
            client.close()
        set_broker_config(cluster, "103", setting, "2147483647")


def _is_held(newest: RawClient, others: list[RawClient]) -> bool:
    """Whether it gets no answer while others do, so that the broker is not merely busy."""
    if newest.answers(3 * SHORT_S):
        return False
    return all(each.answers() for each in others) and not newest.answers(3 * SHORT_S)


class Crowd:
    """Many clients at the door of one broker."""

    def __init__(self, cluster: Cluster, broker: int) -> None:
        self.cluster, self.address = cluster, addresses(cluster)[broker]
        self.clients: list[RawClient] = []

    def served_until(self, holds: Callable[[int], bool]) -> int:
        """How many of the crowd get an answer, once the broker acts by its new setting."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            self.leave()
            self.clients = [RawClient.at(self.address, "crowd") for _ in range(CROWD)]
            served = sum(each.answers() for each in self.clients)
            if holds(served) or time.monotonic() > deadline:
                self.leave()
                return served

    def leave(self) -> None:
        for client in self.clients:
            client.close()
        self.clients = []
