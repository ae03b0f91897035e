"""AddRaftVoter (key 80): makes a controller a voter of the metadata log (KIP-853).

A broker forwards the request to the controllers; the leader of the quorum decides, and answers
once a majority of the new voters has the change (engine/quorum/voter_changes.py).

Simplified: the leader asks the new voter by its id; the addresses in the request are only kept.
The voters change only in a cluster that began with kraft.version 1.  A listener without a name is
refused; it ends the controller of Kafka 4.3.1.
Versions: 1 answered when the leader has written it, if so wished.
"""

from __future__ import annotations

from engine.broker.broker import Broker
from engine.events import Request
from engine.wire import messages as m


def handle(broker: Broker, now: int, request: Request[m.AddRaftVoterRequest]) -> None:
    broker.forward(now, request)
