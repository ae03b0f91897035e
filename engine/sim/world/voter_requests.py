"""The requests that change the voters of a world's quorum, and what may come of them."""

from __future__ import annotations

from engine.cluster.cluster import Cluster
from engine.quorum import raft_messages
from engine.quorum.replica import Replica
from engine.wire import messages as m
from engine.wire.errors import Errors, KafkaError

Answer = m.AddRaftVoterResponse | m.RemoveRaftVoterResponse
RETRIABLE = (Errors.REQUEST_TIMED_OUT, Errors.NOT_LEADER_OR_FOLLOWER, Errors.NOT_CONTROLLER)
TIMEOUT_MS, TRIES, PAUSE_S = 2_000, 20, 0.5


def addition(replica: Replica) -> m.AddRaftVoterRequest:
    """For a controller that runs: its directory and its address."""
    itself = replica.state.itself
    if itself is None:
        raise ValueError("The voters of this world are fixed: make it with voters=3, or so many.")
    return raft_messages.add_voter(None, itself, TIMEOUT_MS)


def removal(cluster: Cluster, controller: int) -> m.RemoveRaftVoterRequest:
    """For a voter; ValueError if the active controller, or another that runs, knows none."""
    nodes = [cluster.nodes[each] for each in cluster.spec.controllers if each in cluster.nodes]
    if not nodes:
        raise ValueError("No controller runs that knows the voters.")
    known = (cluster.controller or nodes[0]).replica.state.history.voters
    if controller not in known.ids:
        names = ", ".join(map(str, known.ids))
        raise ValueError(f"{controller} is no voter; the voters are {names}.")
    return m.RemoveRaftVoterRequest(None, *known.key_of(controller))


def check(answer: Answer | None) -> None:
    """KafkaError for a change that was refused, or that none has answered."""
    if answer is None:
        raise KafkaError(Errors.REQUEST_TIMED_OUT, "no controller answered.")
    if answer.error_code != Errors.NONE:
        raise KafkaError(Errors(answer.error_code), answer.error_message or "")
