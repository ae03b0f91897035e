"""LeaveGroup (key 13): members go, and the others need not wait for their sessions.

    v0-2    one member, one error
    v3      several members, an error for each; a static member may be named by its
            instance id alone, by an administrator (KIP-345)
    v5      a reason for each (KIP-800), which is not used

Nothing is left out for classic groups.
"""

from __future__ import annotations

from engine.broker.broker import Broker
from engine.coordinators.classic.membership import leave
from engine.events import Request
from engine.wire import messages as m
from engine.wire.errors import Errors


def handle(broker: Broker, now: int, request: Request[m.LeaveGroupRequest]) -> None:
    body = request.body
    answer, errors = m.LeaveGroupResponse(), list[Errors]()
    if request.version < 3:
        leaving: list[tuple[str, str | None]] = [(body.member_id, None)]
    else:
        leaving = [(each.member_id, each.group_instance_id) for each in body.members]
    shard, answer.error_code = broker.groups.shard_of(body.group_id)
    if not body.group_id:
        answer.error_code = Errors.INVALID_GROUP_ID
    elif shard is not None:
        errors = leave(shard.classic, now, body.group_id, leaving)
    if request.version < 3:
        answer.error_code = next((each for each in errors if each), answer.error_code)
    else:
        answer.members = [
            m.LeaveGroupResponse.MemberResponse(
                member_id=member_id, group_instance_id=instance_id, error_code=error
            )
            for (member_id, instance_id), error in zip(leaving, errors, strict=False)
        ]
    broker.outbox.reply(request, answer)
