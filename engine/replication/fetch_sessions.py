"""Incremental fetch sessions, the leader's side (KIP-227).

A client that fetches a thousand partitions over and over need not name them each time.
The broker remembers them under a session id.  From then on, a request names only partitions
that changed, and an answer only partitions with news.

    session epoch  0   a full request; opens a session if there is a free slot
                  -1   a full request without a session (closes an old one)
                   n   the n-th incremental request; any other number is an error, since
                       a lost or repeated request would leave the two sides disagreeing

A session of a thousand partitions, of which three have moved, is answered by a look at three.
`due` has the partitions that may have news: those that the request names, those that moved
since (`look_again`), and those whose last look found something.  A partition leaves it when a look
finds nothing, so all others are idle: the next answer would repeat what the last one said.

A session keeps to one way of naming topics: by name (up to version 12) or by id.
A request that forgets the last partition ends the session: its answer bears no session id.

Simplified: a fetch that waits in a session that ends meanwhile is answered at its deadline.  Each
move of a partition costs a step for each session that has it, abandoned ones too (at most
max.incremental.fetch.session.cache.slots).  A full cache evicts only a session that was unused
for two minutes; in Kafka, followers and larger sessions also evict others.  A full request that
names a session id beyond Kafka's shards is served here, and an unknown server error there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from random import Random
from typing import NamedTuple

from engine.wire import messages as m
from engine.wire.errors import Errors

FINAL_EPOCH = -1
INITIAL_EPOCH = 0
EVICTION_US = 120_000_000
MAX_SESSION_ID = 0x7FFFFFFF
Key = tuple[bytes | str, int]
Names = Callable[[bytes], str]
"""A topic's name by its id; empty if there is none."""


class View(NamedTuple):
    """The reader, and how much of a log it may see.

    `replica_id` is -1 for consumers, and `broker_epoch` if the request names none.  A `rack` is
    given if the reader may be sent to a replica in it.
    """

    replica_id: int = -1
    broker_epoch: int = -1
    isolation_level: int = 0
    rack: str = ""


@dataclass(slots=True, eq=False)
class FetchedPartition:
    """One partition of a session: the fetcher's request, and what the last answer said.

    `turn` orders the partitions of a session.  `segment` is the base offset of the segment in
    which the reader was at the last look.  `session` is None without one, and once it is over.
    `last_idle_us` is when its session fetched last before the partition was due, or forgotten.
    """

    key: Key
    topic: str
    topic_id: bytes
    index: int
    fetch_offset: int = 0
    current_leader_epoch: int = -1
    last_fetched_epoch: int = -1
    log_start_offset: int = -1
    max_bytes: int = 0
    sent_high_watermark: int = -2
    sent_log_start: int = -2
    turn: int = 0
    segment: int = 0
    session: FetchSession | None = None
    last_idle_us: int = 0

    @property
    def is_idle(self) -> bool:
        return self.session is not None and self not in self.session.due

    @property
    def last_fetch_us(self) -> int:
        """When an idle partition was last fetched, as part of its session."""
        if self.session is not None and self.is_idle:
            return self.session.last_used_us
        return self.last_idle_us

    def rest(self, segment: int) -> None:
        """A look found nothing, so the partition is idle until it moves; `segment` as above."""
        assert self.session is not None, "only what is in a session has been looked at before"
        self.segment = segment
        del self.session.due[self]

    def look_again(self) -> None:
        """The next fetch of the session looks at the partition."""
        if self.session is not None:
            self.last_idle_us = self.last_fetch_us
            self.session.due[self] = None

    def ask(self, request: m.FetchRequest.FetchPartition) -> None:
        """Takes over the fields of a request's FetchPartition."""
        self.fetch_offset = request.fetch_offset
        self.current_leader_epoch = request.current_leader_epoch
        self.last_fetched_epoch = request.last_fetched_epoch
        self.log_start_offset = request.log_start_offset
        self.max_bytes = request.partition_max_bytes

    def has_news(self, data: m.FetchResponse.PartitionData) -> bool:
        """Whether an incremental answer must mention this partition; remembers what it says."""
        news = (
            data.error_code != 0
            or bool(data.records)
            or data.diverging_epoch is not None
            or data.preferred_read_replica != -1
            or data.high_watermark != self.sent_high_watermark
            or data.log_start_offset != self.sent_log_start
        )
        self.sent_high_watermark = data.high_watermark
        self.sent_log_start = data.log_start_offset
        return news


