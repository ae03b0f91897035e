"""One round of the producer's work: what is ready is sent, what was answered is settled.

    ready      a batch is full or has lingered, its leader is known and connected
    drained    at most one batch per partition goes into a request; up to
               max.in.flight.requests.per.connection requests are under way per broker
    answered   success; or an error that passes (back into the queue, after a backoff);
               or one that does not (refused)
    expired    delivery.timeout.ms after the batch was made it is given up, wherever it is:
               in the queue, resting between two tries, or under way

So three clocks run one inside the other: request.timeout.ms for one answer, retry.backoff.ms
between tries, delivery.timeout.ms around them all.  `retries` is no clock, and nobody
should count on it.

What is given up while a try may have arrived is *unknown*, not lost: `maybe_stored`.

Simplified: a batch larger than the broker takes is split by batch.size as in the Java
client, but its parts keep the sequence numbers only with idempotence.
"""

from __future__ import annotations

from typing import Any

from engine.client.accumulator import Accumulator
from engine.client.backoff import ExponentialBackoff
from engine.client.connections import Answer, Connections
from engine.client.idempotence import Idempotence
from engine.client.metadata import Metadata
from engine.client.producer_batch import Place, ProducerBatch
from engine.client.settings import ProducerSettings
from engine.client.verdicts import Verdicts
from engine.events import Outbox
from engine.wire import messages as m
from engine.wire.errors import Errors

_HERE = "client.sender.Sender"
PRODUCE, METADATA, PRODUCER_ID = "produce", "metadata", "producer-id"
DELIVERY_TIMEOUT = "delivery.timeout.ms"
AFTER_APPEND = (
    Errors.REQUEST_TIMED_OUT,
    Errors.NETWORK_EXCEPTION,
    Errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
)
"""Errors after which the batch may be in the log."""
STALE_METADATA = (
    Errors.NETWORK_EXCEPTION,
    Errors.NOT_LEADER_OR_FOLLOWER,
    Errors.FENCED_LEADER_EPOCH,
    Errors.LEADER_NOT_AVAILABLE,
    Errors.UNKNOWN_TOPIC_OR_PARTITION,
    Errors.UNKNOWN_TOPIC_ID,
    Errors.KAFKA_STORAGE_ERROR,
)
"""Errors that say: ask anew who leads."""


