"""ElectLeaders (key 43): put the preferred replica, or any replica, in the lead (KIP-183, KIP-460).

A broker forwards the request to the controller.  Election type 0 makes the first replica of the
list leader again, if it is in the ISR; type 1 takes any live replica where there is no leader,
even one that lacks records.  Without a list, all partitions are meant.

Versions: 0 knows preferred elections only; 1+ election type and an error for the request;
2+ flexible.
"""

from __future__ import annotations

from engine.broker.broker import Broker
from engine.events import Request
from engine.wire import messages as m
from engine.wire.errors import Errors


def handle(broker: Broker, now: int, request: Request[m.ElectLeadersRequest]) -> None:
    broker.forward(now, request)


def fit(
    request: Request[m.ElectLeadersRequest], answer: m.ElectLeadersResponse, refused: object
) -> m.ElectLeadersResponse:
    """Version 0 has no room for an error of the whole request: the rows tell it."""
    if request.version >= 1:
        return answer
    return m.ElectLeadersResponse(answer.throttle_time_ms, 0, answer.replica_election_results)


def refuse(
    request: Request[m.ElectLeadersRequest], code: Errors, message: str | None
) -> m.ElectLeadersResponse:
    return m.ElectLeadersResponse(
        error_code=code if request.version >= 1 else 0,
        replica_election_results=[
            m.ElectLeadersResponse.ReplicaElectionResult(
                topic=topic.topic,
                partition_result=[
                    m.ElectLeadersResponse.PartitionResult(
                        partition_id=index, error_code=code, error_message=message
                    )
                    for index in topic.partitions
                ],
            )
            for topic in request.body.topic_partitions or ()
        ],
    )
