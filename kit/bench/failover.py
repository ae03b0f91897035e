"""The active controller is killed: how long until another one answers, on both sides.

Three controllers on each side, with Kafka's own timeouts.  A round kills the active one (SIGKILL),
asks a broker for the leader of the quorum until it is another node, and starts the killed one
again.  The sides take turns; the row compares the medians of all rounds.

    kafkalab bench failover --rounds 20
"""

from __future__ import annotations

import statistics
import time
from time import perf_counter
from typing import Any

from kit.bench.cluster import at_most
from kit.clusters import engine, local
from kit.clusters.connections import Connections, Unreachable
from kit.clusters.kafka_cluster import KafkaCluster
from kit.clusters.snapshot import quorum_in, quorum_request

CONTROLLERS = 3
BUDGET = 1.1
_PATIENCE_S = 60.0
_POLL_S = 0.01
_REST_S = 3.0
"""After a start, until the voter has copied the log and every broker knows the leader."""


def measure(rounds: int = 3) -> list[dict[str, Any]]:
    """One row: the medians, in seconds."""
    taken: dict[str, list[float]] = {"ours": [], "theirs": []}
    with (
        engine.start(controllers=CONTROLLERS) as ours,
        local.start(links=False, controllers=CONTROLLERS) as theirs,
    ):
        for _ in range(rounds):
            for side, cluster in (("ours", ours), ("theirs", theirs)):
                taken[side].append(takeover_s(cluster))
    here, there = (statistics.median(taken[side]) for side in ("ours", "theirs"))
    return [at_most("another controller leads after SIGKILL", "s", here, there, BUDGET)]


def takeover_s(cluster: KafkaCluster) -> float:
    """Kills the active controller; the seconds until a broker names another one."""
    connections = Connections(_PATIENCE_S)
    former = _leader(cluster, connections)
    cluster.kill(former)
    begun = perf_counter()
    while _leader(cluster, connections) in (former, -1):
        if perf_counter() - begun > _PATIENCE_S:
            raise RuntimeError(f"no controller has followed {former} in {_PATIENCE_S:.0f} s")
        time.sleep(_POLL_S)
    taken = perf_counter() - begun
    connections.close()
    cluster.start(former)
    time.sleep(_REST_S)
    return taken


def _leader(cluster: KafkaCluster, connections: Connections) -> int:
    """The leader of the quorum, as a broker passes it on; -1 while none answers."""
    address = cluster.provider.nodes()[cluster.brokers[0]].address
    assert address is not None, "a broker of the kit has an address"
    try:
        quorum = quorum_in(connections.ask(address, quorum_request()))
    except Unreachable:
        return -1
    return -1 if quorum is None else int(quorum.leader_id)
