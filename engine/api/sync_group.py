"""SyncGroup (key 14): the leader hands in the assignment, everyone gets a share.

The answer waits until the assignment is replicated.  See `engine.coordinators.classic.membership`.

    v3      group.instance.id (KIP-345)
    v5      protocol type and name are required, and must be the group's (KIP-559)

In a consumer group (KIP-848) the coordinator assigns; everyone fetches its share.
"""

from __future__ import annotations

from engine.broker.broker import Broker
from engine.coordinators.classic.membership import check_sync, sync
from engine.coordinators.consumer import classic_members
from engine.events import Request
from engine.wire import messages as m


def handle(broker: Broker, now: int, request: Request[m.SyncGroupRequest]) -> None:
    shard, not_here = broker.groups.shard_of(request.body.group_id)
    error = check_sync(request) or not_here
    if shard is None or error:
        broker.outbox.reply(request, m.SyncGroupResponse(error_code=error))
        return
    group = shard.consumer.by_id.get(request.body.group_id)
    if group is None:
        sync(shard.classic, now, request)
    else:
        classic_members.sync(shard.consumer, now, group, request)
