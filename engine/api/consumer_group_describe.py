"""ConsumerGroupDescribe (key 69): a consumer group with its epochs, targets and members (KIP-848).

A classic group is GROUP_ID_NOT_FOUND here, as a consumer group is in DescribeGroups: clients ask
both.

    v1      the protocol that each member speaks (KIP-1099)

Left out: authorization.
"""

from __future__ import annotations

from engine.api.consumer_group_heartbeat import check_protocol
from engine.api.operations import GROUP_OPERATIONS
from engine.broker.broker import Broker
from engine.coordinators.consumer.shown import described
from engine.events import Request
from engine.wire import messages as m
from engine.wire.errors import Errors

Row = m.ConsumerGroupDescribeResponse.DescribedGroup


def handle(broker: Broker, now: int, request: Request[m.ConsumerGroupDescribeRequest]) -> None:
    check_protocol(broker)
    body = request.body
    answer = m.ConsumerGroupDescribeResponse(
        groups=[_describe(broker, each) for each in body.group_ids]
    )
    for row in answer.groups:
        if body.include_authorized_operations and not row.error_code:
            row.authorized_operations = GROUP_OPERATIONS
    broker.outbox.reply(request, answer)


def refuse(
    request: Request[m.ConsumerGroupDescribeRequest], code: Errors, message: str | None
) -> m.ConsumerGroupDescribeResponse:
    rows = [Row(code, message, each) for each in request.body.group_ids]
    return m.ConsumerGroupDescribeResponse(groups=rows)


def _describe(broker: Broker, group_id: str) -> Row:
    if not group_id:
        return Row(Errors.INVALID_GROUP_ID, None, group_id)
    shard, error = broker.groups.shard_of(group_id)
    if shard is None:
        return Row(error, None, group_id)
    group = shard.consumer.by_id.get(group_id)
    if group is not None:
        return described(shard.consumer, group)
    what = "is not a consumer group" if group_id in shard.classic.by_id else "not found"
    return Row(Errors.GROUP_ID_NOT_FOUND, f"Group {group_id} {what}.", group_id)
