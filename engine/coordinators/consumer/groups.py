"""The consumer groups of one shard, and what their rules may use.

The rules (`heartbeat`, `leave`, `classic_members`, `migration`) draw a change up in a `Draft` and
hand it to `accept`: the log first, then memory.  An answer waits until its records are
replicated, and so does one that changes nothing, for what was on its way before it.

Timers, each for one member:

    session     it has not been heard from
    revocation  it has not given back in time: its own `max.poll.interval.ms`
    join, sync  it speaks the classic protocol and has not sent JoinGroup or SyncGroup

A session is a number; its timer looks at that number when it fires, and is set again if the
member has been heard from since.  So a heartbeat costs one assignment.  Timers are in memory
only.  A new coordinator gives everybody a fresh session.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from engine.coordinators.classic.groups import ClassicGroups
from engine.coordinators.classic.stored_group import GroupRecord
from engine.coordinators.consumer.draft import Draft
from engine.coordinators.consumer.group import ConsumerGroup
from engine.coordinators.consumer.stored_group import ConsumerRecord, apply
from engine.coordinators.runtime.host import Host
from engine.coordinators.runtime.shard import Store
from engine.events import ClientDeadline, Outbox, Request, Stored
from engine.metadata.image import MetadataImage
from engine.settings import Settings
from engine.settings.group_config import GroupConfig
from engine.settings.sources import GROUP
from engine.wire.errors import Errors
from engine.wire.structures import Message, RequestMessage


class Deadline(StrEnum):
    """What a member's timer is for."""

    SESSION = "session"
    REVOCATION = "revocation"
    JOIN = "join"
    SYNC = "sync"


@dataclass(frozen=True, slots=True)
class MemberTimer(ClientDeadline):
    """A member of a consumer group may have missed a deadline."""

    deadline: Deadline
    group: str
    member: str


@dataclass(slots=True)
class Session:
    """When a member's session ends, and when its timer looks at that."""

    ends_at: int
    timer_at: int
    timeout_ms: int


@dataclass(slots=True)
class Answer:
    """A response that waits until its records are replicated; a failure refuses all of it."""

    outbox: Outbox
    request: Request[RequestMessage[Message]]
    body: Message
    refused: Message
    """What goes out instead when the records are not stored; it has an `error_code`."""

    def stored(self, now: int, error: Errors) -> None:
        if error is Errors.NONE:
            self.outbox.reply(self.request, self.body)
        else:
            self.refused.error_code = error  # type: ignore[attr-defined]
            self.outbox.reply(self.request, self.refused)


class ConsumerGroups:
    """Groups by id, and the means of their broker; an id is in here or among the classic ones."""

    def __init__(
        self, host: Host, log: Store[ConsumerRecord | GroupRecord], classic: ClassicGroups
    ) -> None:
        self.host = host
        self.outbox = host.outbox
        self.settings: Settings = host.settings
        self.ids = host.ids
        self.log = log
        self.classic = classic
        self.by_id: dict[str, ConsumerGroup] = {}
        self.sessions: dict[tuple[str, str], Session] = {}
        self.joins_awaited: dict[tuple[str, str], None] = {}
        self.metadata_seen: dict[str, int] = {}

    @property
    def metadata(self) -> MetadataImage:
        return self.host.metadata

    def config(self, group_id: str) -> GroupConfig:
        """A group's configs: its own, else the broker's (KIP-848)."""
        return GroupConfig(self.settings, self.metadata.configs.get((GROUP, group_id), {}))

    def replay(self, record: ConsumerRecord) -> None:
        """Takes over what a loaded record says."""
        group = self.by_id.get(record.group)
        if group is None and record.value is not None:
            group = self.by_id[record.group] = ConsumerGroup(record.group)
        if group is not None:
            apply(group, record)
            if record.ends_group:
                del self.by_id[group.id]

    def accept(self, now: int, draft: Draft, then: Stored | None = None) -> bool:
        """Writes a draft down and makes it true; False if the log refused it."""
        error = self.log.store(now, draft.records, then)
        if error is not Errors.NONE:
            return False
        if draft.metadata_offset >= 0:
            self.metadata_seen[draft.group.id] = draft.metadata_offset
        if draft.is_copy:
            self.by_id[draft.group.id] = draft.group
            for member_id in draft.left:
                self.cancel_timers(draft.group.id, member_id)
            if any(isinstance(each, ConsumerRecord) and each.ends_group for each in draft.records):
                self.forget(draft.group)
        return True

    def forget(self, group: ConsumerGroup) -> None:
        """The group is gone, and its timers with it."""
        self.by_id.pop(group.id, None)
        self.metadata_seen.pop(group.id, None)
        for group_id, member_id in list(self.sessions):
            if group_id == group.id:
                self.cancel_timers(group_id, member_id)

    # -- timers

    def heard_from(
        self, now: int, group_id: str, member_id: str, timeout_ms: int | None = None
    ) -> None:
        """The member's session starts again; its timer is only touched if it is too late."""
        if timeout_ms is None:
            timeout_ms = int(self.config(group_id)["consumer.session.timeout.ms"])
        ends_at = now + timeout_ms * 1000
        session = self.sessions.get((group_id, member_id))
        if session is None:
            session = self.sessions[group_id, member_id] = Session(ends_at, 0, timeout_ms)
        session.ends_at, session.timeout_ms = ends_at, timeout_ms
        if not session.timer_at or ends_at < session.timer_at:
            self.watch(group_id, member_id, session)

    def watch(self, group_id: str, member_id: str, session: Session) -> None:
        """Sets the timer to the end of the session."""
        session.timer_at = session.ends_at
        timer = MemberTimer(Deadline.SESSION, group_id, member_id)
        self.outbox.set_timer(timer, session.timer_at)

    def set_timer(
        self, now: int, deadline: Deadline, group_id: str, member_id: str, wait_ms: int
    ) -> None:
        self.outbox.set_timer(MemberTimer(deadline, group_id, member_id), now + wait_ms * 1000)

    def cancel_timer(self, deadline: Deadline, group_id: str, member_id: str) -> None:
        self.outbox.cancel_timer(MemberTimer(deadline, group_id, member_id))

    def cancel_timers(self, group_id: str, member_id: str) -> None:
        """All of a member that is gone."""
        self.sessions.pop((group_id, member_id), None)
        self.joins_awaited.pop((group_id, member_id), None)
        for deadline in Deadline:
            self.cancel_timer(deadline, group_id, member_id)

    # -- telling

    def trace(self, rule: str, group: ConsumerGroup, why: str, **fields: object) -> None:
        self.outbox.trace(
            rule, "group", "", why,
            group=group.id, state=str(group.state), epoch=group.epoch,
            assignment_epoch=group.assignment_epoch, **fields,
        )  # fmt: skip
