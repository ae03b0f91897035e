"""What is known of one transactional id, and how each event changes it.

A value never changes.  Each function gives the next value, which the shard writes to the log and
takes over once it is replicated.

The producer epoch fences.  A second producer with the same transactional id gets a higher one, and
the coordinator and every partition refuse what the first still sends:

    InitProducerId       epoch + 1
    time-out, takeover   epoch + 1, then abort: the markers carry the new epoch
    commit, abort        epoch + 1 with transaction.version 2 (KIP-890), else the same

Epochs are 16 bits.  At 32766 an epoch is *exhausted*: 32767 is kept for fencing, and the next
bump gives a new producer id with epoch 0.  In transaction.version 2 that id is chosen when
the transaction is prepared, but the markers still go out under the old id.  So a prepared
transaction names three ids: the previous, the current and the next.

`last_producer_epoch` makes InitProducerId repeatable (KIP-360): a producer that recovers from an
error names its epoch, and if the coordinator bumped it already, the answer is given again.  It is
not in the log, so a repetition that meets a new coordinator is fenced, as in Kafka.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from engine.coordinators.transactions.states import (
    TRANSITIONS,
    EndProtocol,
    EndRequest,
    TransactionEvent,
    TransactionState,
)
from engine.wire.errors import Errors

TopicPartition = tuple[str, int]
NO_ID, NO_EPOCH, NO_TIME = -1, -1, -1
LAST_EPOCH = 32767
EXHAUSTED_EPOCH = LAST_EPOCH - 1
EPOCH_BUMP_VERSION = 2
"""The transaction.version from which on every end bumps the epoch."""


@dataclass(frozen=True, slots=True)
class TransactionMetadata:
    """A transactional id at one moment; partitions in order, times in milliseconds.

    `client_version` is the transaction.version that the client acts by.
    """

    producer_id: int
    producer_epoch: int
    timeout_ms: int
    last_update_ms: int
    state: TransactionState = TransactionState.EMPTY
    partitions: tuple[TopicPartition, ...] = ()
    start_ms: int = NO_TIME
    previous_producer_id: int = NO_ID
    next_producer_id: int = NO_ID
    last_producer_epoch: int = NO_EPOCH
    client_version: int = 0

    def after(self, event: TransactionEvent, **changes: Any) -> TransactionMetadata:
        """The value after `event`; KeyError if the state does not allow it."""
        state = TRANSITIONS[self.state, event]
        return replace(self, previous_producer_id=self.producer_id, state=state, **changes)

    @property
    def is_exhausted(self) -> bool:
        return self.producer_epoch >= EXHAUSTED_EPOCH

    @property
    def bumps_epochs(self) -> bool:
        return self.client_version >= EPOCH_BUMP_VERSION

    @property
    def next_identity(self) -> tuple[int, int]:
        """Producer id and epoch that the client uses after this transaction."""
        if self.next_producer_id != NO_ID:
            return self.next_producer_id, 0
        return self.producer_id, self.producer_epoch


# -- a producer starts


def created(producer_id: int, timeout_ms: int, now_ms: int) -> TransactionMetadata:
    """An id seen for the first time; its first epoch comes with `started`."""
    return TransactionMetadata(producer_id, NO_EPOCH, timeout_ms, now_ms)


def knows(current: TransactionMetadata, expected: tuple[int, int] | None) -> bool:
    """Whether a producer that names its id and epoch may start over from them (KIP-360)."""
    if expected is None or current.producer_epoch == NO_EPOCH:
        return True
    producer_id, epoch = expected
    was_before = producer_id == current.previous_producer_id and epoch >= EXHAUSTED_EPOCH
    return producer_id == current.producer_id or was_before


def needs_new_id(current: TransactionMetadata, expected: tuple[int, int] | None) -> bool:
    """Whether the next start takes a new producer id, because the epochs are used up."""
    return current.is_exhausted and (expected is None or expected[1] == current.producer_epoch)


def started(
    current: TransactionMetadata,
    expected: tuple[int, int] | None,
    new_id: int,
    timeout_ms: int,
    now_ms: int,
) -> TransactionMetadata | Errors:
    """InitProducerId: the epoch is bumped, or the producer is fenced.

    `new_id` is used if `needs_new_id`.
    """
    producer_id, epoch, last = current.producer_id, current.producer_epoch, NO_EPOCH
    if needs_new_id(current, expected):
        last = NO_EPOCH if expected is None else epoch
        producer_id, epoch = new_id, 0
    elif expected is None:
        epoch += 1
    elif epoch == NO_EPOCH or expected[1] == epoch:
        last, epoch = epoch, epoch + 1
    elif expected[1] == current.last_producer_epoch:
        last = current.last_producer_epoch  # repeated: the bump has happened
    else:
        return Errors.PRODUCER_FENCED
    return current.after(
        TransactionEvent.PRODUCER_STARTED,
        producer_id=producer_id,
        producer_epoch=epoch,
        last_producer_epoch=last,
        timeout_ms=timeout_ms,
        partitions=(),
        start_ms=NO_TIME,
        last_update_ms=now_ms,
    )


# -- a transaction goes on, and ends


def with_partitions(
    current: TransactionMetadata,
    added: Iterable[TopicPartition],
    client_version: int,
    now_ms: int,
) -> TransactionMetadata:
    """The transaction with `added`; the first partition starts it."""
    is_open = current.state is TransactionState.ONGOING
    return current.after(
        TransactionEvent.PARTITIONS_ADDED,
        partitions=tuple(sorted({*current.partitions, *added})),
        start_ms=current.start_ms if is_open else now_ms,
        last_update_ms=now_ms,
        client_version=client_version,
    )


def end_request(
    current: TransactionMetadata,
    protocol: EndProtocol,
    producer_id: int,
    epoch: int,
    committed: bool,
) -> EndRequest | Errors:
    """What an EndTxn of this id and epoch means here."""
    plain = EndRequest.COMMIT if committed else EndRequest.ABORT
    again = EndRequest.COMMIT_AGAIN if committed else EndRequest.ABORT_AGAIN
    if protocol is EndProtocol.EPOCH_BUMPED and _is_repeated(current, producer_id, epoch):
        return again
    if producer_id != current.producer_id:
        return Errors.INVALID_PRODUCER_ID_MAPPING
    return plain if epoch == current.producer_epoch else Errors.PRODUCER_FENCED


def _is_repeated(current: TransactionMetadata, producer_id: int, epoch: int) -> bool:
    if producer_id == current.producer_id and epoch + 1 == current.producer_epoch:
        return True
    overflowed = epoch == EXHAUSTED_EPOCH and current.producer_epoch == 0
    return overflowed and producer_id == current.previous_producer_id


def prepared(
    current: TransactionMetadata,
    event: TransactionEvent,
    version: int,
    new_id: int,
    now_ms: int,
) -> TransactionMetadata:
    """Commit or abort is decided.

    `version` is the transaction.version of the one that ends it; with epoch bumps `new_id` is
    used if the epoch is exhausted.
    """
    epoch, last, next_id = current.producer_epoch, current.last_producer_epoch, NO_ID
    if version >= EPOCH_BUMP_VERSION:
        epoch, last = min(epoch + 1, LAST_EPOCH), epoch
        next_id = new_id if current.is_exhausted else NO_ID
    nothing_open = current.state in (
        TransactionState.EMPTY,
        TransactionState.COMPLETE_COMMIT,
        TransactionState.COMPLETE_ABORT,
    )
    return current.after(
        event,
        producer_epoch=epoch,
        last_producer_epoch=last,
        next_producer_id=next_id,
        start_ms=now_ms if nothing_open else current.start_ms,
        last_update_ms=now_ms,
        client_version=version,
    )


def fenced(
    current: TransactionMetadata, version: int, new_id: int, now_ms: int
) -> TransactionMetadata:
    """The producer's epoch is passed by, and its transaction aborts.

    With transaction.version 2 the bump of the abort is the one that fences.
    """
    fence = current.after(TransactionEvent.FENCE)
    if version < EPOCH_BUMP_VERSION:
        epoch = min(current.producer_epoch + 1, LAST_EPOCH)
        fence = replace(fence, producer_epoch=epoch, last_producer_epoch=NO_EPOCH)
    return prepared(fence, TransactionEvent.ABORT, version, new_id, now_ms)


def completed(current: TransactionMetadata, now_ms: int) -> TransactionMetadata:
    """All markers are written; a next producer id takes over."""
    producer_id, epoch = current.next_identity
    return current.after(
        TransactionEvent.MARKERS_WRITTEN,
        producer_id=producer_id,
        producer_epoch=epoch,
        next_producer_id=NO_ID,
        partitions=(),
        last_update_ms=now_ms,
    )
