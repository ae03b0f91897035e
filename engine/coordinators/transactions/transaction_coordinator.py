"""The transaction coordinator of one broker: transactional ids in memory, their truth in a log.

A broker coordinates the ids whose partition of `__transaction_state` it leads.  One such
partition is a *shard*.

    on_leader    reads the partition from its start; markers that are owed are sent
    requests     are decided on, and answered when the decision's record is replicated
    markers      go to the leaders of the transaction's partitions, until all have them
    on_resign    another broker leads: forget everything

So a decision survives its coordinator.  The *coordinator epoch*, which is the leader epoch of the
shard's partition, is in every marker: a partition refuses the markers of a coordinator that was
replaced and does not know it.

Simplified: after loading, requests are answered COORDINATOR_LOAD_IN_PROGRESS, and markers wait,
until the high watermark has passed what was loaded; until then a decision may still be lost.
Kafka goes on from below the high watermark.

Left out: two-phase commit with an outside coordinator (KIP-939).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from engine.coordinators.runtime.host import Host
from engine.coordinators.runtime.runtime import Runtime
from engine.coordinators.transactions import markers
from engine.coordinators.transactions.markers import MarkerRound
from engine.coordinators.transactions.requests import ProducerIdSource
from engine.coordinators.transactions.timeouts import abort_timed_out, remove_expired
from engine.coordinators.transactions.transaction_records import (
    TRANSACTIONS_LOG,
    TRANSACTIONS_TOPIC,
    TransactionRecord,
)
from engine.coordinators.transactions.transaction_shard import MarkerTimer, TransactionShard
from engine.coordinators.transactions.transactions_topic import (
    creation_request,
    leader_of,
    partition_of,
)
from engine.events import Answered, ClientDeadline
from engine.wire import messages as m
from engine.wire.errors import Errors

_HERE = "coordinators.transactions.transaction_coordinator.TransactionCoordinator"
_CREATION_TIMEOUT_US = 30_000_000


@dataclass(frozen=True, slots=True)
class TransactionsTopicCreation:
    """The controller was asked to create `__transaction_state`."""


@dataclass(frozen=True, slots=True)
class TimeoutScan(ClientDeadline):
    """Open transactions are to be looked through for those whose time is over."""


@dataclass(frozen=True, slots=True)
class ExpiryScan:
    """Transactional ids are to be looked through for those that expired."""


class TransactionHost(Host, ProducerIdSource, Protocol):
    """The broker."""


class TransactionCoordinator:
    """The transactional ids that this broker coordinates now."""

    def __init__(self, host: TransactionHost) -> None:
        self.host = host
        self.outbox = host.outbox
        self.runtime: Runtime[TransactionRecord, TransactionShard] = Runtime(
            host, TRANSACTIONS_LOG, TransactionShard
        )
        self.creating_topic = False
        self.is_scanning = False

    # -- who coordinates what

    @property
    def shards(self) -> list[TransactionShard]:
        """What is coordinated here, in the order of the topic's partitions."""
        return self.runtime.states()

    def shard_of(self, now: int, transactional_id: str) -> tuple[TransactionShard | None, Errors]:
        """The id's shard, or None and why not."""
        if not transactional_id:
            return None, Errors.INVALID_REQUEST
        index = partition_of(transactional_id, self.host.metadata, self.host.settings)
        shard = self.runtime.shards.get(index)
        if shard is None:
            return None, Errors.NOT_COORDINATOR
        if not shard.settle(now):
            return None, Errors.COORDINATOR_LOAD_IN_PROGRESS
        return shard.state, Errors.NONE

    def find(self, transactional_id: str) -> int | None:
        """The coordinator's broker id; asks for the topic to be created if there is none."""
        if TRANSACTIONS_TOPIC not in self.host.metadata.topic_ids and not self.creating_topic:
            self.creating_topic = True
            self.outbox.send(
                self.host.controller.id,
                TransactionsTopicCreation(),
                creation_request(self.host.settings),
                _CREATION_TIMEOUT_US,
            )
        index = partition_of(transactional_id, self.host.metadata, self.host.settings)
        return leader_of(self.host.metadata, TRANSACTIONS_TOPIC, index)

    def topic_creation_answered(self, body: Answered) -> None:
        """The controller answered CreateTopics, or was lost; the next client asks again."""
        self.creating_topic = False
        for topic in body.topics if isinstance(body, m.CreateTopicsResponse) else ():
            if topic.error_code not in (Errors.NONE, Errors.TOPIC_ALREADY_EXISTS):
                why = topic.error_message or Errors(topic.error_code).name
                rule = f"{_HERE}.topic_creation_answered"
                self.outbox.trace(rule, "not-created", TRANSACTIONS_TOPIC, why)

    # -- what changes around it

    def on_leader(self, now: int, partition_index: int) -> None:
        """This broker leads the partition now."""
        self.runtime.on_leader(now, partition_index)
        if not self.is_scanning:
            self.is_scanning = True
            self._set(now, TimeoutScan())
            self._set(now, ExpiryScan())

    def on_resign(self, now: int, partition_index: int) -> None:
        """Another broker leads the partition, or it is gone."""
        self.runtime.on_resign(now, partition_index)

    def on_timer(self, now: int, timer: MarkerTimer | TimeoutScan | ExpiryScan) -> None:
        """A timer of this coordinator, or of one of its transactions, fired."""
        if isinstance(timer, MarkerTimer):
            shard = self.runtime.shards.get(timer.partition)
            transaction = None if shard is None else shard.state.by_id.get(timer.transactional_id)
            if shard is not None and transaction is not None:
                markers.send(shard.state, now, transaction)
            return
        for shard in list(self.runtime.shards.values()):
            if not shard.settle(now):
                continue
            if isinstance(timer, TimeoutScan):
                abort_timed_out(shard.state, self.host, now)
            else:
                expiration_ms = self.host.settings["transactional.id.expiration.ms"]
                remove_expired(shard.state, now, expiration_ms)
        self._set(now, timer)

    def markers_answered(self, now: int, token: MarkerRound, body: Answered) -> None:
        """A leader answered WriteTxnMarkers, or was lost."""
        shard = self.runtime.shards.get(token.partition)
        if shard is not None:
            markers.answered(shard.state, now, token, body)

    def _set(self, now: int, scan: TimeoutScan | ExpiryScan) -> None:
        settings = self.host.settings
        if isinstance(scan, TimeoutScan):
            every_ms = settings["transaction.abort.timed.out.transaction.cleanup.interval.ms"]
        else:
            every_ms = settings["transaction.remove.expired.transaction.cleanup.interval.ms"]
        self.outbox.set_timer(scan, now + every_ms * 1000)

    # -- showing

    def snapshot(self) -> dict[str, dict[str, object]]:
        """The transactional ids coordinated here, as plain data."""
        ids: dict[str, dict[str, object]] = {}
        for shard in self.shards:
            ids.update(shard.snapshot())
        return ids
