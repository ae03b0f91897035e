"""The state of one transactional producer, and how it changes.

The application and the coordinators both change it.  A call of the application that does not fit
the state raises an error and changes nothing.  A transition that an answer asks for and the table
forbids would be a bug of this client; like the Java client it then goes to FatalError, because
nothing that it knows can be trusted.

Every transition leaves a trace line `transition`, with the reason.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.client.idempotence import Idempotence
from engine.client.transaction_outcomes import UNAUTHORIZED
from engine.client.transaction_states import COMPLETING, ERRORS, State, may_follow
from engine.events import Outbox
from engine.wire.errors import Errors, KafkaError

_HERE = "client.transaction_lifecycle.Lifecycle"


@dataclass(frozen=True, slots=True)
class Failure:
    """Why the producer is in an error state; `text` is one sentence."""

    error: Errors
    text: str


class Lifecycle:
    """`failure` is None outside the error states."""

    def __init__(self, outbox: Outbox, name: str, identity: Idempotence) -> None:
        self.outbox = outbox
        self.name = name
        self.identity = identity
        self.state = State.UNINITIALIZED
        self.failure: Failure | None = None

    def enter(self, state: State, operation: str) -> None:
        """A transition that the application asks for."""
        if not may_follow(self.state, state):
            raise RuntimeError(
                f"{operation} is not possible in state {self.state.value}: {state.value} does not "
                f"follow it."
            )
        self.become(state, operation)

    def become(self, state: State, why: str, failure: Failure | None = None) -> None:
        """A transition that an answer brings."""
        if not may_follow(self.state, state):
            text = f"{state.value} does not follow {self.state.value}; this client has a bug."
            state, failure = State.FATAL_ERROR, Failure(Errors.INVALID_TXN_STATE, text)
        producer_id, epoch = self.identity.identity
        self.outbox.trace(
            f"{_HERE}.become", "transition", why=why, before=self.state.value, now=state.value,
            producer_id=producer_id, epoch=epoch,
        )  # fmt: skip
        self.state, self.failure = state, failure

    # -- what the state allows

    def check_healthy(self) -> None:
        if self.failure is None or self.state not in ERRORS:
            return
        abortable = self.state == State.ABORTABLE_ERROR
        remedy = "Call abort_transaction." if abortable else "Close this producer."
        raise KafkaError(self.failure.error, f"{self.failure.text} {remedy}")

    def check_open(self, what: str) -> None:
        """Only while a transaction is open."""
        if self.state != State.IN_TRANSACTION:
            uninitialized = self.state in (State.UNINITIALIZED, State.INITIALIZING)
            first = "init_transactions" if uninitialized else "begin_transaction"
            raise RuntimeError(
                f"{self.name} cannot {what} in state {self.state.value}: call {first} first."
            )

    @property
    def is_completing(self) -> bool:
        return self.state in COMPLETING

    @property
    def is_fatal(self) -> bool:
        return self.state == State.FATAL_ERROR

    @property
    def is_unauthorised(self) -> bool:
        failure = self.failure
        is_abortable = self.state == State.ABORTABLE_ERROR
        return is_abortable and failure is not None and failure.error in UNAUTHORIZED

    @property
    def drops_batches(self) -> bool:
        """What was never sent is given up: the transaction will not be committed."""
        return self.state in (State.ABORTABLE_ERROR, State.ABORTING_TRANSACTION)
