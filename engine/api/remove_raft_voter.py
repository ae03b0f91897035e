"""RemoveRaftVoter (key 81): takes a controller from the voters of the metadata log (KIP-853).

A broker forwards the request to the controllers; the leader of the quorum decides, and answers
once a majority of the voters that are left has the change (engine/quorum/voter_changes.py).  The
controller itself goes on as an observer.
"""

from __future__ import annotations

from engine.broker.broker import Broker
from engine.events import Request
from engine.wire import messages as m


def handle(broker: Broker, now: int, request: Request[m.RemoveRaftVoterRequest]) -> None:
    broker.forward(now, request)
