"""Membership by the classic protocol: JoinGroup, SyncGroup, and what makes a member join again.

    UNJOINED ──join──> PREPARING ──answer──> COMPLETING ──sync answer──> STABLE
        ^                  ^  the coordinator    the leader                │
        │                  │  waits for all      assigns                   │ rejoin
        │                  └───────────────────────────────────────────────┤
        └── UNKNOWN_MEMBER_ID, ILLEGAL_GENERATION, FENCED, we left ────────┘

Members decide among themselves who gets what; the coordinator only brings them together.  In
a rebalance all members join; the first of them becomes the *leader*, gets the list of all, and
sends the assignment with its SyncGroup (leading.py).  Each rebalance has a *generation*, and a
request from an older one is refused.

A member joins again when a heartbeat says REBALANCE_IN_PROGRESS, when its subscription changes,
when the leader sees a topic grow, when it has revoked something (cooperative), or after an error.

Before it joins, it commits (enable.auto.commit) and gives partitions back:

    eager         everything; all members stop until the new assignment is there
    cooperative   only what it does not want any more; the others it goes on reading
    removed       nothing can be given back any more: `lost`

A new member without an id is sent away with one first (MEMBER_ID_REQUIRED, KIP-394), so that a
client that connects again and again leaves no ghosts behind.  A static member (group.instance.id,
KIP-345) does not leave when it closes: after a restart it gets its old partitions back without a
rebalance, if it is back within session.timeout.ms.

All this happens inside `poll`.  Answers that come while the application works wait unread
until it polls again, and so does the whole group.  Only heartbeats.py runs beside it.

Simplified: a commit before a rebalance is given up after max.poll.interval.ms altogether.
"""

from __future__ import annotations

from engine.client.connections import Answer
from engine.client.consumer import classic_requests, leading
from engine.client.consumer.assignors.choices import COOPERATIVE, protocol
from engine.client.consumer.commits import (
    AUTO,
    COMMIT_FAILED,
    REBALANCE_IN_PROGRESS,
    Commit,
    Commits,
    Identity,
)
from engine.client.consumer.coordinator import Coordinator
from engine.client.consumer.handover import Handover
from engine.client.consumer.heartbeats import Heartbeats
from engine.client.consumer.settings import ConsumerSettings
from engine.client.consumer.subscription import Subscription
from engine.client.metadata import Metadata, Place
from engine.events import Outbox
from engine.wire import messages as m
from engine.wire.errors import Errors

_HERE = "client.consumer.classic.ClassicMembership"
UNJOINED, PREPARING, COMPLETING, STABLE = "unjoined", "preparing", "completing", "stable"
JOIN, SYNC, BEAT, LEAVE = "join", "sync", "beat", "leave"
NO_GENERATION = -1
LAPSE_MS = 5_000
"""A JoinGroup may take max.poll.interval.ms and this much more."""
AT_ONCE = (
    Errors.UNKNOWN_MEMBER_ID,
    Errors.ILLEGAL_GENERATION,
    Errors.REBALANCE_IN_PROGRESS,
    Errors.MEMBER_ID_REQUIRED,
)
"""After these the member joins again at once, after others a little later."""


