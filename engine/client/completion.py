"""Settles each batch that was sent: it is done, split, sent again, or given up.

    no error                      acknowledged
    MESSAGE_TOO_LARGE             cut into smaller batches, if it has more than one record
    a retriable error             back into the queue; after a backoff, another attempt
    DUPLICATE_SEQUENCE_NUMBER     acknowledged: it was stored so long ago that the broker has
                                  forgotten the offset
    any other error               refused, at once

The protocol says which errors are retriable.  With idempotence so is a gap in the sequence
(engine/client/idempotence.py).  Another attempt needs retries and time: delivery.timeout.ms after
it was made, a batch is given up wherever it is: in the queue, in its backoff, or in flight.

A batch that is given up while an attempt may have arrived is *unknown*, not lost: `maybe_stored`.
A batch that is given up in flight keeps its memory until the answer or the end of the connection.
Clients that freed it at once put other records there, and sent those in the batch (KAFKA-19012).
"""

from __future__ import annotations

from engine.client.accumulator import Accumulator
from engine.client.backoff import ExponentialBackoff
from engine.client.connections import Answer
from engine.client.idempotence import Idempotence
from engine.client.metadata import Metadata
from engine.client.producer_batch import Place, ProducerBatch
from engine.client.settings import ProducerSettings
from engine.client.transactions import Transactions
from engine.client.verdicts import Verdicts
from engine.events import Answered, Outbox
from engine.wire import messages as m
from engine.wire.errors import Errors

PartitionAnswer = m.ProduceResponse.PartitionProduceResponse
_HERE = "client.completion.Completion"
DELIVERY_TIMEOUT = "delivery.timeout.ms"
AFTER_APPEND = (
    Errors.REQUEST_TIMED_OUT,
    Errors.NETWORK_EXCEPTION,
    Errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    Errors.NOT_LEADER_OR_FOLLOWER,
    Errors.UNKNOWN_TOPIC_OR_PARTITION,
    Errors.KAFKA_STORAGE_ERROR,
)
"""Errors after which the batch may be in the log.  The last three mostly come before
the append.  But with acks=all a leader also gives them if it loses its leadership while it
waits for the others, and the next leader may have the batch.  The answer does not say which."""
STALE_METADATA = (
    Errors.NETWORK_EXCEPTION,
    Errors.NOT_LEADER_OR_FOLLOWER,
    Errors.FENCED_LEADER_EPOCH,
    Errors.LEADER_NOT_AVAILABLE,
    Errors.UNKNOWN_TOPIC_OR_PARTITION,
    Errors.UNKNOWN_TOPIC_ID,
    Errors.KAFKA_STORAGE_ERROR,
)
"""Errors after which the client asks for metadata again."""


