"""A consumer group's coordinator moves.

The new one has every accepted change: all of a group is in the log, also a rebalance under way.
Members keep their epochs and what they own.  Each gets a fresh session, and one that was
giving back gets its whole rebalance timeout again.  Its next heartbeat goes on where the last one
ended.

The old one has nothing to send away but the answers that wait for replication.
"""

from __future__ import annotations

from engine.coordinators.consumer.advance import keep_deadline
from engine.coordinators.consumer.groups import ConsumerGroups
from engine.coordinators.consumer.states import MemberState


def loaded(groups: ConsumerGroups, now: int) -> None:
    """The groups are as the log has them; time begins to count for their members."""
    for group in groups.by_id.values():
        for member in group.members.values():
            classic = member.classic
            session_ms = None if classic is None else classic.session_timeout_ms
            groups.heard_from(now, group.id, member.id, session_ms)
            if member.state is MemberState.UNREVOKED_PARTITIONS:
                keep_deadline(groups, now, group.id, member)


def unloaded(groups: ConsumerGroups) -> None:
    """Another broker coordinates these groups."""
    for group in list(groups.by_id.values()):
        groups.trace("coordinators.consumer.failover.unloaded", group, "its coordinator moved")
        groups.forget(group)
