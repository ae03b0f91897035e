"""Committed offsets: where the group goes on reading.

    commit offset 42   means: everything before 42 is done, 42 is next

    sync    waits for the answer, tries again while that makes sense; default.api.timeout.ms at most
    async   does not wait and is not repeated: a later commit may be through already, and an old one
            repeated after it would take the group back
    auto    async, every auto.commit.interval.ms at the next `poll`; before a rebalance and at the
            end with an answer.  It commits the positions: all that earlier polls returned

A commit carries the member's id and generation, and the coordinator refuses it from a member that
is not, or not any longer, part of the group: so a zombie, removed while it slept, cannot overwrite
the progress of the member that has its partitions now.

    REBALANCE_IN_PROGRESS   poll first, then commit again: the partitions may stay
    COMMIT_FAILED           too late: the group has gone on without this member, and so will another
                            read these records again
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from engine.client.connections import Answer
from engine.client.consumer.coordinator import Coordinator
from engine.client.consumer.settings import ConsumerSettings
from engine.client.consumer.subscription import OffsetAndMetadata, Subscription, name
from engine.client.metadata import Metadata, Place
from engine.events import Outbox
from engine.wire import messages as m
from engine.wire.errors import Errors

_HERE = "client.consumer.commits.Commits"
COMMIT = "commit"
SYNC, ASYNC, AUTO = "sync", "async", "auto"
PENDING, COMMITTED, FAILED = "pending", "committed", "failed"
COMMIT_FAILED = "COMMIT_FAILED"
REBALANCE_IN_PROGRESS = Errors.REBALANCE_IN_PROGRESS.name
AGAIN = (
    Errors.COORDINATOR_LOAD_IN_PROGRESS,
    Errors.UNKNOWN_TOPIC_OR_PARTITION,
    Errors.COORDINATOR_NOT_AVAILABLE,
    Errors.NOT_COORDINATOR,
    Errors.REQUEST_TIMED_OUT,
    Errors.NETWORK_EXCEPTION,
)
"""Errors after which the same commit may succeed."""
Offsets = dict[Place, OffsetAndMetadata]


@dataclass(frozen=True)
class Identity:
    """A member in a generation (or epoch); empty for partitions that are assigned by hand."""

    generation: int = -1
    member_id: str = ""


class Membership(Protocol):
    """What a commit must know of the group."""

    def identity(self) -> Identity | str:
        """Our id and generation, or the error with which a commit fails now."""

    def commit_refused(self, now: int, error: Errors, sent: Identity) -> str:
        """Takes in a refusal; gives the error that the application sees."""


@dataclass
class Commit:
    """One commit; `verdict` says whether it is done, `error` why it failed."""

    number: int
    offsets: Offsets
    kind: str
    began_us: int
    verdict: str = PENDING
    error: str = ""
    asked: bool = False
    attempts: int = 0
    retry_at: int = 0

    @property
    def is_done(self) -> bool:
        return self.verdict != PENDING


class Commits:
    """`made` has every commit that is not done yet, in order."""

    def __init__(self, outbox: Outbox, settings: ConsumerSettings, subscription: Subscription,
                 metadata: Metadata, coordinator: Coordinator) -> None:  # fmt: skip
        self.outbox = outbox
        self.settings = settings
        self.subscription = subscription
        self.metadata = metadata
        self.coordinator = coordinator
        self.membership: Membership | None = None
        self.pending: list[Commit] = []
        self.made = 0
        self.auto_at = 0

    # -- beginning

    def start(self, now: int, offsets: Offsets, kind: str) -> Commit:
        """A commit under way; one without offsets is done at once."""
        self.made += 1
        commit = Commit(self.made, dict(offsets), kind, now)
        if not offsets:
            commit.verdict = COMMITTED
            return commit
        self.pending.append(commit)
        self.work(now)
        return commit

    def auto(self, now: int) -> None:
        """Commits the positions if it is time."""
        if self.settings.enable_auto_commit and now >= self.auto_at:
            self.put_off(now)
            self.start(now, self.subscription.consumed(), AUTO)

    def put_off(self, now: int) -> None:
        self.auto_at = now + self.settings.auto_commit_interval_ms * 1000

    # -- sending

    def work(self, now: int) -> None:
        limit_us = self.settings.default_api_timeout_ms * 1000
        for commit in list(self.pending):
            if commit.is_done or commit.asked:
                continue
            if now - commit.began_us >= limit_us:
                self._fail(commit, "TIMED_OUT")
                continue
            identity = self._identity()
            if isinstance(identity, str):
                self._fail(commit, identity)
            elif now >= commit.retry_at and self.coordinator.is_ready(now):
                self._send(now, commit, identity)

    def _identity(self) -> Identity | str:
        if not self.subscription.is_group or self.membership is None:
            return Identity()
        return self.membership.identity()

    def _send(self, now: int, commit: Commit, identity: Identity) -> None:
        commit.asked = True
        commit.attempts += 1
        request = m.OffsetCommitRequest
        topics: dict[str, m.OffsetCommitRequest.OffsetCommitRequestTopic] = {}
        for (topic, index), offset in commit.offsets.items():
            if topic not in topics:
                topic_id = self.metadata.topic_ids.get(topic, bytes(16))
                topics[topic] = request.OffsetCommitRequestTopic(name=topic, topic_id=topic_id)
            topics[topic].partitions.append(
                request.OffsetCommitRequestPartition(
                    partition_index=index, committed_offset=offset.offset,
                    committed_leader_epoch=offset.epoch, committed_metadata=offset.metadata,
                )
            )  # fmt: skip
        body = request(
            group_id=self.settings.group_id, member_id=identity.member_id,
            generation_id_or_member_epoch=identity.generation,
            group_instance_id=self.settings.group_instance_id or None, topics=list(topics.values()),
        )  # fmt: skip
        for place, offset in commit.offsets.items():
            self.outbox.trace(f"{_HERE}._send", "committing", name(place), offset=offset.offset,
                              generation=identity.generation, member=identity.member_id,
                              number=commit.number)  # fmt: skip
        self.coordinator.send(now, COMMIT, body, (commit.number, identity))

    # -- answers

    def heard(self, now: int, answer: Answer) -> None:
        number, identity = answer.purpose[1]
        commit = next((each for each in self.pending if each.number == number), None)
        if commit is None:
            return
        commit.asked = False
        body = answer.body
        error = answer.error
        if isinstance(body, m.OffsetCommitResponse):
            codes = [Errors(part.error_code) for t in body.topics for part in t.partitions]
            error = next((each for each in codes if each), Errors.NONE)
        if error:
            self._refused(now, commit, error, identity)
            return
        self._finish(commit, COMMITTED)
        for place, offset in commit.offsets.items():
            self.outbox.trace(f"{_HERE}.heard", "committed", name(place), offset=offset.offset,
                              generation=identity.generation, number=commit.number,
                              how=commit.kind)  # fmt: skip

    def _refused(self, now: int, commit: Commit, error: Errors, identity: Identity) -> None:
        self.coordinator.check(error)
        if error in (Errors.REQUEST_TIMED_OUT, Errors.NETWORK_EXCEPTION):
            self.coordinator.unknown(error.name)
        stale = commit.kind == AUTO and error == Errors.STALE_MEMBER_EPOCH
        if error in AGAIN or stale:
            commit.retry_at = now + self.settings.retry_backoff_ms * 1000
            if commit.kind == AUTO:
                self.auto_at = min(self.auto_at, commit.retry_at)
            if commit.kind != SYNC and not stale:
                self._fail(commit, error.name)
            return
        seen = error.name
        if self.subscription.is_group and self.membership is not None:
            seen = self.membership.commit_refused(now, error, identity)
        self._fail(commit, seen, answered=error.name)

    def _fail(self, commit: Commit, error: str, answered: str = "") -> None:
        commit.error = error
        self._finish(commit, FAILED)
        self.outbox.trace(f"{_HERE}._fail", "commit failed", why=answered or error, error=error,
                          how=commit.kind)  # fmt: skip

    def _finish(self, commit: Commit, verdict: str) -> None:
        commit.verdict = verdict
        self.pending.remove(commit)

    def next_at(self) -> list[int]:
        limit_us = self.settings.default_api_timeout_ms * 1000
        waits = [at for each in self.pending for at in (each.retry_at, each.began_us + limit_us)]
        return [*waits, self.auto_at] if self.settings.enable_auto_commit else waits
