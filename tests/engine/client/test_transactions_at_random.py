"""Random answers to a transactional producer: it goes on, or it says why it cannot.

First any request may fail with any error of its API, lose its answer, or wait.  Then all is well:
the producer must end every call, and be Ready or in FatalError.  It never finds a bug of its own.
"""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from engine.client.transaction_outcomes import TABLES, Outcome
from engine.wire import messages as m
from engine.wire.errors import Errors, KafkaError
from tests.engine.client.transactions_by_hand import ANSWERS, PRODUCER_ID, Hand

STEPS = 150
WAITS = (Errors.COORDINATOR_NOT_AVAILABLE, Errors.CONCURRENT_TRANSACTIONS)
BATCH_ERRORS = (
    Errors.NOT_LEADER_OR_FOLLOWER, Errors.NOT_ENOUGH_REPLICAS, Errors.REQUEST_TIMED_OUT,
    Errors.OUT_OF_ORDER_SEQUENCE_NUMBER, Errors.UNKNOWN_PRODUCER_ID, Errors.INVALID_RECORD,
    Errors.INVALID_PRODUCER_EPOCH, Errors.TRANSACTION_ABORTABLE, Errors.CONCURRENT_TRANSACTIONS,
)  # fmt: skip


class Chaos:
    """A producer, its application, and brokers that answer at random; `seed` decides all."""

    def __init__(self, seed: int) -> None:
        self.chance = Random(seed)
        self.version = 1 + seed % 2
        self.hand = Hand(self.version, max_block_ms=100_000_000)
        self.epoch = -1
        self.errs = True
        self.sent = 0
        self.open = False

    # -- the application

    def act(self) -> None:
        """Its next call, if the last one has returned."""
        hand = self.hand
        if hand.producer.busy or hand.state == "FatalError":
            return
        try:
            match hand.state:
                case "Uninitialized":
                    hand.do("init_transactions")
                case "Ready":
                    hand.do("begin_transaction")
                case "AbortableError":
                    hand.do("abort_transaction")
                case "InTransaction":
                    self._go_on()
        except KafkaError:
            pass  # another answer has changed the state meanwhile

    def _go_on(self) -> None:
        hand, dice = self.hand, self.chance.random()
        if dice < 0.5:
            self.sent += 1
            hand.send(f"{self.sent}".encode(), partition=self.chance.randrange(2))
        elif dice < 0.65:
            hand.send_offsets()
        else:
            hand.do("commit_transaction" if dice < 0.9 else "abort_transaction")

    # -- the brokers

    def answer(self) -> None:
        """One of the requests."""
        hand = self.hand
        if not hand.asked:
            return
        asked = self.chance.choice(hand.asked)
        api = type(asked.body).__name__.removesuffix("Request")
        if api in ("ApiVersions", "Metadata"):
            hand.lose(api)
        elif self.errs and self.chance.random() < 0.1:
            hand.give(asked, None)
        else:
            hand.give(asked, self._body(api, asked.body))

    def _body(self, api: str, asked: Any) -> Any:
        error = self._error(api, asked) if self.errs and self.chance.random() < 0.3 else Errors.NONE
        fields: dict[str, Any] = {}
        if not error and api == "InitProducerId":
            self.epoch += 1
            fields["epoch"] = self.epoch
        if not error and api == "EndTxn" and self.version == 2:
            self.epoch = asked.producer_epoch + 1
            fields["identity"] = (PRODUCER_ID, self.epoch)
        return ANSWERS[api](asked, int(error), **fields)

    def _error(self, api: str, asked: Any) -> Errors:
        """Seldom a fatal one.  What no broker says is left out: no call of the Java client leads on
        after an abort that ends in UNKNOWN_PRODUCER_ID, or after a start that is to be aborted."""
        if api == "Produce":
            return self.chance.choice(BATCH_ERRORS)
        if api in ("FindCoordinator", "InitProducerId") or _aborts(asked):
            return self.chance.choice(WAITS)
        table = TABLES[api]
        mild = [error for error, does in table.rows.items() if does is not Outcome.FATAL]
        mild = [error for error in mild if table.rows[error] is not Outcome.FENCED]
        return self.chance.choice([*mild, Errors.COORDINATOR_LOAD_IN_PROGRESS])

    def step(self) -> None:
        self.chance.choice((self.act, self.answer, self.answer, self.wait))()

    def wait(self) -> None:
        self.hand.later(self.chance.choice((1, 25, 110, 1100)))

    def settle(self) -> None:
        """All is well from here on; the application ends its transaction."""
        self.errs = False
        hand = self.hand
        for _ in range(600):
            if hand.state == "FatalError" or (hand.state == "Ready" and not hand.producer.busy):
                return
            if hand.state == "InTransaction" and not hand.producer.busy:
                hand.do("commit_transaction")
            elif hand.state != "Ready":
                self.act()
            self.answer()
            self.wait()
        raise AssertionError(f"stuck in {hand.state}, asking {hand.waiting()}")


@pytest.mark.parametrize("block", range(8))
def test_after_random_answers_the_producer_ends_ready_or_says_why_not(block: int) -> None:
    ends = []
    for seed in range(block * 25, block * 25 + 25):
        chaos = Chaos(seed)
        for _ in range(STEPS):
            chaos.step()
        chaos.settle()
        lines = [line for line in chaos.hand.trace if "bug" in line.why]
        assert lines == [], f"seed {seed}"
        ends.append(chaos.hand.state)
        if chaos.hand.state == "Ready":
            assert chaos.hand.identity == (PRODUCER_ID, chaos.epoch), f"seed {seed}"
            assert {each.verdict for each in chaos.hand.producer.sends} <= KNOWN, f"seed {seed}"
    assert ends.count("Ready") > 5


def _aborts(asked: Any) -> bool:
    return isinstance(asked, m.EndTxnRequest) and not asked.committed


KNOWN = {"acknowledged", "refused", "unknown"}
