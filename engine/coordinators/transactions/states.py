"""The life of a transactional id, as tables.

A transaction spans partitions of many leaders.  One broker, the coordinator, decides whether it
commits, writes the decision down, and only then tells the leaders.  That is a two-phase
commit whose first phase is a record in a log:

    Empty --first partition--> Ongoing --commit--> PrepareCommit --markers--> CompleteCommit
                                  |                                                |
                                  +-----abort----> PrepareAbort ---markers--> CompleteAbort
                                  |                     ^                          |
                                  +-> PrepareEpochFence +      next transaction: Ongoing

`PrepareCommit` is the point of no return.  Once its record is replicated, every later coordinator
finishes the commit, even if the producer is gone.  `PrepareEpochFence` lasts for one step: a
producer that took too long, or that was replaced, is fenced by a higher epoch before its
transaction is aborted.  `Dead` is an id that no producer used for a week.

`TRANSITIONS` is the only place where a state changes.  `END_ANSWERS` says what EndTxn gets.  There
are two protocols, and the finalised transaction.version decides which one a client speaks:

    0, 1    the epoch changes with the producer's life.  A repeated EndTxn looks like the first
            one, and a late one may hit the next transaction (KAFKA-17754)
    2       every end bumps the epoch (KIP-890).  So the epoch tells a repeated request from a
            new one, and a late one is fenced

Source: KIP-98, KIP-360, KIP-890; Kafka's TransactionState and TransactionCoordinator.
"""

from __future__ import annotations

from enum import IntEnum, StrEnum

from engine.wire.errors import Errors


class TransactionState(StrEnum):
    """As ListTransactions and DescribeTransactions spell them."""

    EMPTY = "Empty"
    ONGOING = "Ongoing"
    PREPARE_COMMIT = "PrepareCommit"
    PREPARE_ABORT = "PrepareAbort"
    COMPLETE_COMMIT = "CompleteCommit"
    COMPLETE_ABORT = "CompleteAbort"
    DEAD = "Dead"
    PREPARE_EPOCH_FENCE = "PrepareEpochFence"

    @property
    def number(self) -> int:
        """As the log stores it: the place in the list above."""
        return list(TransactionState).index(self)

    @classmethod
    def of(cls, number: int) -> TransactionState:
        return list(cls)[number]


class TransactionEvent(StrEnum):
    """What moves a transactional id from one state to another."""

    PRODUCER_STARTED = "a producer starts, or starts over, with this id"
    PARTITIONS_ADDED = "the producer writes to more partitions"
    COMMIT = "the producer commits"
    ABORT = "the producer or the coordinator aborts"
    FENCE = "the producer took too long, or another one has its id"
    MARKERS_WRITTEN = "every partition has its marker"
    EXPIRED = "no producer used the id for transactional.id.expiration.ms"


_S, _E = TransactionState, TransactionEvent

TRANSITIONS: dict[tuple[TransactionState, TransactionEvent], TransactionState] = {
    (_S.EMPTY, _E.PRODUCER_STARTED): _S.EMPTY,
    (_S.COMPLETE_COMMIT, _E.PRODUCER_STARTED): _S.EMPTY,
    (_S.COMPLETE_ABORT, _E.PRODUCER_STARTED): _S.EMPTY,
    (_S.EMPTY, _E.PARTITIONS_ADDED): _S.ONGOING,
    (_S.ONGOING, _E.PARTITIONS_ADDED): _S.ONGOING,
    (_S.COMPLETE_COMMIT, _E.PARTITIONS_ADDED): _S.ONGOING,
    (_S.COMPLETE_ABORT, _E.PARTITIONS_ADDED): _S.ONGOING,
    (_S.ONGOING, _E.COMMIT): _S.PREPARE_COMMIT,
    (_S.ONGOING, _E.ABORT): _S.PREPARE_ABORT,
    # transaction.version 2: an abort of nothing is wanted for its epoch bump.
    (_S.EMPTY, _E.ABORT): _S.PREPARE_ABORT,
    (_S.COMPLETE_COMMIT, _E.ABORT): _S.PREPARE_ABORT,
    (_S.COMPLETE_ABORT, _E.ABORT): _S.PREPARE_ABORT,
    (_S.ONGOING, _E.FENCE): _S.PREPARE_EPOCH_FENCE,
    (_S.PREPARE_EPOCH_FENCE, _E.ABORT): _S.PREPARE_ABORT,
    (_S.PREPARE_COMMIT, _E.MARKERS_WRITTEN): _S.COMPLETE_COMMIT,
    (_S.PREPARE_ABORT, _E.MARKERS_WRITTEN): _S.COMPLETE_ABORT,
    (_S.EMPTY, _E.EXPIRED): _S.DEAD,
    (_S.COMPLETE_COMMIT, _E.EXPIRED): _S.DEAD,
    (_S.COMPLETE_ABORT, _E.EXPIRED): _S.DEAD,
}