@dataclass(slots=True, eq=False)
class FetchSession:
    """`epoch` is the one that the next request must carry; `by_id` says how topics are named."""

    id: int
    epoch: int
    last_used_us: int
    view: View
    by_id: bool
    partitions: dict[Key, FetchedPartition] = field(default_factory=dict)
    due: dict[FetchedPartition, None] = field(default_factory=dict)
    next_turn: int = 0

    def add(self, partition: FetchedPartition) -> None:
        self.partitions[partition.key] = partition
        self.served(partition)

    def served(self, partition: FetchedPartition) -> None:
        """Puts a partition that got records behind the others, so that each gets its turn."""
        partition.turn = self.next_turn
        self.next_turn += 1

    def seen_as(self, view: View) -> None:
        """Looks at everything again if the reader sees other things than at the last fetch.

        With a rack, where to read from depends on other replicas: nothing is idle.
        """
        if view != self.view or view.rack:
            self.view = view
            for partition in self.partitions.values():
                partition.look_again()

    def in_turn(self) -> list[FetchedPartition]:
        """What is due, in the order in which it is read."""
        return sorted(self.due, key=lambda each: each.turn)


@dataclass(slots=True)
class FetchContext:
    """A request combined with its session: what to read, and how to answer.

    `session` is set for an incremental request, whose answer names only partitions with news.
    `named` are the partitions of a full request.
    """

    error: Errors = Errors.NONE
    session_id: int = 0
    session: FetchSession | None = None
    named: list[FetchedPartition] = field(default_factory=list)

    @property
    def partitions(self) -> list[FetchedPartition]:
        """What to read now: all that a full request names, what is due in a session."""
        return self.named if self.session is None else self.session.in_turn()

    @property
    def may_have_bytes(self) -> Iterable[FetchedPartition]:
        """The same in no particular order."""
        return self.named if self.session is None else self.session.due

    @property
    def size(self) -> int:
        """How many partitions are fetched, idle ones too."""
        return len(self.named if self.session is None else self.session.partitions)


