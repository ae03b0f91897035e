"""A transaction's first batch in a partition is verified with its coordinator (KIP-890).

    up to v10   verified; a refusal is INVALID_TXN_STATE
    v11         verified; the client knows TRANSACTION_ABORTABLE
    v12 on      the partition is added to the transaction, without an AddPartitionsToTxn before it

While the coordinator is asked, the request waits, and with it what the client sends behind it on
this connection.  A coordinator that cannot be asked is NOT_ENOUGH_REPLICAS to the client, which
tries again without asking for metadata first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from engine.api.produce.answers import Unverified
from engine.broker.broker import Broker
from engine.broker.transaction_verification import ADDS, REPORTS_ABORTABLE, VERIFIES
from engine.events import Request
from engine.records.batch import BatchHeader, CorruptBatch, read_header
from engine.replication.hosted import Key
from engine.wire import messages as m
from engine.wire.errors import Errors, KafkaError

Batches = dict[tuple[str, bytes], dict[int, bytes]]
"""The records of a request, by topic and partition."""

FIRST_VERSION_THAT_KNOWS_ABORTABLE, FIRST_VERSION_THAT_ADDS = 11, 12
_RETRIED = (
    Errors.NETWORK_EXCEPTION,
    Errors.COORDINATOR_LOAD_IN_PROGRESS,
    Errors.COORDINATOR_NOT_AVAILABLE,
    Errors.NOT_COORDINATOR,
)


class Waiting(Protocol):
    """Goes on once the coordinator has answered."""

    def go_on(
        self, now: int, refused: Mapping[Key, KafkaError], guards: Mapping[Key, int]
    ) -> None: ...


def batches(asked: Batches) -> dict[Key, BatchHeader]:
    """The transactional batches among a request's."""
    found = {}
    for (topic, _), by_index in asked.items():
        for index, records in by_index.items():
            try:
                header = read_header(records)
            except CorruptBatch:
                continue  # it is refused by its partition
            if header.is_transactional and header.producer_id >= 0:
                found[topic, index] = header
    return found


def are_verified(broker: Broker, body: m.ProduceRequest) -> bool:
    setting: bool = broker.settings["transaction.partition.verification.enable"]
    return setting and body.transactional_id is not None


def verify(
    broker: Broker,
    now: int,
    request: Request[m.ProduceRequest],
    transactional: Mapping[Key, BatchHeader],
    then: Waiting,
) -> bool:
    """Asks the coordinator if a batch opens a transaction here; False if nothing is verified.

    A zombie's batch is refused without a question.
    """
    body = request.body
    if len({(each.producer_id, each.producer_epoch) for each in transactional.values()}) > 1:
        raise KafkaError(
            Errors.INVALID_PRODUCER_ID_MAPPING,
            "Transactional records contained more than one producer ID",
        )
    if not transactional or not are_verified(broker, body):
        return False
    kind = VERIFIES
    if request.version >= FIRST_VERSION_THAT_ADDS:
        kind = ADDS
    elif request.version >= FIRST_VERSION_THAT_KNOWS_ABORTABLE:
        kind = REPORTS_ABORTABLE
    guards: dict[Key, int] = {}
    refused: dict[Key, KafkaError] = {}
    producer = (-1, -1)
    for key, header in transactional.items():
        partition = broker.replicas.hosted.partitions.get(key)
        if partition is None or not partition.is_leader:
            continue
        producer = (header.producer_id, header.producer_epoch)
        producers = partition.log.producers
        if producers.is_open(*producer):
            continue
        try:
            guards[key] = producers.guard(
                now // 1000, *producer, header.base_sequence, kind == ADDS
            )
        except KafkaError as error:
            refused[key] = KafkaError(error.code)
    if not guards:
        then.go_on(now, refused, {})
        return True
    assert body.transactional_id is not None, "only then batches are verified"
    asking = Asking(then, kind, guards, refused)
    broker.verification.ask(now, body.transactional_id, producer, list(guards), kind, asking)
    return True


@dataclass(slots=True, eq=False)
class Asking:
    """Turns the coordinator's errors into a producer's, and goes on."""

    then: Waiting
    kind: int
    guards: dict[Key, int]
    refused: dict[Key, KafkaError]

    def verified(self, now: int, errors: dict[Key, Errors]) -> None:
        refused = {key: self._refusal(error) for key, error in errors.items() if error}
        self.then.go_on(now, {**self.refused, **refused}, self.guards)

    def _refusal(self, error: Errors) -> KafkaError:
        if error is Errors.INVALID_TXN_STATE:
            return Unverified(error, "Partition was not added to the transaction")
        waits = error is Errors.CONCURRENT_TRANSACTIONS and self.kind != ADDS
        if error in _RETRIED or waits:
            return Unverified(
                Errors.NOT_ENOUGH_REPLICAS,
                "Unable to verify the partition has been added to the transaction. "
                f"Underlying error: {error.name}",
            )
        return KafkaError(error)