class Sender:
    """Works through the accumulator; `identity` is None without idempotence."""

    def __init__(self, outbox: Outbox, settings: ProducerSettings, bootstrap: tuple[int, ...],
                 accumulator: Accumulator, metadata: Metadata, connections: Connections,
                 identity: Idempotence | None, verdicts: Verdicts,
                 backoff: ExponentialBackoff) -> None:  # fmt: skip
        self.outbox = outbox
        self.settings = settings
        self.bootstrap = bootstrap
        self.accumulator = accumulator
        self.metadata = metadata
        self.connections = connections
        self.identity = identity
        self.verdicts = verdicts
        self.backoff = backoff
        self.in_flight: dict[Place, list[ProducerBatch]] = {}
        self.asking_id = False
        self.ask_id_at = 0

    # -- a round

    def run(self, now: int) -> int:
        """Sends what may go; gives the moment when there will be more to do."""
        if self.identity is not None:
            self.identity.settle()
            if self.identity.fatal:
                self._give_up_all(now, self.identity.fatal)
        self._expire(now)
        self._ask_for_id(now)
        while self._send_one_each(now):
            pass
        if self.metadata.due(now):
            self._ask(now, METADATA)
        return self._next_at(now)

    def _ask(self, now: int, what: str) -> bool:
        """Metadata, or a producer id: any broker can answer."""
        known = tuple(self.metadata.nodes) or self.bootstrap
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
        if not self.asking_id and now >= self.ask_id_at:
            self.asking_id = self._ask(now, PRODUCER_ID)

    def _send_one_each(self, now: int) -> bool:
        """One request to every broker that can take one; False if none was sent."""
        requests: dict[int, list[ProducerBatch]] = {}
        sizes: dict[int, int] = {}
        for place in self.accumulator.waiting():
            leader, epoch = self.metadata.leader(place), self.metadata.epoch(place)
            if leader < 0:
                self.metadata.want()
                continue
            batch = self.accumulator.first(place)
            if batch is None or self.accumulator.ready_at(place, epoch) > now:
                continue
            if self._is_muted(place) or not self.connections.is_ready(now, leader):
                continue
            if self.identity is not None and not self.identity.may_leave(batch):
                continue
            sizes[leader] = sizes.get(leader, 0) + batch.size
            if leader not in requests or sizes[leader] <= self.settings.max_request_size:
                requests.setdefault(leader, []).append(self._drain(now, place, epoch))
        for leader, batches in requests.items():
            self._send(now, leader, batches)
        return bool(requests)

    def _is_muted(self, place: Place) -> bool:
        """With one request in flight a partition has one batch under way, for order's sake."""
        single = self.settings.max_in_flight_requests_per_connection == 1
        return single and bool(self.in_flight.get(place))

    def _drain(self, now: int, place: Place, epoch: int) -> ProducerBatch:
        batch = self.accumulator.take(place)
        if self.identity is not None:
            self.identity.number(batch)
        batch.sent_us = now
        batch.sent_in_epoch = epoch
        self.in_flight.setdefault(place, []).append(batch)
        return batch

    def _send(self, now: int, leader: int, batches: list[ProducerBatch]) -> None:
        request = m.ProduceRequest
        topics: dict[str, Any] = {}
        for batch in batches:
            topic, index = batch.place
            part = request.PartitionProduceData(index=index, records=batch.encode())
            if topic not in topics:
                topics[topic] = request.TopicProduceData(
                    name=topic, topic_id=self.metadata.topic_ids[topic]
                )
            topics[topic].partition_data.append(part)
            self.outbox.trace(
                f"{_HERE}._send", "sent", _name(batch.place), batch=batch.number,
                attempt=batch.retries + 1, broker=leader, records=len(batch.records),
                producer_id=batch.producer_id, epoch=batch.producer_epoch,
                sequence=batch.base_sequence,
            )  # fmt: skip
        acks = self.settings.acks_code
        body = request(acks=acks, timeout_ms=self.settings.request_timeout_ms,
                       topic_data=list(topics.values()))  # fmt: skip
        self.connections.send(now, leader, (PRODUCE, tuple(batches)), body, answered=acks != 0)
        if acks == 0:
            for batch in batches:
                self._succeeded(now, batch, -1)

    # -- answers

    def heard(self, now: int, answer: Answer) -> None:
        if answer.error:
            self.metadata.want()  # whoever was lost there may lead no more
        match answer.purpose:
            case ("metadata",):
                if answer.error:
                    self.metadata.failed(now)
                    return
                for change in self.metadata.learn(now, answer.body):
                    self.outbox.trace(f"{_HERE}.heard", "learned", why=change)
            case ("producer-id",):
                self._heard_id(now, answer)
            case ("produce", batches):
                parts = {} if answer.error else _answers(answer.body, self.metadata.topic_ids)
                for batch in batches:
                    self._answered(now, batch, answer, parts.get(batch.place))

    def _heard_id(self, now: int, answer: Answer) -> None:
        self.asking_id = False
        error = answer.error or Errors(answer.body.error_code)
        if self.identity is None:
            return
        if not error:
            self.identity.became(answer.body.producer_id, answer.body.producer_epoch)
        elif error.retriable:
            self.ask_id_at = now + self.backoff.wait_us(0)
        else:
            self.identity.fatal = error.name

    def _answered(self, now: int, batch: ProducerBatch, answer: Answer, told: Any) -> None:
        """Settles one batch: done, split, another try, or given up."""
        self._landed(batch)
        error = answer.error
        if told is not None:
            error = Errors(told.error_code)
        self.outbox.trace(
            f"{_HERE}._answered", "answered", _name(batch.place), batch=batch.number,
            attempt=batch.retries + 1, broker=answer.node, error=error.name,
            after_us=now - answer.sent_us,
        )  # fmt: skip
        if error in STALE_METADATA:
            self._believe(batch.place, told)
            self.metadata.want()
        if error in AFTER_APPEND:
            batch.maybe_stored = True
        if batch.is_done:
            if not error and self.identity is not None:
                self.identity.acknowledged(batch, told.base_offset)
        elif not error:
            self._succeeded(now, batch, told.base_offset)
        elif error == Errors.MESSAGE_TOO_LARGE and len(batch.records) > 1:
            self._split(batch)
        elif self._may_retry(now, batch, error, told):
            self._put_back(now, batch, error)
        elif error == Errors.DUPLICATE_SEQUENCE_NUMBER:
            self._succeeded(now, batch, -1)  # stored so long ago that the offset is forgotten
        else:
            self._fail(now, batch, error.name, error, batch.retries < self.settings.retries)

    def _believe(self, place: Place, told: Any) -> None:
        """A refusal may name the new leader (KIP-951)."""
        leader = getattr(told, "current_leader", None)
        if leader is not None and leader.leader_id >= 0:
            self.metadata.name_leader(place, leader.leader_id, leader.leader_epoch)

    def _landed(self, batch: ProducerBatch) -> None:
        self.in_flight[batch.place] = [b for b in self.in_flight[batch.place] if b is not batch]

    def _may_retry(self, now: int, batch: ProducerBatch, error: Errors, told: Any) -> bool:
        age_us = now - batch.created_us
        if age_us >= self.settings.delivery_timeout_ms * 1000:
            return False
        if batch.retries >= self.settings.retries:
            return False
        if self.identity is None:
            return error.retriable
        log_start = getattr(told, "log_start_offset", -1)
        return self.identity.may_retry(batch, error, log_start)

    # -- what becomes of a batch

    def _put_back(self, now: int, batch: ProducerBatch, error: Errors) -> None:
        batch.backoff_us = self.backoff.wait_us(batch.retries)
        batch.retries += 1
        batch.last_attempt_us = now
        self.accumulator.put_back(batch)
        self.outbox.trace(
            f"{_HERE}._put_back", "retry", _name(batch.place), why=error.name, batch=batch.number,
            attempt=batch.retries + 1, backoff_us=batch.backoff_us,
            left=self.settings.retries - batch.retries,
        )  # fmt: skip

    def _split(self, batch: ProducerBatch) -> None:
        parts = self.accumulator.split(batch)
        if self.identity is not None:
            self.identity.was_split(batch, parts)
        batch.is_done = True
        self.accumulator.release(batch)
        self.outbox.trace(f"{_HERE}._split", "split", _name(batch.place), batch=batch.number,
                          into=tuple(part.number for part in parts))  # fmt: skip

    def _succeeded(self, now: int, batch: ProducerBatch, offset: int) -> None:
        if self.settings.acks_code == 0:
            self._landed(batch)
        if self.identity is not None:
            self.identity.acknowledged(batch, offset)
        self._done(batch)
        self.verdicts.acknowledged(now, batch, offset)

    def _fail(
        self, now: int, batch: ProducerBatch, what: str, error: Errors, certain: bool
    ) -> None:
        self._done(batch)
        if self.identity is not None:
            self.identity.failed(batch, error, certain)
        self.verdicts.failed(now, batch, what)

    def _done(self, batch: ProducerBatch) -> None:
        batch.is_done = True
        self.accumulator.release(batch)
        self.accumulator.exhausted = False

    def _expire(self, now: int) -> None:
        """Gives up what is older than delivery.timeout.ms, under way or not."""
        limit = self.settings.delivery_timeout_ms * 1000
        late = self.accumulator.expired(now)
        for batches in self.in_flight.values():
            for batch in batches:
                if not batch.is_done and now - batch.created_us >= limit:
                    batch.maybe_stored = True
                    late.append(batch)
        for batch in late:
            self.outbox.trace(f"{_HERE}._expire", "expired", _name(batch.place),
                              batch=batch.number, age_us=now - batch.created_us)  # fmt: skip
            self._fail(now, batch, DELIVERY_TIMEOUT, Errors.REQUEST_TIMED_OUT, False)
            if self.identity is not None and batch.retries:
                self.identity.gave_up_after_sending(batch)

    def _give_up_all(self, now: int, what: str) -> None:
        for queue in self.accumulator.queues.values():
            while queue:
                self._fail(now, queue.popleft(), what, Errors.UNKNOWN_SERVER_ERROR, False)

    # -- time

    def _next_at(self, now: int) -> int:
        """The soonest of all that waits for a moment to come."""
        moments = [self.metadata.due_at()] if not self.metadata.asking else []
        limit = self.settings.delivery_timeout_ms * 1000
        for place in self.accumulator.waiting():
            moments.append(self.accumulator.ready_at(place, self.metadata.epoch(place)))
            moments.append(self.accumulator.queues[place][0].created_us + limit)
        for batches in self.in_flight.values():
            moments += [b.created_us + limit for b in batches if not b.is_done]
        moments += self.connections.retry_at()
        if self.identity is not None and not self.asking_id:
            moments.append(self.ask_id_at)
        return min((at for at in moments if at > now), default=now + 1_000_000)


def _name(place: Place) -> str:
    return f"{place[0]}-{place[1]}"


def _answers(body: Any, topic_ids: dict[str, bytes]) -> dict[Place, Any]:
    """A Produce answer by partition; from version 13 on topics have ids, not names."""
    names = {topic_id: name for name, topic_id in topic_ids.items()}
    return {
        (topic.name or names[topic.topic_id], part.index): part
        for topic in body.responses
        for part in topic.partition_responses
    }
