"""JoinGroup (key 11): take part in the next generation of a group.

The answer waits until the join phase ends.  What it takes to join is in
`engine.coordinators.classic.join`.

    v0      no rebalance timeout of its own: the session timeout serves
    v4      a dynamic member without an id gets one and is sent back (KIP-394)
    v5      group.instance.id: static members (KIP-345)
    v7      the answer names the protocol type; no protocol name is null, not empty
    v8      a reason (KIP-800), which is not used
    v9      skip_assignment: a static leader that returned need not assign (KIP-814)

In a consumer group (KIP-848) a member of this protocol is answered at once, see
`engine.coordinators.consumer.classic_join`.

Simplified: a subscription is opaque until an assignor reads it; Kafka never answers a member whose
subscription it cannot read.
"""

from __future__ import annotations

from engine.broker.broker import Broker
from engine.coordinators.classic.join import check_join, join
from engine.coordinators.classic.rebalance import refuse_join
from engine.coordinators.consumer import classic_join
from engine.coordinators.consumer.migration import make_room
from engine.events import Request
from engine.wire import messages as m


def handle(broker: Broker, now: int, request: Request[m.JoinGroupRequest]) -> None:
    body = request.body
    shard, not_here = broker.groups.shard_of(body.group_id)
    error = check_join(broker.settings, body) or not_here
    if shard is None or error:
        refuse_join(broker.outbox, request, error, body.member_id)
        return
    group = shard.consumer.by_id.get(body.group_id)
    if group is not None and group.members:
        classic_join.join(shard.consumer, now, group, request)
        return
    if group is not None and not body.member_id:
        error = make_room(shard.consumer, now, group)
    if error:
        refuse_join(broker.outbox, request, error, body.member_id)
    else:
        join(shard.classic, now, request)
