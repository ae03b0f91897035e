"""One round of the producer's work: it sends what is ready and settles what was answered.

    ready      a batch is full or has lingered, its leader is known and connected
    drained    a request takes at most one batch of each partition that the broker leads, even one
               that would still linger; up to max.in.flight.requests.per.connection requests
               are in flight per broker
    answered   the batch is done, sent again, or given up (engine/client/completion.py)
    expired    delivery.timeout.ms after the batch was made it is given up

Metadata goes before records: while it is due no batch leaves, and the next free slot at any broker
is for the metadata request.  Otherwise a backlog could hold it back for good.

A transactional producer asks its coordinators between the rounds, and no batch leaves meanwhile
(engine/client/transactional_sender.py).

So three clocks run one inside the other: request.timeout.ms for one answer, retry.backoff.ms
between attempts, delivery.timeout.ms around them all.  `retries` is no clock: do not rely on it.

Simplified: the Java client does this in a thread of its own, the I/O thread, while `send`
fills the accumulator in the application's.  Here both are steps of one state machine.
"""

from __future__ import annotations

from engine.client.accumulator import Accumulator
from engine.client.backoff import ExponentialBackoff
from engine.client.completion import Completion, PartitionAnswer, name
from engine.client.connections import Answer, Connections
from engine.client.idempotence import Idempotence
from engine.client.metadata import Metadata
from engine.client.producer_batch import Place, ProducerBatch
from engine.client.settings import ProducerSettings
from engine.client.transaction_requests import PRODUCE_1
from engine.client.transactional_sender import TRANSACTIONAL, TransactionalSender
from engine.client.transactions import ABORTED
from engine.events import Outbox
from engine.wire import messages as m
from engine.wire.errors import Errors

_HERE = "client.sender.Sender"
PRODUCE, METADATA, PRODUCER_ID = "produce", "metadata", "producer-id"


