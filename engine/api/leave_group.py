"""LeaveGroup (key 13): members go, and the others need not wait for their sessions.

    v0-2    one member, one error
    v3      several members, an error for each; a static member may be named by its
            instance id alone, by an administrator (KIP-345)
    v5      a reason for each (KIP-800), which is not used

Members of a consumer group (KIP-848) may be removed too; the answer waits until that is
replicated.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.broker.broker import Broker
from engine.coordinators.classic.membership import leave
from engine.coordinators.consumer import classic_members
from engine.events import Outbox, Request
from engine.wire import messages as m
from engine.wire.errors import Errors


def handle(broker: Broker, now: int, request: Request[m.LeaveGroupRequest]) -> None:
    body = request.body
    if request.version < 3:
        leaving: list[tuple[str, str | None]] = [(body.member_id, None)]
    else:
        leaving = [(each.member_id, each.group_instance_id) for each in body.members]
    answer = Answer(broker.outbox, request, leaving)
    shard, error = broker.groups.shard_of(body.group_id)
    if not body.group_id:
        error = Errors.INVALID_GROUP_ID
    if shard is None or error is not Errors.NONE:
        answer.stored(now, error)
        return
    group = shard.consumer.by_id.get(body.group_id)
    if group is None:
        answer.errors = leave(shard.classic, now, body.group_id, leaving)
        answer.stored(now, Errors.NONE)
    else:
        answer.errors = classic_members.check_leaving(group, leaving)
        classic_members.leave(shard.consumer, now, group, leaving, answer)


@dataclass(slots=True)
class Answer:
    """One error for each member that leaves, or one for all of them."""

    outbox: Outbox
    request: Request[m.LeaveGroupRequest]
    leaving: list[tuple[str, str | None]]
    errors: list[Errors] = field(default_factory=list)

    def stored(self, now: int, error: Errors) -> None:
        answer = m.LeaveGroupResponse(error_code=error)
        errors = self.errors if error is Errors.NONE else []
        if self.request.version < 3:
            answer.error_code = next((each for each in errors if each), error)
        else:
            answer.members = [
                m.LeaveGroupResponse.MemberResponse(
                    member_id=member_id, group_instance_id=instance_id, error_code=each
                )
                for (member_id, instance_id), each in zip(self.leaving, errors, strict=False)
            ]
        self.outbox.reply(self.request, answer)
