"""Changes of the quorum's voters, asked for from outside, as an operator's tool does (KIP-853).

The answer is of no interest here: a change that is refused is none, and the trace tells of those
that are appended.  engine/sim/world/voter_requests.py is for those who wait for the answer.
"""

from __future__ import annotations

from engine.cluster.cluster import Cluster
from engine.control.controller import Controller
from engine.events import Request
from engine.quorum import raft_messages
from engine.wire import messages as m
from engine.wire.structures import Message, RequestMessage

OPERATOR = "operator"
TIMEOUT_MS = 2_000


def add_voter(cluster: Cluster, node_id: int, leader: int = -1) -> None:
    """Asks the active controller, or `leader`, to make a running controller a voter."""
    node = cluster.nodes.get(node_id)
    itself = node.replica.state.itself if isinstance(node, Controller) else None
    asked = _asked(cluster, leader)
    if itself is not None and asked is not None:
        _ask(cluster, asked, raft_messages.add_voter(None, itself, TIMEOUT_MS))
    cluster.note(
        "cluster.voters.add_voter", node_id, "add-voter", "asked of the leader, if it runs"
    )


def remove_voter(cluster: Cluster, node_id: int, leader: int = -1) -> None:
    """Asks the active controller, or `leader`, to take a controller from the voters."""
    asked = _asked(cluster, leader)
    if asked is not None:
        key = asked.replica.state.history.voters.key_of(node_id)
        _ask(cluster, asked, m.RemoveRaftVoterRequest(None, *key))
    cluster.note("cluster.voters.remove_voter", node_id, "remove-voter", "asked of the leader")


def _asked(cluster: Cluster, leader: int) -> Controller | None:
    found = cluster.controller if leader < 0 else cluster.nodes.get(leader)
    return found if isinstance(found, Controller) else None


def _ask(cluster: Cluster, asked: Controller, body: RequestMessage[Message]) -> None:
    cluster.submit(asked.node_id, Request(OPERATOR, 0, body.LATEST, body, OPERATOR))
