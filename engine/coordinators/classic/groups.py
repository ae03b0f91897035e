"""The classic groups of one shard, and what their rules may use.

The rules (`join`, `membership`, `rebalance`) are functions over a `ClassicGroups` and one of
its groups.  What must outlive this broker goes through `log`: a group's stored form is
written when a generation gets its assignment, or when no member is left.  All else (who has
joined so far, whose answer is parked) is in memory only.

Three timers per group at most:

    join       ends the join phase
    sync       drops the members that joined and never sent SyncGroup
    session    one per member: drops it when it has not been heard of

A session is only a number in the member; its timer looks at that number when it fires, and
is set again if the member has been heard since.  So a heartbeat costs one assignment.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.coordinators.classic.group import Group, Member
from engine.coordinators.classic.stored_group import GroupRecord, restore_group
from engine.coordinators.runtime.host import Host
from engine.coordinators.runtime.shard import Store
from engine.events import ClientDeadline


@dataclass(frozen=True, slots=True)
class SessionTimer(ClientDeadline):
    """The session of a member, or of a member id that was handed out, may be over."""

    group: str
    member: str


@dataclass(frozen=True, slots=True)
class JoinTimer(ClientDeadline):
    """The join phase is over."""

    group: str


@dataclass(frozen=True, slots=True)
class SyncTimer(ClientDeadline):
    """The time to ask for an assignment is over."""

    group: str


GroupTimer = SessionTimer | JoinTimer | SyncTimer


class ClassicGroups:
    """Groups by id, and the means of their broker."""

    def __init__(self, host: Host, log: Store[GroupRecord]) -> None:
        self.outbox = host.outbox
        self.settings = host.settings
        self.ids = host.ids
        self.log = log
        self.by_id: dict[str, Group] = {}

    def replay(self, record: GroupRecord) -> None:
        """Takes over what a loaded record says."""
        if record.value is None:
            self.by_id.pop(record.group, None)
        else:
            self.by_id[record.group] = restore_group(record.group, record.value)

    def heard_from(
        self, now: int, group: Group, member: Member, timeout_ms: int | None = None
    ) -> None:
        """The member's session starts again; its timer is only touched if it is too late."""
        wait_ms = member.session_timeout_ms if timeout_ms is None else timeout_ms
        member.session_ends_at = now + wait_ms * 1000
        if not member.timer_at or member.session_ends_at < member.timer_at:
            self.watch(group, member)

    def watch(self, group: Group, member: Member) -> None:
        """Sets the member's timer to the end of its session."""
        member.timer_at = member.session_ends_at
        self.outbox.set_timer(SessionTimer(group.id, member.id), member.timer_at)

    def trace(self, rule: str, group: Group, why: str) -> None:
        self.outbox.trace(
            rule, "group", "", why,
            group=group.id, state=str(group.state), generation=group.generation,
        )  # fmt: skip
