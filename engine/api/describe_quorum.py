"""DescribeQuorum (key 55): who votes on the metadata log, who only reads it (KIP-595).

A broker forwards the request to the controller, the leader of the metadata log, which knows how
far each reader has fetched.

Only partition 0 of __cluster_metadata can be asked for, alone.

Simplified: brokers have no directory id; nor have voters that cannot change (kraft.version 0).
Versions: 1+ times of the last fetch, 2+ directory ids and the voters' addresses.
"""

from __future__ import annotations

import copy

from engine.broker.broker import Broker
from engine.events import Request
from engine.wire import messages as m
from engine.wire import uuids
from engine.wire.errors import Errors


def handle(broker: Broker, now: int, request: Request[m.DescribeQuorumRequest]) -> None:
    broker.forward(now, request)


def refuse(
    request: Request[m.DescribeQuorumRequest], code: Errors, message: str | None
) -> m.DescribeQuorumResponse:
    return m.DescribeQuorumResponse(error_code=code, error_message=message)


def fit(
    request: Request[m.DescribeQuorumRequest], answer: m.DescribeQuorumResponse, refused: object
) -> m.DescribeQuorumResponse:
    """Directory ids and addresses are only for clients that asked in version 2."""
    if request.version >= 2:
        return answer
    topics = copy.deepcopy(answer.topics)
    for topic in topics:
        for partition in topic.partitions:
            for replica in (*partition.current_voters, *partition.observers):
                replica.replica_directory_id = uuids.ZERO
    return m.DescribeQuorumResponse(error_code=answer.error_code, topics=topics)
