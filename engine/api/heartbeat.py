"""Heartbeat (key 12): a member says that it is alive, and learns whether a rebalance began.

    v3      group.instance.id: a member whose name was taken over is fenced (KIP-345)

In a consumer group (KIP-848) the generation is the member epoch.
"""

from __future__ import annotations

from engine.broker.broker import Broker
from engine.coordinators.classic.membership import heartbeat
from engine.coordinators.consumer import classic_members
from engine.events import Request
from engine.wire import messages as m
from engine.wire.errors import Errors


def handle(broker: Broker, now: int, request: Request[m.HeartbeatRequest]) -> None:
    body = request.body
    shard, error = broker.groups.shard_of(body.group_id)
    if not body.group_id:
        error = Errors.INVALID_GROUP_ID
    elif shard is not None:
        group = shard.consumer.by_id.get(body.group_id)
        if group is None:
            error = heartbeat(shard.classic, now, body)
        else:
            error = classic_members.heartbeat(shard.consumer, now, group, body)
    broker.outbox.reply(request, m.HeartbeatResponse(error_code=error))