class Sender:
    """Works through the accumulator; `identity` is None without idempotence, and `transactional`
    without a transactional.id."""

    def __init__(self, outbox: Outbox, settings: ProducerSettings, bootstrap: tuple[int, ...],
                 accumulator: Accumulator, metadata: Metadata, connections: Connections,
                 identity: Idempotence | None, completion: Completion,
                 backoff: ExponentialBackoff,
                 transactional: TransactionalSender | None = None) -> None:  # fmt: skip
        self.outbox = outbox
        self.settings = settings
        self.bootstrap = bootstrap
        self.accumulator = accumulator
        self.metadata = metadata
        self.connections = connections
        self.identity = identity
        self.backoff = backoff
        self.completion = completion
        self.transactional = transactional
        self.asking_id = False
        self.ask_id_at = 0
        self.drain_index: dict[int, int] = {}
        """By leader: at which of its partitions the next request begins to fill."""

    # -- a round

    def run(self, now: int) -> int:
        """Sends what may go; gives the moment when there will be more to do."""
        if self.identity is not None:
            in_doubt = self.identity.settle()
            if self.identity.fatal:
                self.completion.give_up_all(now, self.identity.fatal)
            if self.transactional is not None and self._transact(now, in_doubt):
                self._ask_metadata(now)
                return self._next_at(now)
        self.completion.expire(now)
        self._ask_for_id(now)
        self._ask_metadata(now)
        while self._send_one_each(now):
            pass
        return self._next_at(now)

    def _transact(self, now: int, in_doubt: bool) -> bool:
        """The transactions' part of a round; True while no batch may leave."""
        assert self.transactional is not None
        transactions = self.transactional.transactions
        if in_doubt:
            transactions.numbers_in_doubt()
        lifecycle = transactions.lifecycle
        failure = lifecycle.failure
        if failure is not None and (lifecycle.is_fatal or lifecycle.is_unauthorised):
            self.completion.drop_all(now, failure.error.name)
        if lifecycle.is_fatal:
            return True
        if lifecycle.is_unauthorised:
            transactions.reinitialize()
        if lifecycle.drops_batches:
            self.completion.drop_unsent(now, failure.error.name if failure else ABORTED)
        self.accumulator.completing = lifecycle.is_completing
        return self.transactional.work(now, self.completion.has_batches())

    def _ask_metadata(self, now: int) -> None:
        if any(self.metadata.leader(place) < 0 for place in self.accumulator.waiting()):
            self.metadata.want()
        if self.metadata.due(now):
            self._ask(now, METADATA)

    def _ask(self, now: int, what: str) -> bool:
        """Metadata, or a producer id: any broker can answer."""
        known = tuple(self.metadata.nodes) or self.bootstrap
        if self.transactional is not None:
            known = self.transactional.brokers()
        node = self.connections.any_ready(now, known)
        if node is None:
            return False
        body = (
            self.metadata.request()
            if what == METADATA
            else m.InitProducerIdRequest(
                transactional_id=None, transaction_timeout_ms=(1 << 31) - 1
            )
        )
        self.connections.send(now, node, (what,), body, answered=True)
        return True

    def _ask_for_id(self, now: int) -> None:
        if self.identity is None or self.identity.is_known or self.identity.fatal:
            return
        if self.transactional is not None:
            return  # the coordinator gives it
        if not self.asking_id and now >= self.ask_id_at:
            self.asking_id = self._ask(now, PRODUCER_ID)

    def _send_one_each(self, now: int) -> bool:
        """One request to every broker that can take one; False if none was sent."""
        asks_first = self.metadata.due(now)  # the next free slot anywhere is for that
        leaders: dict[int, None] = {}
        for place in self.accumulator.waiting():
            leader, epoch = self.metadata.leader(place), self.metadata.epoch(place)
            is_due = leader >= 0 and self.accumulator.ready_at(place, epoch) <= now
            if is_due and self.connections.is_ready(now, leader) and not asks_first:
                leaders[leader] = None
        requests = {leader: self._filled(now, leader) for leader in leaders}
        for leader, batches in requests.items():
            if batches:
                self._send(now, leader, batches)
        return any(requests.values())

    def _filled(self, now: int, leader: int) -> list[ProducerBatch]:
        """At most one batch of each partition, as many as go into a request.  It begins where the
        last one ended; otherwise the first partitions would keep the last ones waiting.  Batches
        that would still linger go along."""
        places = self.metadata.led_by(leader)
        start = self.drain_index.get(leader, 0) % len(places)
        filled: list[ProducerBatch] = []
        size = 0
        for step in range(len(places)):
            place = places[(start + step) % len(places)]
            self.drain_index[leader] = (start + step) % len(places)
            batch, epoch = self.accumulator.first(place), self.metadata.epoch(place)
            if batch is None or batch.is_backing_off(now, epoch) or self._is_muted(place):
                continue
            size += batch.size
            if filled and size > self.settings.max_request_size:
                break
            if not self._may_leave(batch):
                break  # the next request begins with it, as the Java client's does
            filled.append(self._drain(now, place, epoch))
        return filled

    def _may_leave(self, batch: ProducerBatch) -> bool:
        by = self.transactional
        if by is not None and not by.transactions.may_send_to(batch.place):
            return False
        return self.identity is None or self.identity.may_leave(batch)

    def _is_muted(self, place: Place) -> bool:
        """With one request in flight a partition has one batch in flight, to keep the order."""
        single = self.settings.max_in_flight_requests_per_connection == 1
        return single and bool(self.completion.in_flight.get(place))

    def _drain(self, now: int, place: Place, epoch: int) -> ProducerBatch:
        batch = self.accumulator.take(place)
        if self.identity is not None:
            self.identity.number(batch)
        batch.was_resequenced = False  # it goes out with the numbers that it has now
        batch.sent_us = now
        batch.sent_in_epoch = epoch
        self.completion.departed(batch)
        return batch

    def _send(self, now: int, leader: int, batches: list[ProducerBatch]) -> None:
        request = m.ProduceRequest
        transactions = self.transactional.transactions if self.transactional is not None else None
        topics: dict[str, m.ProduceRequest.TopicProduceData] = {}
        for batch in batches:
            topic, index = batch.place
            part = request.PartitionProduceData(
                index=index, records=batch.encode(bool(transactions))
            )
            if topic not in topics:
                topics[topic] = request.TopicProduceData(
                    name=topic, topic_id=self.metadata.topic_ids[topic]
                )
            topics[topic].partition_data.append(part)
            self.outbox.trace(
                f"{_HERE}._send", "sent", name(batch.place), batch=batch.number,
                attempt=batch.retries + 1, broker=leader, records=len(batch.records),
                request=self.connections.sent + 1, producer_id=batch.producer_id,
                epoch=batch.producer_epoch, sequence=batch.base_sequence,
            )  # fmt: skip
        acks = self.settings.acks_code
        body = request(acks=acks, timeout_ms=self.settings.request_timeout_ms,
                       topic_data=list(topics.values()),
                       transactional_id=transactions.name if transactions else None)  # fmt: skip
        names = {each.topic_id: topic for topic, each in topics.items()}
        purpose = (PRODUCE, tuple(batches), names)
        version_max = PRODUCE_1 if transactions and not transactions.is_v2 else None
        self.connections.send(
            now, leader, purpose, body, answered=acks != 0, version_max=version_max
        )
        if acks == 0:
            for batch in batches:
                self.completion.succeeded(now, batch, -1)

    # -- answers

    def heard(self, now: int, answer: Answer) -> None:
        if answer.error:
            self.metadata.want()  # the lost broker may no longer lead
        match answer.purpose:
            case ("metadata",):
                if not isinstance(answer.body, m.MetadataResponse):
                    self.metadata.failed(now)
                    return
                for change in self.metadata.learn(now, answer.body):
                    self.outbox.trace(f"{_HERE}.heard", "learned", why=change)
            case ("producer-id",):
                self._heard_id(now, answer)
            case (what,) if what == TRANSACTIONAL and self.transactional is not None:
                self.transactional.heard(answer)
            case ("produce", batches, names):
                body = answer.body
                parts = _answers(body, names) if isinstance(body, m.ProduceResponse) else {}
                for batch in batches:
                    self.completion.answered(now, batch, answer, parts.get(batch.place))

    def _heard_id(self, now: int, answer: Answer) -> None:
        self.asking_id = False
        given = answer.body if isinstance(answer.body, m.InitProducerIdResponse) else None
        error = answer.error if given is None else Errors(given.error_code)
        if self.identity is None:
            return
        if given is not None and not error:
            self.identity.became(given.producer_id, given.producer_epoch)
        elif error.retriable:
            self.ask_id_at = now + self.backoff.wait_us(0)
        else:
            self.identity.fatal = error.name

    # -- time

    def _next_at(self, now: int) -> int:
        """The earliest moment that anything waits for."""
        moments = [self.metadata.due_at()] if not self.metadata.asking else []
        limit = self.settings.delivery_timeout_ms * 1000
        for place in self.accumulator.waiting():
            moments.append(self.accumulator.ready_at(place, self.metadata.epoch(place)))
            moments.append(self.accumulator.queues[place][0].created_us + limit)
        for batches in self.completion.in_flight.values():
            moments += [b.created_us + limit for b in batches if not b.is_done]
        moments += self.connections.retry_at()
        if self.identity is not None and not self.asking_id:
            moments.append(self.ask_id_at)
        if self.transactional is not None:
            moments += self.transactional.next_at()
        return min((at for at in moments if at > now), default=now + 1_000_000)


def _answers(body: m.ProduceResponse, names: dict[bytes, str]) -> dict[Place, PartitionAnswer]:
    """A Produce answer by partition; from version 13 on topics have ids, not names.

    `names` are those of the request: by now a name may belong to another topic.
    """
    return {
        (topic.name or names[topic.topic_id], part.index): part
        for topic in body.responses
        for part in topic.partition_responses
    }
