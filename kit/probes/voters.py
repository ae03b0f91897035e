"""Which controllers vote, and asks the quorum to change that while it works (KIP-853).

    standing(cluster)         Standing(leader=100, epoch=1, voters=[100, 200, 300], observers=[400])
    add(cluster, 400)         NONE: 400 votes
    remove(cluster, 100)      NONE: 100 has no vote any more, and if it led, another leads soon

The requests are those of `kafka-metadata-quorum.sh`, which reads a controller's directory id from
its files; here the quorum itself says it.  Only voters that began with `kraft.version` 1 change.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from engine.quorum.voters import LISTENER
from engine.wire import messages as m
from engine.wire.errors import Errors
from kit.clusters.interface import Cluster, ClusterError, WaitTimeout
from kit.clusters.kafka_cluster import POLL_S, KafkaCluster
from kit.clusters.snapshot import quorum_in, quorum_request
from kit.probes.clients import ANSWER_S, ask_any

PATIENCE_S = 30.0
NOT_NOW = (
    Errors.REQUEST_TIMED_OUT,
    Errors.NOT_CONTROLLER,
    Errors.NOT_LEADER_OR_FOLLOWER,
    Errors.LEADER_NOT_AVAILABLE,
)
"""Answers after which Kafka's own client asks again."""


@dataclass(frozen=True)
class Standing:
    """The leader and its epoch, and the controllers with and without a vote."""

    leader: int
    epoch: int
    voters: list[int]
    observers: list[int]


def standing(cluster: Cluster) -> Standing:
    """As DescribeQuorum says it.  Brokers observe as well; they are left out."""
    quorum = _described(cluster)
    controllers = set(_controllers(cluster))
    observing = {each.replica_id for each in quorum.observers}
    return Standing(
        quorum.leader_id,
        quorum.leader_epoch,
        sorted(each.replica_id for each in quorum.current_voters),
        sorted(observing & controllers),
    )


def add(cluster: Cluster, controller: int) -> str:
    """NONE once a majority of the new voters has written it down, or the error."""
    request = m.AddRaftVoterRequest
    key = controller, _directory(cluster, controller)
    host, _, port = _places(cluster)[controller].rpartition(":")
    listeners = [request.Listener(LISTENER, host, int(port))]
    timeout_ms = int(1000 * ANSWER_S)
    return _until_decided(cluster, request(None, timeout_ms, *key, listeners))


def remove(cluster: Cluster, controller: int) -> str:
    """NONE once a majority of the voters that are left has written it down, or the error."""
    key = controller, _directory(cluster, controller)
    return _until_decided(cluster, m.RemoveRaftVoterRequest(None, *key))


def _until_decided(cluster: Cluster, request: Any) -> str:
    deadline = time.monotonic() + PATIENCE_S
    while True:
        error = Errors(ask_any(cluster, request).error_code)
        if error not in NOT_NOW:
            return error.name
        if time.monotonic() > deadline:
            raise WaitTimeout(f"{PATIENCE_S:.0f} s of {error.name}: does a majority vote?")
        time.sleep(POLL_S)


def _directory(cluster: Cluster, controller: int) -> bytes:
    quorum = _described(cluster)
    for each in (*quorum.current_voters, *quorum.observers):
        if each.replica_id == controller:
            found: bytes = each.replica_directory_id
            return found
    raise ClusterError(f"Controller {controller} neither votes nor observes: start it.")


def _described(cluster: Cluster) -> Any:
    """What the leader knows of all who copy the log."""
    deadline = time.monotonic() + PATIENCE_S
    while (found := quorum_in(ask_any(cluster, quorum_request()))) is None:
        if time.monotonic() > deadline:
            raise WaitTimeout(f"{PATIENCE_S:.0f} s without a leader: does a majority vote?")
        time.sleep(POLL_S)
    return found


def _places(cluster: Cluster) -> dict[int, str]:
    return dict(zip(_controllers(cluster), cluster.bootstrap_controllers.split(","), strict=True))


def _controllers(cluster: Cluster) -> list[int]:
    assert isinstance(cluster, KafkaCluster)
    return [each.id for each in cluster.provider.nodes().values() if each.is_controller]
