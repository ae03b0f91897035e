"""The states of a transactional producer, and which may follow which (KIP-98).

    Uninitialized ──> Initializing ──> Ready ──> InTransaction ──> CommittingTransaction ──> Ready
                                                      │
                                                      └──────────> AbortingTransaction ────> Ready

AbortableError: this transaction is lost, and the application must abort it.  The producer itself is
well: after the abort it begins the next transaction.  FatalError: the producer is of no use any
more, because another one has taken its transactional.id or it may not write; the application must
close it.  Any state can become FatalError, and nothing follows it.

Initializing may come again after an abort: the producer then asks for a new epoch (KIP-360).

Left out: PreparedTransaction.  The Java client 4.3 has it for two-phase commits (KIP-939), but no
broker of 4.3 offers those.
"""

from __future__ import annotations

from enum import Enum


class State(Enum):
    """Kafka's states; the values are what a trace line shows."""

    UNINITIALIZED = "Uninitialized"
    INITIALIZING = "Initializing"
    READY = "Ready"
    IN_TRANSACTION = "InTransaction"
    COMMITTING_TRANSACTION = "CommittingTransaction"
    ABORTING_TRANSACTION = "AbortingTransaction"
    ABORTABLE_ERROR = "AbortableError"
    FATAL_ERROR = "FatalError"


S = State
TRANSITIONS: dict[State, tuple[State, ...]] = {
    S.UNINITIALIZED: (S.INITIALIZING, S.FATAL_ERROR),
    S.INITIALIZING: (S.READY, S.ABORTABLE_ERROR, S.FATAL_ERROR),
    S.READY: (S.IN_TRANSACTION, S.UNINITIALIZED, S.FATAL_ERROR),
    S.IN_TRANSACTION: (
        S.COMMITTING_TRANSACTION, S.ABORTING_TRANSACTION, S.ABORTABLE_ERROR, S.FATAL_ERROR,
    ),
    S.COMMITTING_TRANSACTION: (S.READY, S.INITIALIZING, S.ABORTABLE_ERROR, S.FATAL_ERROR),
    S.ABORTING_TRANSACTION: (S.READY, S.INITIALIZING, S.FATAL_ERROR),
    S.ABORTABLE_ERROR: (
        S.ABORTING_TRANSACTION, S.ABORTABLE_ERROR, S.UNINITIALIZED, S.FATAL_ERROR,
    ),
    S.FATAL_ERROR: (S.FATAL_ERROR,),
}  # fmt: skip
"""By state, the states that may follow it."""
ERRORS = (S.ABORTABLE_ERROR, S.FATAL_ERROR)
COMPLETING = (S.COMMITTING_TRANSACTION, S.ABORTING_TRANSACTION)


def may_follow(state: State, following: State) -> bool:
    return following in TRANSITIONS[state]
