"""A producer, as a state machine: the Java client's way of sending, with its settings.

    producer = Producer("shop", (101, 102, 103), {"acks": "all", "linger.ms": 5})
    world.add("shop", producer)
    producer.send(world.cluster.now, "orders", b"A")       # or let it make its own: Load

    send ──> partitioner ──> accumulator ──> sender ──> broker
               which?          batches         in flight, retries      engine/client/*.py

`send` hands a record over and returns.  Two things can hold it up: the topic or partition is not
known yet, or buffer.memory is full.  The Java client then blocks the calling thread for up to
`max.block.ms`.  A state machine cannot block, so such records wait in `blocked`, in order, and are
refused when the time is over, or as soon as a broker says that the topic's name is invalid or
access denied.  delivery.timeout.ms begins only after that.

Everything that happens leaves a trace line, so that a delivery timeline can be drawn:
record, sent, answered, retry, acknowledged or reported, refused, unknown, expired, split,
producer_id, epoch_bump, id_reset, learned, connecting, disconnected, blocked.  With a
transactional.id also: called, transition, request, response, coordinator, coordinator unknown,
joined, returned.

    producer = Producer("shop", (101, 102, 103), {"transactional.id": "till-1"})
    init_transactions → begin_transaction → send … → commit_transaction or abort_transaction

Calls that wait for a coordinator return at once too: the producer is `busy` until they have
returned, and then `error` says why one failed.  A call in the wrong state raises RuntimeError, and
KafkaError in an error state.

`sends` has each record with its verdict (engine/client/verdicts.py).  All random choices, of jitter
and of partitions without a key, come from the seed.

Left out: interceptors, serializers, metrics; close() is `flush`, and no further send; a Load has no
transactions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

from engine.client import partitioners
from engine.client.accumulator import Accumulator
from engine.client.backoff import ExponentialBackoff
from engine.client.completion import Completion
from engine.client.connections import Connections, RequestToken
from engine.client.idempotence import Idempotence
from engine.client.metadata import Metadata
from engine.client.producer_batch import Sent
from engine.client.sender import Sender
from engine.client.settings import ProducerSettings
from engine.client.transaction_calls import ABORT, COMMIT, INIT, SEND_OFFSETS, Calls
from engine.client.transaction_requests import GroupMetadata, Offset
from engine.client.transactional_sender import TransactionalSender
from engine.client.transactions import Transactions
from engine.client.verdicts import Verdicts
from engine.events import Effect, Event, Expired, Outbox, Response
from engine.wire.errors import Errors

_HERE = "client.producer.Producer"
MAX_BLOCK = "max.block.ms"


@dataclass(frozen=True)
class Load:
    """Records that a producer makes by itself: `count` of them, one every `period_us`.

    Values are the producer's name and a number.  `partition` None lets the partitioner
    choose; `burst` records are made at a time.
    """

    topic: str
    count: int
    period_us: int = 20_000
    partition: int | None = 0
    burst: int = 1


class Producer:
    """One producer.  `bootstrap` are the brokers it may ask first."""

    def __init__(
        self,
        name: str,
        bootstrap: tuple[int, ...],
        settings: Mapping[str, object] | ProducerSettings | None = None,
        *,
        load: Load | None = None,
        seed: int = 0,
    ) -> None:
        given = (
            settings if isinstance(settings, ProducerSettings) else ProducerSettings.of(settings)
        )
        chance = Random(f"producer/{name}/{seed}")
        self.name = name
        self.settings = given
        self.load = load
        self.made = 0
        self.outbox = Outbox()
        self.blocked: list[Sent] = []
        self.verdicts = Verdicts(self.outbox, given.acks_code)
        self.accumulator = Accumulator(given)
        self.partitioner = partitioners.make(
            given.partitioner_class, given.batch_size,
            given.partitioner_adaptive_partitioning_enable, chance,
        )  # fmt: skip
        retry = ExponentialBackoff(
            given.retry_backoff_ms * 1000, given.retry_backoff_max_ms * 1000, chance
        )
        self.metadata = Metadata(given.metadata_max_age_ms * 1000, retry)
        reconnect = ExponentialBackoff(
            given.reconnect_backoff_ms * 1000, given.reconnect_backoff_max_ms * 1000, chance
        )
        self.connections = Connections(
            self.outbox, given.request_timeout_ms * 1000,
            given.max_in_flight_requests_per_connection, reconnect,
        )  # fmt: skip
        self.identity = (
            Idempotence(self.outbox, given.sequence_gap == "reset", bool(given.transactional_id))
            if given.enable_idempotence
            else None
        )
        self.transactions: Transactions | None = None
        transactional: TransactionalSender | None = None
        if given.transactional_id and self.identity is not None:
            self.transactions = Transactions(
                self.outbox, given.transactional_id, given.transaction_timeout_ms,
                self.connections, self.identity,
            )  # fmt: skip
            transactional = TransactionalSender(
                self.outbox, self.transactions, self.connections, self.metadata, bootstrap,
                given.retry_backoff_ms,
            )  # fmt: skip
        self.calls = Calls(self.outbox, name, self.transactions, given.max_block_ms * 1000)
        completion = Completion(
            self.outbox, given, self.accumulator, self.metadata, self.identity, self.verdicts,
            retry, self.transactions,
        )  # fmt: skip
        self.sender = Sender(
            self.outbox, given, bootstrap, self.accumulator, self.metadata, self.connections,
            self.identity, completion, retry, transactional,
        )  # fmt: skip

    # -- the application's side

    def send(
        self, now: int, topic: str, value: bytes, key: bytes | None = None,
        partition: int | None = None,
    ) -> list[Effect]:  # fmt: skip
        """Hands one record over; its `Sent` is the last of `sends`."""
        if self.transactions is not None:
            self.transactions.check_send()
        number = len(self.verdicts.sends) + 1
        record = Sent(number, topic, -1 if partition is None else partition, key, value, now)
        self.verdicts.opened(record)
        self.metadata.add_topic(topic)
        too_large_for = self.accumulator.too_large(record)
        if too_large_for:
            self._turn_away(now, record, f"larger than {too_large_for}", Errors.MESSAGE_TOO_LARGE)
        elif self.blocked or not self._accepted(now, record):
            self.outbox.trace(f"{_HERE}.send", "blocked", record=number)
            self.blocked.append(record)
        return self._work(now)

    def init_transactions(self, now: int) -> list[Effect]:
        """Gets an id and an epoch; fences the older producers of this transactional.id."""
        self.calls.begin(now, INIT, not self.blocked)
        return self._work(now)

    def begin_transaction(self, now: int) -> list[Effect]:
        """What is sent from here on is committed or aborted together."""
        self.calls.transactional().begin_transaction()
        return self._work(now)

    def send_offsets_to_transaction(
        self, now: int, offsets: Mapping[tuple[str, int], Offset], group: GroupMetadata
    ) -> list[Effect]:
        """The group's offsets are committed with the transaction, or not at all (KIP-447)."""
        if group.generation > 0 and not group.member_id:
            raise ValueError(
                f"Generation {group.generation} of {group.group_id} needs a member id."
            )
        if not offsets:
            return self._work(now)
        self.calls.begin(now, SEND_OFFSETS, not self.blocked, offsets, group)
        return self._work(now)

    def commit_transaction(self, now: int) -> list[Effect]:
        """Sends all that is left, then commits."""
        self.calls.begin(now, COMMIT, not self.blocked)
        return self._work(now)

    def abort_transaction(self, now: int) -> list[Effect]:
        """Drops what was not sent, then aborts."""
        self.calls.begin(now, ABORT, not self.blocked)
        return self._work(now)

    def flush(self, now: int) -> list[Effect]:
        """Sends at once what lingers; done when `idle`."""
        self.accumulator.flushing = True
        return self._work(now)

    def finish(self, now: int) -> list[Effect]:
        """Ends the load; what was handed over is still sent."""
        self.load = None
        return self.flush(now)

    @property
    def sends(self) -> list[Sent]:
        """Every record, in the order in which it was handed over."""
        return self.verdicts.sends

    @property
    def busy(self) -> bool:
        """A call has not returned yet."""
        return bool(self.calls.operation)

    @property
    def error(self) -> str:
        """Why the last call failed; empty if it did not."""
        return self.calls.error

    @property
    def idle(self) -> bool:
        """Nothing is pending, and the load is over."""
        over = self.load is None or self.made >= self.load.count
        return over and self.verdicts.pending == 0

    # -- the driver's side

    def start(self, now: int) -> list[Effect]:
        if self.load is not None:
            self.metadata.add_topic(self.load.topic)
            self.outbox.set_timer(("load",), now + self.load.period_us)
        return self._work(now)

    def step(self, now: int, event: Event) -> list[Effect]:
        match event:
            case Response(_, RequestToken()):
                for answer in self.connections.on_response(now, event):
                    self.sender.heard(now, answer)
            case Expired(("load",)):
                self._make(now)
        return self._work(now)

    def _make(self, now: int) -> None:
        """The application's loop.  A blocked `send` holds it up, as it would a thread."""
        load = self.load
        if load is None or self.made >= load.count:
            return
        for _ in range(load.burst):
            if self.blocked or self.made >= load.count:
                break
            value = f"{self.name}-{self.made}".encode()
            self.made += 1
            for effect in self.send(now, load.topic, value, None, load.partition):
                self.outbox.effects.append(effect)
        self.outbox.set_timer(("load",), now + load.period_us)

    def _work(self, now: int) -> list[Effect]:
        """Admits records that waited, sends in rounds while more get in, then sleeps."""
        self._admit(now)
        next_at = self.sender.run(now)
        while self._admit(now) or self.calls.carry_on(now, not self.blocked):
            next_at = self.sender.run(now)
        if self.busy:
            next_at = min(next_at, self.calls.until)
        limit_us = self.settings.max_block_ms * 1000
        if self.blocked:
            next_at = min(next_at, self.blocked[0].made_us + limit_us)
        elif self.accumulator.flushing and self.accumulator.is_empty():
            self.accumulator.flushing = False
        self.outbox.set_timer(("wake",), max(next_at, now + 1))
        return self.outbox.drain()

    def _admit(self, now: int) -> bool:
        """Lets blocked records in, in order; refuses those for a topic that cannot be written
        to, and those that waited max.block.ms."""
        any_in = False
        while self.blocked:
            record = self.blocked[0]
            if self._accepted(now, record):
                any_in = True
            elif refusal := self.metadata.refusal(record.topic):
                self._turn_away(now, record, refusal, Errors[refusal])
            elif now - record.made_us >= self.settings.max_block_ms * 1000:
                self._turn_away(now, record, MAX_BLOCK, Errors.REQUEST_TIMED_OUT)
            else:
                break
            self.blocked.pop(0)
        return any_in

    def _turn_away(self, now: int, record: Sent, why: str, error: Errors) -> None:
        self.verdicts.turned_away(now, record, why)
        if self.transactions is not None:
            self.transactions.records_failed(error)

    def _accepted(self, now: int, record: Sent) -> bool:
        """Puts a record into a batch; False while there is no such partition or no memory."""
        count = self.metadata.partitions(record.topic)
        if count == 0 or record.partition >= count:
            self.metadata.want()
            return False
        # A partition is chosen once, even if there is no memory yet; only the built-in
        # partitioner looks again, because its current partition may change meanwhile.
        free = record.partition < 0
        by = self.partitioner if free and record.key is None else None
        sticky = by if isinstance(by, partitioners.BuiltIn) else None
        if sticky:
            self._count(sticky, record, before=True)
        if free:
            available = self.metadata.available(record.topic)
            record.partition = self.partitioner.choose(record.topic, record.key, available, count)
        batch, growth = self.accumulator.append(now, record)
        if batch is None:
            record.partition = -1 if sticky else record.partition
            return False
        if sticky:
            self._count(sticky, record, growth)
        if self.transactions is not None:
            self.transactions.add(batch.place)
        place = f"{record.topic}-{record.partition}"
        self.outbox.trace(f"{_HERE}._accepted", "record", place, record=record.number,
                          batch=batch.number)  # fmt: skip
        return True

    def _count(
        self, sticky: partitioners.BuiltIn, record: Sent, growth: int = 0, before: bool = False
    ) -> None:
        """Counts more bytes in the partitioner's current partition.  Called before a record too:
        the batch that would have been left half full may be gone, or may have no room for it."""
        topic = record.topic
        place = (topic, sticky.stuck_to.get(topic, -1))
        all_full = self.accumulator.all_full(place, record if before else None)
        sticky.appended(topic, growth, self.accumulator.queue_lengths(topic), all_full)
