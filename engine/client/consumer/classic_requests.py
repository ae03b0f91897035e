"""The four requests of a classic member, filled in from its settings and its state.

Each names the group and the member, and, once there is one, the generation.  A static member also
sends its instance id: with it the coordinator tells two processes of one name apart, and fences
the older one.
"""

from __future__ import annotations

from engine.client.consumer.commits import Identity
from engine.client.consumer.settings import ConsumerSettings
from engine.wire import consumer_protocol
from engine.wire import messages as m


def join(
    settings: ConsumerSettings, member_id: str, subscriptions: list[tuple[str, bytes]], why: str
) -> m.JoinGroupRequest:
    """Wants to be in the next generation; one subscription for each assignor."""
    request = m.JoinGroupRequest
    return request(
        group_id=settings.group_id, member_id=member_id,
        group_instance_id=settings.group_instance_id or None,
        protocol_type=consumer_protocol.PROTOCOL_TYPE,
        protocols=[request.JoinGroupRequestProtocol(*each) for each in subscriptions],
        session_timeout_ms=settings.session_timeout_ms,
        rebalance_timeout_ms=settings.max_poll_interval_ms, reason=why or None,
    )  # fmt: skip


def sync(
    settings: ConsumerSettings, member: Identity, assignor: str, assignments: dict[str, bytes]
) -> m.SyncGroupRequest:
    """Wants its share; the leader brings the shares of all."""
    request = m.SyncGroupRequest
    return request(
        group_id=settings.group_id, generation_id=member.generation, member_id=member.member_id,
        group_instance_id=settings.group_instance_id or None,
        protocol_type=consumer_protocol.PROTOCOL_TYPE, protocol_name=assignor,
        assignments=[
            request.SyncGroupRequestAssignment(member_id=each, assignment=share)
            for each, share in assignments.items()
        ],
    )  # fmt: skip


def heartbeat(settings: ConsumerSettings, member: Identity) -> m.HeartbeatRequest:
    return m.HeartbeatRequest(
        group_id=settings.group_id, generation_id=member.generation, member_id=member.member_id,
        group_instance_id=settings.group_instance_id or None,
    )  # fmt: skip


def leave(settings: ConsumerSettings, member: Identity, why: str) -> m.LeaveGroupRequest:
    row = m.LeaveGroupRequest.MemberIdentity(member_id=member.member_id, reason=why)
    return m.LeaveGroupRequest(group_id=settings.group_id, members=[row])
