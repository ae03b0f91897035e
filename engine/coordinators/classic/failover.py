"""A group's coordinator moves: what its old broker lets go and its new broker takes up.

The old one sends every waiting client to its successor (NOT_COORDINATOR).  The new one has
the last stored generation with all its members.  It gives each of them a fresh session, so
a move costs no member a session timeout, and the heartbeats go on under the same generation.
"""

from __future__ import annotations

from engine.coordinators.classic import rebalance
from engine.coordinators.classic.group import Group
from engine.coordinators.classic.groups import ClassicGroups, JoinTimer, SessionTimer, SyncTimer
from engine.coordinators.classic.states import GroupEvent
from engine.wire import messages as m
from engine.wire.errors import Errors


def loaded(groups: ClassicGroups, now: int) -> None:
    """The groups are as the log has them; time begins to count for their members."""
    for group in groups.by_id.values():
        for member in group.members.values():
            groups.heard_from(now, group, member)
        if len(group.members) > groups.settings["group.max.size"]:
            rebalance.prepare(groups, now, group, "more members than group.max.size")


def unloaded(groups: ClassicGroups, now: int) -> None:
    """Another broker coordinates these groups."""
    for group in groups.by_id.values():
        let_go(groups, now, group, Errors.NOT_COORDINATOR, "its coordinator moved")


def let_go(groups: ClassicGroups, now: int, group: Group, answer: Errors, why: str) -> None:
    """The group ends here: those who wait get `answer`, and no timer fires any more."""
    group.moves(now, GroupEvent.UNLOADED)
    groups.trace("coordinators.classic.failover.let_go", group, why)
    _send_away(groups, group, answer)
    for member_id in group.pending_members:
        groups.outbox.cancel_timer(SessionTimer(group.id, member_id))
    groups.outbox.cancel_timer(JoinTimer(group.id))
    groups.outbox.cancel_timer(SyncTimer(group.id))


def _send_away(groups: ClassicGroups, group: Group, error: Errors) -> None:
    for member in group.members.values():
        joining = group.take_join(member)
        if joining is not None:
            rebalance.refuse_join(groups.outbox, joining, error, member.id)
        syncing, member.syncing = member.syncing, None
        if syncing is not None:
            groups.outbox.reply(syncing, m.SyncGroupResponse(error_code=error))
        groups.outbox.cancel_timer(SessionTimer(group.id, member.id))