class FetchSessions:
    """The sessions of one broker, at most max.incremental.fetch.session.cache.slots."""

    def __init__(self, slots: int, ids: Random) -> None:
        self.slots = slots
        self.ids = ids
        self.sessions: dict[int, FetchSession] = {}
        self.readers: dict[tuple[str, int], dict[FetchedPartition, None]] = {}
        """By topic and index, what the sessions have of a partition."""

    def look_again(self, key: tuple[str, int]) -> None:
        """A partition's log, high watermark or role moved: each session looks at it again."""
        for partition in self.readers.get(key, ()):
            partition.look_again()

    def open(
        self,
        now: int,
        request: m.FetchRequest,
        view: View,
        names: Names,
        *,
        by_id: bool = True,
    ) -> FetchContext:
        """Finds out what a request asks for; `by_id` if its version names topics by their id."""
        session = self.sessions.get(request.session_id)
        if request.session_epoch in (INITIAL_EPOCH, FINAL_EPOCH):
            if session is not None:
                self._end(session)
            return self._full(now, request, view, names, by_id)
        if session is None:
            return FetchContext(Errors.FETCH_SESSION_ID_NOT_FOUND)
        if session.epoch != request.session_epoch:
            return FetchContext(Errors.INVALID_FETCH_SESSION_EPOCH)
        if session.by_id != by_id:
            return FetchContext(Errors.FETCH_SESSION_TOPIC_ID_ERROR)
        self._update(session, request, names)
        for forgotten in request.forgotten_topics_data:
            for index in forgotten.partitions:
                self._forget(session, _key(forgotten, index))
        if not session.partitions:
            self._end(session)
            return self._full(now, request, view, names, by_id)
        session.epoch = 1 if session.epoch == 0x7FFFFFFF else session.epoch + 1
        session.seen_as(view)
        session.last_used_us = now
        for partition in session.due:
            if not partition.topic:
                # The request named it before its topic was known here, and need not repeat it.
                partition.topic = names(partition.topic_id)
                self._watch(session, partition)
        return FetchContext(Errors.NONE, session.id, session)

    def take_back(self, answer: m.FetchResponse, incremental: bool) -> None:
        """Undoes an answer that is not sent: its news must go into the next one."""
        session = self.sessions.get(answer.session_id)
        if session is None:
            return
        if not incremental:
            self._end(session)
            return
        listed = {
            (topic.topic, data.partition_index): None
            for topic in answer.responses
            for data in topic.partitions
        }
        for partition in session.partitions.values():
            if (partition.topic, partition.index) in listed:
                partition.sent_high_watermark = partition.sent_log_start = -2
                partition.look_again()

    def _full(
        self, now: int, request: m.FetchRequest, view: View, names: Names, by_id: bool
    ) -> FetchContext:
        session = FetchSession(0, 1, now, view, by_id)
        self._update(session, request, names)
        context = FetchContext(named=list(session.partitions.values()))
        if request.session_epoch == INITIAL_EPOCH and context.named and self._make_room(now):
            context.session_id = session.id = self._fresh_id()
            self.sessions[session.id] = session
            for partition in context.named:
                self._watch(session, partition)
                partition.look_again()
        return context

    def _fresh_id(self) -> int:
        """A random id, so that an id from before a restart matches no present session."""
        while (session_id := self.ids.randrange(1, MAX_SESSION_ID)) in self.sessions:
            continue
        return session_id

    def _update(self, session: FetchSession, request: m.FetchRequest, names: Names) -> None:
        for topic in request.topics:
            for asked in topic.partitions:
                key = _key(topic, asked.partition)
                known = session.partitions.get(key)
                if known is None:
                    name = topic.topic or names(topic.topic_id)
                    known = FetchedPartition(key, name, topic.topic_id, asked.partition)
                    session.add(known)
                    if session.id:
                        self._watch(session, known)
                known.ask(asked)
                known.look_again()

    def _watch(self, session: FetchSession, partition: FetchedPartition) -> None:
        partition.session = session
        if partition.topic:
            self.readers.setdefault((partition.topic, partition.index), {})[partition] = None

    def _forget(self, session: FetchSession, key: Key) -> None:
        partition = session.partitions.pop(key, None)
        if partition is not None:
            self._unwatch(partition)
            session.due.pop(partition, None)

    def _unwatch(self, partition: FetchedPartition) -> None:
        partition.last_idle_us = partition.last_fetch_us
        partition.session = None
        key = (partition.topic, partition.index)
        readers = self.readers.get(key, {})
        readers.pop(partition, None)
        if not readers:
            self.readers.pop(key, None)

    def _end(self, session: FetchSession) -> None:
        del self.sessions[session.id]
        for partition in session.partitions.values():
            self._unwatch(partition)

    def _make_room(self, now: int) -> bool:
        """Evicts a long unused session if the cache is full; True if a slot is free."""
        if len(self.sessions) < self.slots:
            return True
        oldest = min(self.sessions.values(), key=lambda each: each.last_used_us)
        if now - oldest.last_used_us < EVICTION_US:
            return False
        self._end(oldest)
        return True


def _key(topic: m.FetchRequest.FetchTopic | m.FetchRequest.ForgottenTopic, index: int) -> Key:
    return (topic.topic or topic.topic_id, index)
