"""ListGroups (key 16): the groups that this broker coordinates.  Ask every broker.

    v4      filter by state, and the state in the answer (KIP-518)
    v5      filter by type, and the type in the answer (KIP-848)

Filters ignore case; an empty filter lets all pass.  Types are `classic` and `consumer`.
"""

from __future__ import annotations

from engine.broker.broker import Broker
from engine.coordinators.consumer.group import ConsumerGroup
from engine.events import Request
from engine.wire import messages as m


def handle(broker: Broker, now: int, request: Request[m.ListGroupsRequest]) -> None:
    states = [each.lower() for each in request.body.states_filter]
    types = [each.lower() for each in request.body.types_filter]
    answer = m.ListGroupsResponse()
    for shard in broker.groups.shards:
        for group in shard.groups():
            group_type = "consumer" if isinstance(group, ConsumerGroup) else "classic"
            if states and str(group.state).lower() not in states:
                continue
            if types and group_type not in types:
                continue
            answer.groups.append(
                m.ListGroupsResponse.ListedGroup(
                    group_id=group.id,
                    protocol_type=group.protocol_type,
                    group_state=str(group.state),
                    group_type=group_type,
                )
            )
    broker.outbox.reply(request, answer)
