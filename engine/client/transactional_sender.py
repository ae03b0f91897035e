"""Sends what the transactions want, one request at a time; meanwhile no batch leaves.

    taken      the most urgent request (transaction_requests.py)
    node       its coordinator; if that is not known, FindCoordinator goes first
    backoff    a request that is tried again waits retry.backoff.ms
    sent       over the connection that Produce requests take too

The Java client's I/O thread does this.  It sleeps through a backoff, and while a request is in
flight it only waits for the answer.  So a commit that is slow also holds up records: this is one
reason why transactions should not be tiny.
"""

from __future__ import annotations

from engine.client.connections import DOWN, Answer, Connections
from engine.client.metadata import Metadata
from engine.client.transaction_answers import Answers
from engine.client.transaction_requests import TRANSACTION, Wanted
from engine.client.transactions import Transactions
from engine.events import Outbox

_HERE = "client.transactional_sender.TransactionalSender"
TRANSACTIONAL = "transactional"


class TransactionalSender:
    """`current` is the request that was taken; it waits for its time, its broker or its answer."""

    def __init__(
        self, outbox: Outbox, transactions: Transactions, connections: Connections,
        metadata: Metadata, bootstrap: tuple[int, ...], backoff_ms: int,
    ) -> None:  # fmt: skip
        self.outbox = outbox
        self.transactions = transactions
        self.answers = Answers(outbox, transactions, metadata)
        self.connections = connections
        self.metadata = metadata
        self.bootstrap = bootstrap
        self.backoff_ms = backoff_ms
        self.current: Wanted | None = None
        self.node: int | None = None
        self.is_in_flight = False
        self.send_at = 0
        self.began_us = 0

    def work(self, now: int, has_batches: bool) -> bool:
        """Carries the requests on; True while one is under way, so that batches wait."""
        while not self.is_in_flight:
            if self.current is None and not self._take(now, has_batches):
                return False
            if not self._find_node(now):
                if self.current is None:
                    continue  # its coordinator is looked for first
                return True
            if now < self.send_at:
                return True
            self._send(now)
        return True

    def brokers(self) -> tuple[int, ...]:
        """Those that any request may go to.  FindCoordinator names a broker before Metadata names
        them all; if it is the only one known and dies, the bootstrap brokers are left."""
        return tuple(dict.fromkeys((*self.metadata.nodes, *self.bootstrap)))

    def _take(self, now: int, has_batches: bool) -> bool:
        self.current = self.transactions.next_request(has_batches)
        self.node, self.began_us, self.send_at = None, now, 0
        return self.current is not None

    def _find_node(self, now: int) -> bool:
        """Whether the broker for the request is known and takes it."""
        wanted = self.current
        assert wanted is not None
        if self.node is not None:
            pass
        elif wanted.coordinator is None:
            self.node = self.connections.any_ready(now, self.brokers())
            if self.node is None:
                return False
        else:
            self.node = self.transactions.coordinators.get(wanted.coordinator)
            if self.node is None:
                self._look_up(wanted, "it is not known")
                return False
        if not self.connections.is_ready(now, self.node):
            if self.connections.node(self.node).state == DOWN:
                self._cannot_reach(wanted)
            return False
        if wanted.coordinator == TRANSACTION:
            self.transactions.coordinator_ready(self.node)
        if wanted.is_retry and not self.send_at:
            waits_ms = self.backoff_ms if wanted.backoff_ms is None else wanted.backoff_ms
            self.send_at = now + min(waits_ms, self.backoff_ms) * 1000
        return True

    def _cannot_reach(self, wanted: Wanted) -> None:
        if wanted.coordinator is not None:
            self._look_up(wanted, "it cannot be reached")
        else:
            self.node = None

    def _look_up(self, wanted: Wanted, why: str) -> None:
        assert wanted.coordinator is not None
        self.current = None
        self.transactions.find(wanted.coordinator, self.transactions.key_of(wanted), why)
        self.transactions.again(wanted)

    def _send(self, now: int) -> None:
        wanted, node = self.current, self.node
        assert wanted is not None
        assert node is not None
        self.is_in_flight = True
        producer_id, epoch = self.transactions.identity.identity
        self.outbox.trace(
            f"{_HERE}._send", "request", api=wanted.api, about=wanted.about, broker=node,
            producer_id=producer_id, epoch=epoch, retry=wanted.is_retry,
        )  # fmt: skip
        self.connections.send(now, node, (TRANSACTIONAL,), wanted.body,
                              version_max=wanted.version_max)  # fmt: skip

    def heard(self, answer: Answer) -> None:
        wanted = self.current
        assert wanted is not None
        self.current, self.is_in_flight = None, False
        if answer.error:
            self.answers.lost(wanted)
        else:
            self.answers.heard(wanted, answer.body)

    def next_at(self) -> list[int]:
        return [self.send_at] if self.current is not None and not self.is_in_flight else []