class Completion:
    """Keeps the batches in flight, by partition; `identity` is None without idempotence, and
    `transactions` without a transactional.id."""

    def __init__(self, outbox: Outbox, settings: ProducerSettings, accumulator: Accumulator,
                 metadata: Metadata, identity: Idempotence | None, verdicts: Verdicts,
                 backoff: ExponentialBackoff,
                 transactions: Transactions | None = None) -> None:  # fmt: skip
        self.outbox = outbox
        self.settings = settings
        self.accumulator = accumulator
        self.metadata = metadata
        self.identity = identity
        self.verdicts = verdicts
        self.backoff = backoff
        self.transactions = transactions
        self.in_flight: dict[Place, list[ProducerBatch]] = {}

    def departed(self, batch: ProducerBatch) -> None:
        self.in_flight.setdefault(batch.place, []).append(batch)

    def answered(
        self, now: int, batch: ProducerBatch, answer: Answer, reply: PartitionAnswer | None
    ) -> None:
        """Settles one batch: done, split, another attempt, or given up."""
        self._remove_in_flight(batch)
        error = answer.error if reply is None else Errors(reply.error_code)
        self.outbox.trace(
            f"{_HERE}.answered", "answered", name(batch.place), batch=batch.number,
            attempt=batch.retries + 1, broker=answer.node, error=error.name,
            after_us=now - answer.sent_us,
        )  # fmt: skip
        if error in STALE_METADATA:
            self._learn_leader(batch.place, answer.body, reply)
            self.metadata.want()
        if error in AFTER_APPEND:
            batch.maybe_stored = True
        if batch.is_done:
            self._heard_late(batch, error, reply)
            self._release(batch)
        elif reply is not None and not error:
            self.succeeded(now, batch, reply.base_offset)
        elif error == Errors.MESSAGE_TOO_LARGE and len(batch.records) > 1:
            self._split(batch)
        elif self._may_retry(now, batch, error, reply):
            self._put_back(now, batch, error)
        elif error == Errors.DUPLICATE_SEQUENCE_NUMBER:
            self.succeeded(now, batch, -1)  # stored so long ago that the offset is forgotten
        else:
            self._fail(now, batch, error.name, error, batch.retries < self.settings.retries)

    def _heard_late(
        self, batch: ProducerBatch, error: Errors, reply: PartitionAnswer | None
    ) -> None:
        """The batch was given up long ago; but if it is stored, there is no gap after all."""
        stored = error in (Errors.NONE, Errors.DUPLICATE_SEQUENCE_NUMBER)
        if stored and self.identity is not None:
            self.identity.acknowledged(batch, -1 if error or reply is None else reply.base_offset)

    def _learn_leader(self, place: Place, body: Answered, reply: PartitionAnswer | None) -> None:
        """A refusal may name the new leader, and its address (KIP-951)."""
        leader = None if reply is None else reply.current_leader
        if leader is not None and isinstance(body, m.ProduceResponse):
            addresses = {each.node_id: (each.host, each.port) for each in body.node_endpoints}
            self.metadata.learn_from_refusal(
                place, leader.leader_id, leader.leader_epoch, addresses
            )

    def _remove_in_flight(self, batch: ProducerBatch) -> None:
        self.in_flight[batch.place] = [b for b in self.in_flight[batch.place] if b is not batch]

    def _may_retry(
        self, now: int, batch: ProducerBatch, error: Errors, reply: PartitionAnswer | None
    ) -> bool:
        age_us = now - batch.created_us
        if age_us >= self.settings.delivery_timeout_ms * 1000:
            return False
        if batch.retries >= self.settings.retries:
            return False
        if self.identity is None:
            return error.retriable
        log_start = -1 if reply is None else reply.log_start_offset
        return self.identity.may_retry(batch, error, log_start)

    # -- ends

    def _put_back(self, now: int, batch: ProducerBatch, error: Errors) -> None:
        batch.backoff_us = self.backoff.wait_us(batch.retries)
        batch.retries += 1
        batch.last_attempt_us = now
        self.accumulator.put_back(batch)
        self.outbox.trace(
            f"{_HERE}._put_back", "retry", name(batch.place), why=error.name, batch=batch.number,
            attempt=batch.retries + 1, backoff_us=batch.backoff_us,
            left=self.settings.retries - batch.retries,
        )  # fmt: skip

    def _split(self, batch: ProducerBatch) -> None:
        parts = self.accumulator.split(batch)
        if self.identity is not None:
            self.identity.was_split(batch, parts)
        batch.is_done = True
        self.accumulator.release(batch)
        self.outbox.trace(f"{_HERE}._split", "split", name(batch.place), batch=batch.number,
                          into=tuple(part.number for part in parts))  # fmt: skip

    def succeeded(self, now: int, batch: ProducerBatch, offset: int) -> None:
        if self.settings.acks_code == 0:
            self._remove_in_flight(batch)
        if self.identity is not None:
            self.identity.acknowledged(batch, offset)
        self._done(batch)
        self.verdicts.acknowledged(now, batch, offset)

    def _fail(
        self, now: int, batch: ProducerBatch, what: str, error: Errors, renumber: bool
    ) -> None:
        self._done(batch)
        if self.transactions is not None:
            self.transactions.records_failed(error)
        if self.identity is not None:
            self.identity.failed(batch, error, renumber)
        self.verdicts.failed(now, batch, what)

    def _done(self, batch: ProducerBatch) -> None:
        """The batch is done; in flight it keeps its memory, for the network may still read it."""
        batch.is_done = True
        if batch not in self.in_flight.get(batch.place, ()):
            self._release(batch)

    def _release(self, batch: ProducerBatch) -> None:
        self.accumulator.release(batch)
        self.accumulator.exhausted = False

    def expire(self, now: int) -> None:
        """Gives up what is older than delivery.timeout.ms, in flight or not."""
        limit = self.settings.delivery_timeout_ms * 1000
        late = self.accumulator.expired(now)
        for batches in self.in_flight.values():
            for batch in batches:
                if not batch.is_done and now - batch.created_us >= limit:
                    batch.maybe_stored = True
                    late.append(batch)
        for batch in late:
            self.outbox.trace(f"{_HERE}.expire", "expired", name(batch.place),
                              batch=batch.number, age_us=now - batch.created_us)  # fmt: skip
            self._fail(now, batch, DELIVERY_TIMEOUT, Errors.REQUEST_TIMED_OUT, False)
            if self.identity is not None and batch.retries:
                self.identity.gave_up_after_sending(batch)

    def give_up_all(self, now: int, what: str) -> None:
        for queue in self.accumulator.queues.values():
            while queue:
                self._fail(now, queue.popleft(), what, Errors.UNKNOWN_SERVER_ERROR, False)

    # -- the end of a transaction

    def has_batches(self) -> bool:
        """Whether any batch is not done."""
        under_way = (batch for batches in self.in_flight.values() for batch in batches)
        return not self.accumulator.is_empty() or any(not batch.is_done for batch in under_way)

    def drop_unsent(self, now: int, what: str) -> None:
        """An abort: what never left is refused; what did leave is carried on to its answer."""
        for batch in self.accumulator.take_unsent():
            self._drop(now, batch, what)

    def drop_all(self, now: int, what: str) -> None:
        """The producer is of no use any more: nothing is waited for."""
        for queue in self.accumulator.queues.values():
            while queue:
                self._drop(now, queue.popleft(), what)
        for batches in self.in_flight.values():
            for batch in batches:
                if not batch.is_done:
                    batch.maybe_stored = True
                    self._drop(now, batch, what)

    def _drop(self, now: int, batch: ProducerBatch, what: str) -> None:
        self._done(batch)
        self.verdicts.failed(now, batch, what)


def name(place: Place) -> str:
    return f"{place[0]}-{place[1]}"
