"""What an error of a coordinator does to a transaction: one table for each API.

    RETRY       the same request again, after retry.backoff.ms
    FIND        the coordinator has moved, or is not there yet: find it, then again
    ABORT       AbortableError: the application must abort
    NEW_EPOCH   AbortableError, and after the abort a new epoch (KIP-360); FatalError if the
                coordinator is too old for that
    FATAL       FatalError: the application must close the producer
    FENCED      FatalError with PRODUCER_FENCED: a newer producer has this transactional.id

An error in no row of an API's table is RETRY if the protocol calls it retriable, and otherwise what
the table's last entry says.  These are the rules of the Java client 4.3, where INVALID_TXN_STATE
and INVALID_PRODUCER_ID_MAPPING are fatal; TRANSACTION_ABORTABLE is a coordinator's own word for
"abort, and all is well" (KIP-890).

For records there are two lists.  A batch that fails ends its transaction, even with an error that
is retriable by itself, once no attempt is left.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from engine.wire.errors import Errors


class Outcome(Enum):
    RETRY = "retry"
    FIND = "find the coordinator"
    ABORT = "abort"
    NEW_EPOCH = "abort, then a new epoch"
    FATAL = "fatal"
    FENCED = "fenced"


E, Do = Errors, Outcome
MOVED = {E.COORDINATOR_NOT_AVAILABLE: Do.FIND, E.NOT_COORDINATOR: Do.FIND}
GENERAL = {
    E.INVALID_PRODUCER_EPOCH: Do.FENCED,
    E.PRODUCER_FENCED: Do.FENCED,
    E.TRANSACTION_ABORTABLE: Do.ABORT,
}
OF_AN_OPEN_TRANSACTION = {
    **MOVED, **GENERAL,
    E.UNKNOWN_PRODUCER_ID: Do.NEW_EPOCH,
    E.INVALID_PRODUCER_ID_MAPPING: Do.FATAL,
    E.INVALID_TXN_STATE: Do.FATAL,
    E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: Do.FATAL,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Table:
    """`other` is for an error that has no row and is not retriable."""

    rows: dict[Errors, Outcome]
    other: Outcome = Outcome.FATAL

    def of(self, error: Errors) -> Outcome:
        found = self.rows.get(error)
        return found or (Outcome.RETRY if error.retriable else self.other)


TABLES: dict[str, Table] = {
    "FindCoordinator": Table(
        {E.GROUP_AUTHORIZATION_FAILED: Do.ABORT, E.TRANSACTION_ABORTABLE: Do.ABORT}
    ),
    "InitProducerId": Table({
        **MOVED, **GENERAL,
        E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: Do.ABORT,
        E.CLUSTER_AUTHORIZATION_FAILED: Do.ABORT,
    }),
    "AddPartitionsToTxn": Table(
        {**OF_AN_OPEN_TRANSACTION, E.TOPIC_AUTHORIZATION_FAILED: Do.ABORT}, other=Do.ABORT
    ),
    "AddOffsetsToTxn": Table({**OF_AN_OPEN_TRANSACTION, E.GROUP_AUTHORIZATION_FAILED: Do.ABORT}),
    "TxnOffsetCommit": Table({
        **MOVED, **GENERAL,
        E.REQUEST_TIMED_OUT: Do.FIND,
        E.GROUP_AUTHORIZATION_FAILED: Do.ABORT,
        E.FENCED_INSTANCE_ID: Do.ABORT,
        E.UNKNOWN_MEMBER_ID: Do.ABORT,
        E.ILLEGAL_GENERATION: Do.ABORT,
    }),
    "EndTxn": Table(OF_AN_OPEN_TRANSACTION),
}  # fmt: skip
FATAL_FOR_RECORDS = (
    Errors.CLUSTER_AUTHORIZATION_FAILED,
    Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    Errors.PRODUCER_FENCED,
    Errors.UNSUPPORTED_VERSION,
    Errors.INVALID_PRODUCER_ID_MAPPING,
)
"""What a batch fails with, and no abort mends."""
UNAUTHORIZED = (
    Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, Errors.CLUSTER_AUTHORIZATION_FAILED,
)  # fmt: skip
"""AbortableErrors after which the producer is Uninitialized again: access may yet be granted."""