class ClassicMembership:
    """One member; `error` is what the next `poll` must report.  A poll after that tries again."""

    def __init__(self, outbox: Outbox, settings: ConsumerSettings, subscription: Subscription,
                 metadata: Metadata, coordinator: Coordinator, commits: Commits,
                 handover: Handover) -> None:  # fmt: skip
        self.outbox = outbox
        self.settings = settings
        self.subscription = subscription
        self.metadata = metadata
        self.coordinator = coordinator
        self.commits = commits
        self.handover = handover
        self.heartbeats = Heartbeats(outbox, settings, coordinator)
        self.protocol = protocol(settings.assignors)
        self.state = UNJOINED
        self.member_id = ""
        self.generation = NO_GENERATION
        self.assignor = ""
        self.is_leader = False
        self.rejoin, self.why = True, ""
        self.is_prepared = False
        self.auto_commit: Commit | None = None
        self.prepare_until = 0
        self.asking = False
        """A JoinGroup or SyncGroup is in flight."""
        self.unread: Answer | None = None
        self.to_lead: leading.Leadership | None = None
        self.retry_at = 0
        self.assignment: bytes | None = None
        """From SyncGroup, not taken over yet."""
        self.last: tuple[Place, ...] | None = None
        self.last_generation = NO_GENERATION
        """What sticky assignors remember; it outlives a membership."""
        self.joined_topics: tuple[str, ...] | None = None
        self.group_topics: leading.Sizes | None = None
        self.error = ""

    # -- inside poll

    def work(self, now: int) -> None:
        self.heartbeats.polled(now)
        if self.error or not self.coordinator.is_ready(now):
            return
        if self.unread is not None:
            answer, self.unread = self.unread, None
            (self._joined if answer.purpose[0] == JOIN else self._synced)(now, answer)
        if self.to_lead is not None and self.to_lead.is_informed(self.metadata):
            self._sync(now, self.to_lead.assignments(self.metadata))
        if self.assignment is not None and not self._take_assignment(now):
            return
        self._notice_changes()
        is_free = not self.asking and self.to_lead is None and now >= self.retry_at
        if self.rejoin and is_free and (self.is_prepared or self._prepare(now)):
            self._join(now)

    def _notice_changes(self) -> None:
        if self.rejoin:
            return
        if self.joined_topics != self.subscription.topics:
            self.request_rejoin("subscription has changed")
        elif self.group_topics is not None and leading.has_changed(
            self.group_topics, self.metadata
        ):
            self.request_rejoin("cached metadata has changed")

    def request_rejoin(self, why: str) -> None:
        self.rejoin, self.why = True, why
        self.outbox.trace(f"{_HERE}.request_rejoin", "rejoin", why=why, generation=self.generation)

    def _prepare(self, now: int) -> bool:
        """Commits and gives back; True when done."""
        if self.prepare_until == 0:
            self.prepare_until = now + self.settings.max_poll_interval_ms * 1000
        if not self._has_committed(now):
            return False
        why = self.why or "it joins"
        if not self._is_member:
            self.handover.lose(now, self.subscription.owned, why)
        elif not self.handover.give_back(now, self._to_give_back(), why):
            return False
        self.is_prepared, self.is_leader, self.group_topics = True, False, None
        self.prepare_until, self.auto_commit = 0, None
        return True

    def _has_committed(self, now: int) -> bool:
        if not self.settings.enable_auto_commit or now >= self.prepare_until:
            return True
        if self.auto_commit is None:
            if self.protocol != COOPERATIVE:
                for state in self.subscription.assigned.values():
                    state.giving_back = True
            self.auto_commit = self.commits.start(now, self.subscription.consumed(), AUTO)
        return self.auto_commit.is_done

    def _to_give_back(self) -> tuple[Place, ...]:
        owned = self.subscription.owned
        if self.protocol != COOPERATIVE:
            return owned
        return tuple(place for place in owned if place[0] not in (self.subscription.topics or ()))

    @property
    def _is_member(self) -> bool:
        return self.generation != NO_GENERATION and bool(self.member_id)

    # -- JoinGroup

    def _join(self, now: int) -> None:
        self.state, self.asking = PREPARING, True
        topics = self.subscription.topics or ()
        self.joined_topics = topics
        written = leading.subscriptions(
            self.settings, topics, self.subscription.owned, self.generation, self.last,
            self.last_generation,
        )  # fmt: skip
        body = classic_requests.join(self.settings, self.member_id, written, self.why)
        self.outbox.trace(f"{_HERE}._join", "joining", why=self.why, member=self.member_id,
                          owned=len(self.subscription.assigned))  # fmt: skip
        longest_ms = self.settings.max_poll_interval_ms + LAPSE_MS
        timeout_us = max(longest_ms, self.settings.request_timeout_ms) * 1000
        self.coordinator.send(now, JOIN, body, self.identity_sent(), timeout_us)

    def _joined(self, now: int, answer: Answer) -> None:
        body = answer.body
        error = answer.error
        if isinstance(body, m.JoinGroupResponse):
            error = Errors(body.error_code)
            if error == Errors.MEMBER_ID_REQUIRED:
                self.member_id, self.generation = body.member_id, NO_GENERATION
                self.why = f"need to re-join with the given member-id: {body.member_id}"
        if error or not isinstance(body, m.JoinGroupResponse):
            self._failed(now, error, answer.purpose[1])
        elif self.state == PREPARING:
            self._enter_generation(now, body)
        else:
            self._failed(now, Errors.REBALANCE_IN_PROGRESS, answer.purpose[1])

    def _enter_generation(self, now: int, body: m.JoinGroupResponse) -> None:
        self.state = COMPLETING
        self.generation, self.member_id = body.generation_id, body.member_id
        self.assignor = body.protocol_name or ""
        self.is_leader = body.leader == body.member_id
        self.heartbeats.enable(now)
        self.outbox.trace(f"{_HERE}._enter_generation", "joined", member=self.member_id,
                          generation=self.generation, leader=self.is_leader,
                          assignor=self.assignor)  # fmt: skip
        if not self.is_leader:
            self._sync(now, {})
            return
        self.to_lead = leading.Leadership.of(body, self.metadata)
        if self.to_lead.is_informed(self.metadata):
            self._sync(now, self.to_lead.assignments(self.metadata))

    # -- SyncGroup

    def _sync(self, now: int, assignments: dict[str, bytes]) -> None:
        if self.to_lead is not None:
            self.group_topics = self.to_lead.sizes(self.metadata)
        self.to_lead = None
        if not self.coordinator.is_ready(now):
            self._failed(now, Errors.COORDINATOR_NOT_AVAILABLE, self.identity_sent())
            return
        sent = self.identity_sent()
        body = classic_requests.sync(self.settings, sent, self.assignor, assignments)
        self.asking = True
        self.coordinator.send(now, SYNC, body, sent)

    def _synced(self, now: int, answer: Answer) -> None:
        body = answer.body
        error = Errors(body.error_code) if isinstance(body, m.SyncGroupResponse) else answer.error
        if not error and self.state != COMPLETING:
            error = Errors.ILLEGAL_GENERATION
        if error or not isinstance(body, m.SyncGroupResponse):
            self._failed(now, error, answer.purpose[1])
            return
        self.state, self.rejoin, self.why = STABLE, False, ""
        self.assignment = body.assignment

    def _take_assignment(self, now: int) -> bool:
        """The end of a rebalance; False while a commit for revoked partitions is awaited."""
        if self.state != STABLE:
            self.assignment = None  # a heartbeat has ended this generation meanwhile
            self._reset("the generation ended before its assignment was taken over", True)
            return True
        assigned = leading.read_assignment(self.assignment or b"")
        if any(topic not in (self.subscription.topics or ()) for topic, _ in assigned):
            self.request_rejoin("received assignment does not match the current subscription")
            self.assignment, self.is_prepared = None, False
            return True
        if self.protocol == COOPERATIVE:
            revoked = tuple(p for p in self.subscription.owned if p not in assigned)
            if not self.handover.give_back(now, revoked, "the leader takes it away"):
                return False
            if revoked:
                self.request_rejoin("need to revoke partitions and re-join")
        self.assignment, self.is_prepared = None, False
        self.last, self.last_generation = assigned, self.generation
        self.commits.put_off(now)
        self.handover.take(now, assigned, self.generation)
        return True

    # -- what goes wrong

    def _failed(self, now: int, error: Errors, sent: Identity) -> None:
        """A JoinGroup or SyncGroup had no success: once more."""
        self.coordinator.check(error)
        self.to_lead = None
        self.outbox.trace(f"{_HERE}._failed", "join failed", why=error.name, state=self.state)
        is_gone = error in (Errors.UNKNOWN_MEMBER_ID, Errors.ILLEGAL_GENERATION)
        if is_gone and sent == self.identity_sent():
            self._reset(error.name, forget_id=error == Errors.UNKNOWN_MEMBER_ID)
        self.rejoin = True
        if error in AT_ONCE:
            return
        self.retry_at = now + self.settings.retry_backoff_ms * 1000
        if not error.retriable:
            self.error = error.name

    def _reset(self, why: str, forget_id: bool) -> None:
        """Out of the group: the next join begins from the front."""
        if self.state in (STABLE, COMPLETING) and why in Errors.__members__:
            self.outbox.trace(f"{_HERE}._reset", "fenced", why=why, member=self.member_id,
                              generation=self.generation)  # fmt: skip
        self.state, self.generation = UNJOINED, NO_GENERATION
        if forget_id:
            self.member_id = ""
        self.is_prepared = False
        self.request_rejoin(why)

    def identity_sent(self) -> Identity:
        return Identity(self.generation, self.member_id)

    # -- beside poll: heartbeats

    def beat(self, now: int) -> None:
        if self.state not in (COMPLETING, STABLE) or self.error:
            return
        if self.heartbeats.is_poll_overdue(now):
            self.leave(now, "consumer poll timeout has expired.")
        elif self.heartbeats.is_due(now):
            self.heartbeats.send(now, self.identity_sent())

    def heard(self, now: int, answer: Answer) -> None:
        """An answer from the coordinator to one of our requests."""
        match answer.purpose[0]:
            case "join" | "sync":
                self.asking = False
                self.unread = answer
            case "beat":
                self._heard_beat(now, answer)

    def _heard_beat(self, now: int, answer: Answer) -> None:
        error = self.heartbeats.heard(now, answer)
        sent: Identity = answer.purpose[1]
        if error == Errors.REBALANCE_IN_PROGRESS:
            if self.state == STABLE and not self.rejoin:
                self.request_rejoin("group is already rebalancing")
        elif error in (Errors.ILLEGAL_GENERATION, Errors.UNKNOWN_MEMBER_ID):
            if sent == self.identity_sent():
                self._reset(error.name, forget_id=error == Errors.UNKNOWN_MEMBER_ID)
        elif error == Errors.FENCED_INSTANCE_ID:
            if sent == self.identity_sent():
                self._reset(error.name, forget_id=True)
                self.error = error.name
        elif error and not error.retriable:
            self.error = error.name

    # -- commits, and the end

    def identity(self) -> Identity | str:
        """As Commits asks it: only a stable member commits."""
        if self.state == STABLE:
            return self.identity_sent()
        in_rebalance = self.state in (PREPARING, COMPLETING)
        return REBALANCE_IN_PROGRESS if in_rebalance else COMMIT_FAILED

    def commit_refused(self, now: int, error: Errors, sent: Identity) -> str:
        is_same = sent == self.identity_sent()
        if error == Errors.REBALANCE_IN_PROGRESS:
            self.request_rejoin("offset commit failed since group is already rebalancing")
            return error.name
        fenced = (Errors.UNKNOWN_MEMBER_ID, Errors.ILLEGAL_GENERATION, Errors.FENCED_INSTANCE_ID)
        if error not in fenced or (error == Errors.FENCED_INSTANCE_ID and is_same):
            return error.name
        if not is_same and self.state == PREPARING:
            return REBALANCE_IN_PROGRESS
        if error != Errors.FENCED_INSTANCE_ID:
            self._reset(error.name, forget_id=error == Errors.UNKNOWN_MEMBER_ID)
        return COMMIT_FAILED

    def close(self, now: int) -> bool:
        """Gives everything back and leaves; True when done."""
        owned = self.subscription.owned
        if not self._is_member or self.state != STABLE:
            self.handover.lose(now, owned, "the consumer is closed in a rebalance")
        elif not self.handover.give_back(now, owned, "the consumer is closed"):
            return False
        self.leave(now, "the consumer is being closed")
        return True

    def leave(self, now: int, why: str) -> None:
        """A static member only stops; another says so, and its partitions are free at once."""
        is_static = bool(self.settings.group_instance_id)
        says_so = not is_static and self.state != UNJOINED and bool(self.member_id)
        if says_so and self.coordinator.is_ready(now):
            body = classic_requests.leave(self.settings, self.identity_sent(), why)
            self.coordinator.send(now, LEAVE, body)
        self.outbox.trace(f"{_HERE}.leave", "left", why=why, member=self.member_id,
                          static=is_static)  # fmt: skip
        self._reset(why, forget_id=True)

    def member(self) -> tuple[str | None, int]:
        """For OffsetFetch: the classic protocol does not say."""
        return None, -1

    def next_at(self) -> list[int]:
        waits = [self.retry_at, self.prepare_until]
        return waits + (self.heartbeats.next_at() if self.state in (COMPLETING, STABLE) else [])
