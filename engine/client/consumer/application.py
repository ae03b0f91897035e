"""A poll loop that drives a consumer: what an application does between two polls.

    poll ──> records ──> work, so long for each ──> commit, as the strategy says ──> poll …

The strategy is when, and whether, the loop commits:

    auto       never by itself; enable.auto.commit does it inside the next poll
    before     as soon as poll has returned: a crash in the work loses records
    after      when all records of the poll are done: a crash repeats them, loses none
    each       after each record: a crash repeats one; one request per record
    async      like after, without waiting
    none       not at all

A consumer with an application needs no calls from outside: it subscribes and polls until it is
finished (`world.tell(name, "finish")`), paused or killed.

`processed` is what the application has done, in order.  Compare it with what is committed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from engine.client.consumer.fetcher import Record
from engine.client.consumer.listener import Offsets, Places
from engine.client.consumer.subscription import OffsetAndMetadata

STRATEGIES = ("auto", "before", "after", "each", "async", "none")
POLLING, WORKING, COMMITTING, STOPPED = "polling", "working", "committing", "stopped"


class Calls(Protocol):
    """The calls of a consumer that a loop makes."""

    records: list[Record]
    error: str

    def subscribe_topics(self, topics: tuple[str, ...]) -> None: ...

    def begin_poll(self, now: int, timeout_ms: int) -> None: ...

    def begin_commit(self, now: int, offsets: Offsets | None, kind: str) -> object: ...

    def note_processed(self, record: Record) -> None: ...


@dataclass
class Application:
    """Times are per record; `commit_on_revoke` commits what is processed in the listener."""

    topics: tuple[str, ...]
    commit: str = "auto"
    per_record_us: int = 0
    poll_timeout_ms: int = 1_000
    commit_on_revoke: bool = False
    state: str = POLLING
    error: str = ""
    processed: list[Record] = field(default_factory=list)
    waiting: list[Record] = field(default_factory=list)
    done_at: int = 0
    revoked: list[Places] = field(default_factory=list)
    lost: list[Places] = field(default_factory=list)
    assigned: list[Places] = field(default_factory=list)
    next_offsets: Offsets = field(default_factory=dict)
    """Behind what is processed, of the partitions that it has."""

    def __post_init__(self) -> None:
        if self.commit not in STRATEGIES:
            raise ValueError(f"{self.commit!r} is no strategy; take {', '.join(STRATEGIES)}.")

    # -- the loop

    def start(self, now: int, consumer: Calls) -> None:
        consumer.subscribe_topics(self.topics)
        consumer.begin_poll(now, self.poll_timeout_ms)

    def go_on(self, now: int, consumer: Calls) -> bool:
        """Called when no call is under way; True if it has begun another one."""
        if self.state == POLLING:
            return self._polled(now, consumer)
        if self.state == COMMITTING:
            self._committed(now, consumer)
            return True
        if self.state == WORKING:
            return self._work(now, consumer)
        return False

    def _polled(self, now: int, consumer: Calls) -> bool:
        if consumer.error:
            self.state, self.error = STOPPED, consumer.error  # an exception ends the loop
            return False
        if not consumer.records:
            consumer.begin_poll(now, self.poll_timeout_ms)
            return True
        self.waiting = list(consumer.records)
        if self.commit == "before":
            self.state = COMMITTING
            consumer.begin_commit(now, None, "sync")
            return True
        return self._begin_work(now, consumer)

    def _begin_work(self, now: int, consumer: Calls) -> bool:
        self.state = WORKING
        self.done_at = now + self.per_record_us
        return self._work(now, consumer)

    def _work(self, now: int, consumer: Calls) -> bool:
        while self.waiting:
            if now < self.done_at:
                return False
            record = self.waiting.pop(0)
            self._process(record, consumer)
            self.done_at = now + self.per_record_us
            if self.commit == "each":
                self.state = COMMITTING
                consumer.begin_commit(now, {**self._behind(record)}, "sync")
                return True
        if self.commit == "after":
            self.state = COMMITTING
            consumer.begin_commit(now, None, "sync")
            return True
        if self.commit == "async":
            consumer.begin_commit(now, None, "async")
        self._poll_again(now, consumer)
        return True

    def _committed(self, now: int, consumer: Calls) -> None:
        """A failed commit is not the end: the next poll says what has happened."""
        if self.commit == "before" and self.waiting:
            self._begin_work(now, consumer)
        elif self.waiting:
            self.state = WORKING
        else:
            self._poll_again(now, consumer)

    def _poll_again(self, now: int, consumer: Calls) -> None:
        self.state = POLLING
        consumer.begin_poll(now, self.poll_timeout_ms)

    def _process(self, record: Record, consumer: Calls) -> None:
        self.processed.append(record)
        self.next_offsets.update(self._behind(record))
        consumer.note_processed(record)

    def _behind(self, record: Record) -> Offsets:
        place = (record.topic, record.partition)
        return {place: OffsetAndMetadata(record.offset + 1, record.leader_epoch)}

    def next_at(self) -> list[int]:
        return [self.done_at] if self.state == WORKING else []

    # -- the listener

    def on_assigned(self, now: int, places: Places) -> None:
        self.assigned.append(places)

    def on_revoked(self, now: int, places: Places) -> Offsets | None:
        self.revoked.append(places)
        gone = self._forget(places)
        return gone if self.commit_on_revoke else None

    def on_lost(self, now: int, places: Places) -> None:
        self.lost.append(places)
        self._forget(places)

    def _forget(self, places: Places) -> Offsets:
        gone = {place: at for place, at in self.next_offsets.items() if place in places}
        self.next_offsets = {p: at for p, at in self.next_offsets.items() if p not in gone}
        return gone
