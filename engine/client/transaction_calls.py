"""The calls of a transactional producer that take time: at most one is under way.

In the Java client such a call blocks its thread until the coordinators have answered, for up to
max.block.ms.  Here it begins in one step and returns in a later one.  After a timeout the work goes
on; the application has to make the same call again, and may make no other.

While `send` waits for metadata or memory the next call waits behind it, as it would in a thread.
"""

from __future__ import annotations

from typing import Any

from engine.client.transaction_requests import Result
from engine.client.transactions import Transactions
from engine.events import Outbox
from engine.wire.errors import KafkaError

_HERE = "client.transaction_calls.Calls"
INIT, COMMIT, ABORT = "init_transactions", "commit_transaction", "abort_transaction"
SEND_OFFSETS = "send_offsets_to_transaction"
TIMED_OUT = "max.block.ms"


class Calls:
    """`operation` is the call under way, `error` why the last one failed."""

    def __init__(
        self, outbox: Outbox, name: str, transactions: Transactions | None, max_block_us: int
    ) -> None:
        self.outbox = outbox
        self.name = name
        self.transactions = transactions
        self.max_block_us = max_block_us
        self.operation = ""
        self.arguments: tuple[Any, ...] = ()
        self.result: Result | None = None
        self.until = 0
        self.error = ""

    def transactional(self) -> Transactions:
        if self.transactions is None:
            raise RuntimeError(f"{self.name} has no transactions: set transactional.id.")
        return self.transactions

    def begin(self, now: int, operation: str, may_start: bool, *arguments: Any) -> None:
        """Raises at once if the call is not possible now."""
        self.transactional()
        if self.operation:
            raise RuntimeError(
                f"{self.name} is in {self.operation}: a producer takes one such call at once."
            )
        self.operation, self.arguments, self.error = operation, arguments, ""
        self.result, self.until = None, now + self.max_block_us
        self.outbox.trace(f"{_HERE}.begin", "called", operation=operation)
        if may_start:
            try:
                self._start(now)
            except (KafkaError, RuntimeError):
                self.operation = ""
                raise

    def _start(self, now: int) -> None:
        transactions = self.transactional()
        self.until = now + self.max_block_us
        match self.operation:
            case "init_transactions":
                self.result = transactions.init_transactions()
            case "commit_transaction":
                self.result = transactions.commit_transaction()
            case "abort_transaction":
                self.result = transactions.abort_transaction()
            case "send_offsets_to_transaction":
                self.result = transactions.send_offsets(*self.arguments)

    def carry_on(self, now: int, may_start: bool) -> bool:
        """Lets the call return when it has its result, or no time left.  True if a call that had to
        wait for `send` has begun."""
        if not self.operation:
            return False
        if self.result is None:
            if not may_start:
                return False
            try:
                self._start(now)
            except (KafkaError, RuntimeError) as refused:
                self._return(refused.code.name if isinstance(refused, KafkaError) else str(refused))
            return bool(self.operation)
        if self.result.is_done:
            transactions = self.transactional()
            transactions.returned(self.result)
            if self.operation == INIT and not self.result.error:
                transactions.look_at_feature(at_start=True)
            self._return(self.result.error)
        elif now >= self.until:
            self._return(TIMED_OUT)
        return False

    def _return(self, error: str) -> None:
        self.outbox.trace(f"{_HERE}._return", "returned", why=error, operation=self.operation)
        self.operation, self.arguments, self.error, self.result = "", (), error, None
