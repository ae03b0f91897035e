"""A consumer, as a state machine: the Java client's way of reading, with its settings.

    consumer = Consumer("c-1", (101, 102, 103), {"group.id": "billing"})
    world.add("c-1", consumer)
    world.tell("c-1", "subscribe", ("orders",))
    world.tell("c-1", "poll", 1_000)              # until world.client("c-1").busy is False
    world.client("c-1").records                   # what that poll returned

    poll ──> membership ──> positions ──> fetcher ──> records       engine/client/consumer/*.py
             who reads      from where    what         heartbeats run beside it

An application makes one call at a time, and a call takes time: `poll`, `commit_sync` and `close`.
Between two calls the consumer does next to nothing: it neither joins nor fetches nor calls a
listener back.  Only heartbeats, answers and commits under way go on.  So how the loop spends its
time is what the whole group feels.  Give it an `Application` (application.py), and it loops by
itself.

`owned` is what the consumer believes to own.  It may be wrong: a consumer that was cut off goes on
believing until it hears from the group.

Everything that happens leaves a trace line, so that a rebalance can be stepped through: joining,
joined, assigned, revoked, lost, fenced, left, rejoin, heartbeat answered, polled, committing,
committed, commit failed, offset fetched, position, reset, validated, truncated, coordinator,
learned.

`group.protocol` chooses the membership: `classic` (classic.py) or `consumer` (consumer_group.py).

Left out: transactions (read_committed), pattern subscriptions of the classic protocol,
deserializers, interceptors, metrics, enforceRebalance.
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

from engine.client.backoff import ExponentialBackoff
from engine.client.connections import Answer, Connections, RequestToken
from engine.client.consumer import commits as kinds
from engine.client.consumer.application import Application
from engine.client.consumer.classic import ClassicMembership
from engine.client.consumer.commits import Commit, Commits, Offsets
from engine.client.consumer.committed import ASK, Committed
from engine.client.consumer.consumer_group import ConsumerGroupMembership
from engine.client.consumer.coordinator import FIND, NAME, Coordinator
from engine.client.consumer.fetcher import FETCH, Fetcher, Record
from engine.client.consumer.handover import Handover
from engine.client.consumer.listener import NoListener, RebalanceListener
from engine.client.consumer.positions import LIST, VALIDATE, Positions
from engine.client.consumer.settings import CONSUMER, EARLIEST, LATEST, ConsumerSettings
from engine.client.consumer.subscription import OffsetAndMetadata, Subscription, names
from engine.client.metadata import Metadata, Place
from engine.events import Effect, Event, Outbox, Response
from engine.wire import messages as m

_HERE = "client.consumer.consumer.Consumer"
METADATA = "metadata"
POLL, COMMIT, CLOSE, CLOSED = "poll", "commit", "close", "closed"
IN_FLIGHT_MAX = 100


class Consumer:
    """One consumer.  `bootstrap` are the brokers it may ask first."""

    def __init__(
        self,
        name: str,
        bootstrap: tuple[int, ...],
        settings: Mapping[str, object] | ConsumerSettings | None = None,
        *,
        application: Application | None = None,
        listener: RebalanceListener | None = None,
        seed: int = 0,
    ) -> None:
        given = (
            settings if isinstance(settings, ConsumerSettings) else ConsumerSettings.of(settings)
        )
        chance = Random(f"consumer/{name}/{seed}")
        self.name = name
        self.settings = given
        self.bootstrap = bootstrap
        self.application = application
        self.outbox = Outbox()
        self.subscription = Subscription()
        retry = ExponentialBackoff(
            given.retry_backoff_ms * 1000, given.retry_backoff_max_ms * 1000, chance
        )
        reconnect = ExponentialBackoff(
            given.reconnect_backoff_ms * 1000, given.reconnect_backoff_max_ms * 1000, chance
        )
        timeout_us = given.request_timeout_ms * 1000
        self.metadata = Metadata(given.metadata_max_age_ms * 1000, retry)
        self.connections = Connections(self.outbox, timeout_us, IN_FLIGHT_MAX, reconnect)
        self.own = Connections(self.outbox, timeout_us, IN_FLIGHT_MAX, reconnect, NAME)
        self.coordinator = Coordinator(
            self.outbox, given.group_id, bootstrap, self.metadata, self.connections, self.own, retry
        )
        self.commits = Commits(
            self.outbox, given, self.subscription, self.metadata, self.coordinator
        )
        self.positions = Positions(
            self.outbox, given, self.subscription, self.metadata, self.connections
        )
        self.committed = Committed(
            self.outbox, given, self.subscription, self.metadata, self.coordinator, self.positions
        )
        self.fetcher = Fetcher(
            self.outbox, given, self.subscription, self.metadata, self.connections
        )
        self.handover = Handover(
            self.outbox, self.subscription, self.commits, listener or application or NoListener()
        )
        parts = (
            self.outbox, given, self.subscription, self.metadata, self.coordinator, self.commits,
            self.handover,
        )  # fmt: skip
        self.membership: ClassicMembership | ConsumerGroupMembership = (
            ConsumerGroupMembership(*parts, chance)
            if given.group_protocol == CONSUMER
            else ClassicMembership(*parts)
        )
        self.commits.membership = self.membership
        self.call = ""
        self.call_until = 0
        self.has_left = False
        self.last_commit: Commit | None = None
        self.records: list[Record] = []
        self.error = ""

    # -- the application's side: calls that return at once

    def subscribe(self, now: int, topics: tuple[str, ...]) -> list[Effect]:
        """Reads these topics: those of their partitions that the group assigns to us."""
        self.subscribe_topics(topics)
        return self._work(now)

    def subscribe_pattern(self, now: int, pattern: str) -> list[Effect]:
        """Reads the topics that match a regular expression; the coordinator matches (KIP-848)."""
        if self.settings.group_protocol != CONSUMER:
            raise ValueError("A pattern needs group.protocol=consumer: here the broker matches it.")
        self.subscription.topics, self.subscription.pattern = (), pattern
        return self._work(now)

    def subscribe_topics(self, topics: tuple[str, ...]) -> None:
        self.subscription.topics = tuple(topics)
        for topic in topics:
            self.metadata.add_topic(topic)

    def assign(self, now: int, places: tuple[Place, ...]) -> list[Effect]:
        """Reads exactly these partitions, without a membership; it may still commit."""
        self.subscription.topics = None
        self.subscription.assign(tuple(places))
        for topic, _ in places:
            self.metadata.add_topic(topic)
        return self._work(now)

    def seek(self, now: int, place: Place, offset: int) -> list[Effect]:
        """The next poll goes on from here; nothing is committed by it."""
        self._check_assigned(place)
        self.fetcher.forget(place)
        self.positions.seek(place, OffsetAndMetadata(offset))
        return self._work(now)

    def seek_to(self, now: int, place: Place, end: str) -> list[Effect]:
        """To the earliest or the latest offset, when the next poll has asked for it."""
        if end not in (EARLIEST, LATEST):
            raise ValueError(f"{end!r} is no end of a partition; take {EARLIEST} or {LATEST}.")
        self._check_assigned(place)
        self.fetcher.forget(place)
        self.subscription.assigned[place].reset(end)
        return self._work(now)

    def pause(self, now: int, places: tuple[Place, ...]) -> list[Effect]:
        """Returns nothing of these for now; they stay ours, and polls must go on."""
        return self._set_paused(now, places, True)

    def resume(self, now: int, places: tuple[Place, ...]) -> list[Effect]:
        return self._set_paused(now, places, False)

    def _set_paused(self, now: int, places: tuple[Place, ...], paused: bool) -> list[Effect]:
        for place in places:
            self._check_assigned(place)
            self.subscription.assigned[place].paused = paused
        return self._work(now)

    def commit_async(self, now: int, offsets: Offsets | None = None) -> list[Effect]:
        """Commits these offsets, or all positions; its verdict is in `last_commit`."""
        self.begin_commit(now, offsets, kinds.ASYNC)
        return self._work(now)

    def _check_assigned(self, place: Place) -> None:
        if place not in self.subscription.assigned:
            raise ValueError(
                f"{self.name} does not own {place[0]}-{place[1]}; it owns {names(self.owned)}."
            )

    # -- and calls that take time; `busy` until they return

    def poll(self, now: int, timeout_ms: int) -> list[Effect]:
        """Returns `records` (or an `error`) when there are some, or when the time is over."""
        self.begin_poll(now, timeout_ms)
        return self._work(now)

    def commit_sync(self, now: int, offsets: Offsets | None = None) -> list[Effect]:
        """Commits these offsets, or all positions, and waits for the answer."""
        self.begin_commit(now, offsets, kinds.SYNC)
        return self._work(now)

    def close(self, now: int) -> list[Effect]:
        """Commits (enable.auto.commit), gives everything back, leaves the group."""
        self._begin(CLOSE)
        self.call_until = now + self.settings.request_timeout_ms * 1000
        positions = self.subscription.consumed() if self.settings.enable_auto_commit else {}
        self.last_commit = self.commits.start(now, positions, kinds.SYNC)
        return self._work(now)

    def finish(self, now: int) -> list[Effect]:
        """The end of an application: it closes its consumer."""
        self.application = None
        self.call = ""
        return self.close(now)

    def begin_poll(self, now: int, timeout_ms: int) -> None:
        self._begin(POLL)
        self.call_until = now + timeout_ms * 1000
        self.records, self.error = [], ""

    def begin_commit(self, now: int, offsets: Offsets | None, kind: str) -> Commit:
        if kind == kinds.SYNC:
            self._begin(COMMIT)
        found = self.subscription.consumed() if offsets is None else offsets
        self.last_commit = self.commits.start(now, found, kind)
        return self.last_commit

    def _begin(self, call: str) -> None:
        if self.call:
            raise RuntimeError(f"{self.name} is in {self.call}: a consumer takes one call at once.")
        self.call = call

    @property
    def busy(self) -> bool:
        """A call has not returned yet."""
        return self.call not in ("", CLOSED)

    @property
    def owned(self) -> tuple[Place, ...]:
        """The partitions that it believes to own."""
        return self.subscription.owned

    def note_processed(self, record: Record) -> None:
        """The application is done with a record: one line for the story."""
        self.outbox.trace(f"{_HERE}.note_processed", "processed",
                          f"{record.topic}-{record.partition}", offset=record.offset,
                          value=record.text)  # fmt: skip

    def position(self, place: Place) -> int:
        """The next offset that poll returns; -1 while it is not known."""
        state = self.subscription.assigned.get(place)
        return -1 if state is None else state.position.offset

    # -- the driver's side

    def start(self, now: int) -> list[Effect]:
        if self.application is not None:
            self.application.start(now, self)
        return self._work(now)

    def step(self, now: int, event: Event) -> list[Effect]:
        match event:
            case Response(_, RequestToken(connection="")):
                for answer in self.connections.on_response(now, event):
                    self._heard(now, answer)
            case Response(_, RequestToken()):
                for answer in self.own.on_response(now, event):
                    self._heard_coordinator(now, answer)
        return self._work(now)

    def _heard(self, now: int, answer: Answer) -> None:
        if answer.error:
            self.metadata.want()  # the lost broker may no longer lead
        match answer.purpose[0]:
            case "metadata":
                self._learn(now, answer)
            case what if what == FIND:
                self.coordinator.heard(now, answer)
            case what if what == FETCH:
                self.fetcher.heard(now, answer)
            case what if what in (LIST, VALIDATE):
                self.positions.heard(now, answer)

    def _learn(self, now: int, answer: Answer) -> None:
        if not isinstance(answer.body, m.MetadataResponse):
            self.metadata.failed(now)
            return
        for change in self.metadata.learn(now, answer.body):
            self.outbox.trace(f"{_HERE}._learn", "learned", why=change)

    def _heard_coordinator(self, now: int, answer: Answer) -> None:
        if answer.error:
            self.coordinator.lost()
        what = answer.purpose[0]
        if what == kinds.COMMIT:
            self.commits.heard(now, answer)
        elif what == ASK:
            self.committed.heard(now, answer)
        else:
            self.membership.heard(now, answer)

    # -- work

    def _work(self, now: int) -> list[Effect]:
        """Carries the call on, and the application from one call to the next; then sleeps."""
        while self.call != CLOSED:
            if self.subscription.is_group:
                self.membership.beat(now)
            self.commits.work(now)
            self._ask_metadata(now)
            if self.busy and not self._carry_on(now):
                break
            if self.application is None or not self.application.go_on(now, self):
                break
        moments = [at for at in self._moments() if at > now]
        self.outbox.set_timer(("wake",), min(moments, default=now + 1_000_000))
        return self.outbox.drain()

    def _ask_metadata(self, now: int) -> None:
        if not self.metadata.due(now):
            return
        broker = self.connections.any_ready(now, tuple(self.metadata.nodes) or self.bootstrap)
        if broker is not None:
            self.connections.send(now, broker, (METADATA, None), self.metadata.request())

    def _carry_on(self, now: int) -> bool:
        """True when the call returns."""
        if self.call == POLL:
            return self._poll(now)
        commit = self.last_commit
        if commit is not None and not commit.is_done:
            return False
        if self.call == CLOSE and not self._has_left(now):
            return False
        self.call = CLOSED if self.call == CLOSE else ""
        return True

    def _has_left(self, now: int) -> bool:
        """Whether all is given back, and the coordinator has answered that we may go."""
        if now >= self.call_until:
            return True
        if self.subscription.is_group and not self.has_left:
            self.has_left = self.membership.close(now)
        return (self.has_left or not self.subscription.is_group) and not self.own.is_waiting()

    def _poll(self, now: int) -> bool:
        if self.subscription.is_group:
            self.membership.work(now)
        self.commits.auto(now)
        self.committed.work(now, self.membership.member())
        self.positions.work(now)
        self.error = self._take_error()
        self.records = [] if self.error else self.fetcher.collect()
        self.fetcher.send(now)
        if not self.records and not self.error and now < self.call_until:
            return False
        self.call = ""
        if self.records or self.error:
            places = list(dict.fromkeys((each.topic, each.partition) for each in self.records))
            self.outbox.trace(f"{_HERE}._poll", "polled", why=self.error,
                              records=len(self.records), partitions=names(places))  # fmt: skip
        return True

    def _take_error(self) -> str:
        """What this poll reports, once."""
        parts = (self.coordinator, self.membership, self.committed, self.positions, self.fetcher)
        for part in parts:
            if part.error:
                error, part.error = part.error, ""
                return error
        return ""

    def _moments(self) -> list[int]:
        moments = [self.metadata.due_at()] if not self.metadata.asking else []
        if self.application is not None:
            moments += self.application.next_at()
        if self.busy:
            moments.append(self.call_until)
        if self.subscription.is_group:
            moments += self.membership.next_at()
        for part in (self.commits, self.committed, self.positions, self.coordinator):
            moments += part.next_at()
        return moments + self.connections.retry_at()