PREPARED = (_S.PREPARE_COMMIT, _S.PREPARE_ABORT)
"""Decided, and the markers are under way: nothing else may happen until they are written."""

IDLE = (_S.EMPTY, _S.COMPLETE_COMMIT, _S.COMPLETE_ABORT)
"""No transaction is open: the id may expire."""


class EndProtocol(IntEnum):
    """How a client ends its transactions: EndTxn before version 5, or from there on."""

    EPOCH_STAYS = 0
    EPOCH_BUMPED = 2


class EndRequest(StrEnum):
    """What EndTxn asks for, and what its epoch says."""

    COMMIT = "commit"
    ABORT = "abort"
    COMMIT_AGAIN = "commit, with the epoch before the last bump"
    ABORT_AGAIN = "abort, with the epoch before the last bump"


_1, _2, _R = EndProtocol.EPOCH_STAYS, EndProtocol.EPOCH_BUMPED, EndRequest

END_ANSWERS: dict[tuple[EndProtocol, TransactionState, EndRequest], TransactionEvent | Errors] = {
    (_1, _S.ONGOING, _R.COMMIT): _E.COMMIT,
    (_1, _S.ONGOING, _R.ABORT): _E.ABORT,
    (_1, _S.EMPTY, _R.COMMIT): Errors.INVALID_TXN_STATE,
    (_1, _S.EMPTY, _R.ABORT): Errors.INVALID_TXN_STATE,
    # It may be a repeated request whose answer was lost: the client has what it wanted.
    (_1, _S.COMPLETE_COMMIT, _R.COMMIT): Errors.NONE,
    (_1, _S.COMPLETE_COMMIT, _R.ABORT): Errors.INVALID_TXN_STATE,
    (_1, _S.COMPLETE_ABORT, _R.COMMIT): Errors.INVALID_TXN_STATE,
    (_1, _S.COMPLETE_ABORT, _R.ABORT): Errors.NONE,
    (_2, _S.ONGOING, _R.COMMIT): _E.COMMIT,
    (_2, _S.ONGOING, _R.ABORT): _E.ABORT,
    (_2, _S.EMPTY, _R.COMMIT): Errors.INVALID_TXN_STATE,
    # The client does not know whether a partition joined before its request was lost.
    (_2, _S.EMPTY, _R.ABORT): _E.ABORT,
    (_2, _S.COMPLETE_COMMIT, _R.COMMIT): Errors.INVALID_TXN_STATE,
    (_2, _S.COMPLETE_COMMIT, _R.ABORT): _E.ABORT,
    (_2, _S.COMPLETE_COMMIT, _R.COMMIT_AGAIN): Errors.NONE,
    (_2, _S.COMPLETE_COMMIT, _R.ABORT_AGAIN): Errors.INVALID_TXN_STATE,
    (_2, _S.COMPLETE_ABORT, _R.COMMIT): Errors.INVALID_TXN_STATE,
    (_2, _S.COMPLETE_ABORT, _R.ABORT): _E.ABORT,
    (_2, _S.COMPLETE_ABORT, _R.COMMIT_AGAIN): Errors.INVALID_TXN_STATE,
    (_2, _S.COMPLETE_ABORT, _R.ABORT_AGAIN): Errors.NONE,
}
"""A move, or the answer.  Prepared states are CONCURRENT_TRANSACTIONS for each request with the
right epoch; what has no row is PRODUCER_FENCED."""


def answer_to_end(
    protocol: EndProtocol, state: TransactionState, request: EndRequest
) -> TransactionEvent | Errors:
    """What EndTxn leads to, when the producer id is the right one."""
    if state in PREPARED:
        return Errors.CONCURRENT_TRANSACTIONS
    return END_ANSWERS.get((protocol, state, request), Errors.PRODUCER_FENCED)
