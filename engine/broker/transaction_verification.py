"""Verification: a leader asks the coordinator before a transaction's first record (KIP-890).

A record of a producer that has long been given up may arrive after its transaction was aborted.
Appended then, it would open a transaction that no client ends, and every reader with read_committed
would wait in front of it for good: a *hanging transaction*.  So a leader that knows of no open
transaction of this producer here asks first:

    older clients    is this partition in your transaction?       AddPartitionsToTxn, verify only
    newer clients    put this partition into your transaction     AddPartitionsToTxn

The second saves the client a request of its own.  A *guard* is taken before the question; a marker
that arrives meanwhile takes it away, and then the answer no longer counts
(engine/storage/producer_states.py).

Simplified: one question per request, each on a connection of its own; Kafka puts those to one
coordinator together.  A refusal with
CONCURRENT_TRANSACTIONS goes to the client at once; Kafka asks again for up to 100 ms
(add.partitions.to.txn.retry.backoff.max.ms).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from engine.coordinators.runtime.host import Host
from engine.coordinators.transactions.transaction_records import TRANSACTIONS_TOPIC
from engine.coordinators.transactions.transactions_topic import leader_of, partition_of
from engine.events import Answered
from engine.wire import messages as m
from engine.wire.errors import Errors

Key = tuple[str, int]
VERIFIES, REPORTS_ABORTABLE, ADDS = 0, 1, 2
"""What a client allows: verify; the same, and it knows TRANSACTION_ABORTABLE; add."""


@dataclass(frozen=True, slots=True)
class VerificationRound:
    """Token of AddPartitionsToTxn from a leader to the coordinator."""

    number: int


class Verified(Protocol):
    """Hears the coordinator's answer, once, by partition."""

    def verified(self, now: int, errors: dict[Key, Errors]) -> None: ...


@dataclass(slots=True)
class Question:
    """What was asked, for what kind of client, and who waits."""

    kind: int
    partitions: list[Key]
    then: Verified


class TransactionVerification:
    """The questions of one broker that are under way."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.asked: dict[int, Question] = {}
        self.last = 0

    def ask(
        self,
        now: int,
        transactional_id: str,
        producer: tuple[int, int],
        partitions: Sequence[Key],
        kind: int,
        then: Verified,
    ) -> None:
        """Asks for partitions of (producer id, epoch)'s transaction; `then` hears it."""
        question = Question(kind, list(partitions), then)
        metadata = self.host.metadata
        index = partition_of(transactional_id, metadata, self.host.settings)
        coordinator = leader_of(metadata, TRANSACTIONS_TOPIC, index)
        if coordinator is None:
            _answer(now, question, {}, Errors.COORDINATOR_NOT_AVAILABLE)
            return
        topics: dict[str, list[int]] = {}
        for topic, partition in partitions:
            topics.setdefault(topic, []).append(partition)
        request = m.AddPartitionsToTxnRequest
        transaction = request.AddPartitionsToTxnTransaction(
            transactional_id=transactional_id,
            producer_id=producer[0],
            producer_epoch=producer[1],
            verify_only=kind != ADDS,
            topics=[request.AddPartitionsToTxnTopic(*each) for each in topics.items()],
        )
        self.last += 1
        self.asked[self.last] = question
        timeout_us = self.host.settings["request.timeout.ms"] * 1000
        body = request(transactions=[transaction])
        self.host.outbox.send(
            coordinator, VerificationRound(self.last), body, timeout_us, connection=None
        )

    def answered(self, now: int, number: int, body: Answered) -> None:
        """The coordinator's answer, or none because it was lost."""
        question = self.asked.pop(number)
        if not isinstance(body, m.AddPartitionsToTxnResponse):
            _answer(now, question, {}, Errors.NETWORK_EXCEPTION)
            return
        errors = {
            (topic.name, row.partition_index): Errors(row.partition_error_code)
            for result in body.results_by_transaction
            for topic in result.topic_results
            for row in topic.results_by_partition
        }
        _answer(now, question, errors, Errors(body.error_code))


def _answer(now: int, question: Question, errors: dict[Key, Errors], otherwise: Errors) -> None:
    kind = question.kind
    found = {each: _for_client(errors.get(each, otherwise), kind) for each in question.partitions}
    question.then.verified(now, found)


def _for_client(error: Errors, kind: int) -> Errors:
    """In words that this client knows."""
    if error is Errors.PRODUCER_FENCED:
        return Errors.INVALID_PRODUCER_EPOCH
    if error is Errors.TRANSACTION_ABORTABLE and kind == VERIFIES:
        return Errors.INVALID_TXN_STATE
    return error
