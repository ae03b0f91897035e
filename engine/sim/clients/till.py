"""A shop's till: an application that writes in transactions, one after the other, without end.

    begin ─> some records to several partitions ─> perhaps an offset ─> commit, sometimes abort

It drives the whole producer of engine/client and does what the Java client's documentation asks
for: after an error that can be aborted it aborts, a call that timed out is made again, and an error
that is fatal ends it.  Some transactions take longer than transaction.timeout.ms.  `sales` has each
transaction with its records and its verdict:

    committed   commit_transaction has returned without an error
    aborted     an abort has, and no commit was ever asked for
    unknown     anything else: the till was killed, or the commit failed

The offsets are those of a group whose only reader it plays: each is a number that no other
transaction has, so that a committed offset names its transaction.

The topic may be deleted and made again, with fewer partitions; then it writes to those.

Two processes may have the same transactional.id.  The older one is then a zombie.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from engine.client.producer import Producer
from engine.client.transaction_requests import GroupMetadata, Offset
from engine.client.transaction_states import State
from engine.events import Effect, Event, Expired, Outbox
from engine.wire.errors import KafkaError

_HERE = "sim.clients.till.Till"
COMMITTED, ABORTED, UNKNOWN = "committed", "aborted", "unknown"
INIT, COMMIT, ABORT = "init_transactions", "commit_transaction", "abort_transaction"
TIMER = ("till",)
KEYS = 7


@dataclass(slots=True)
class Sale:
    """One transaction; `offset` is -1 if it commits none."""

    number: int
    values: list[tuple[int, str]] = field(default_factory=list)
    offset: int = -1
    verdict: str = UNKNOWN
    commits: bool = False
    """Whether the commit was asked for."""
    is_over: bool = False


@dataclass(frozen=True)
class Habits:
    """How a till works; shares are of its transactions, times in µs."""

    pause_us: int = 150_000
    slow_us: int = 0
    slow_share: float = 0.12
    abort_share: float = 0.2
    offset_share: float = 0.5


class Till:
    """`born` tells processes of one name apart; values are `name.born/transaction/record`."""

    def __init__(
        self,
        name: str,
        topic: str,
        partitions: int,
        brokers: tuple[int, ...],
        settings: dict[str, object],
        habits: Habits,
        born: int = 0,
    ) -> None:
        self.name = name
        self.topic = topic
        self.partitions = partitions
        self.habits = habits
        self.born = born
        self.chance = Random(f"till/{name}/{born}")
        self.producer = Producer(name, brokers, settings, seed=born)
        self.group = f"{self.producer.settings.transactional_id}-readers"
        self.outbox = Outbox()
        self.sales: list[Sale] = []
        self.to_send = 0
        self.wants_offset = False
        self.rests_until = 0
        self.last_call = ""
        self.finishing = False
        self.over = ""
        """Why it does nothing any more."""

    @property
    def idle(self) -> bool:
        return bool(self.over)

    @property
    def state(self) -> State:
        assert self.producer.transactions is not None
        return self.producer.transactions.lifecycle.state

    @property
    def waits_for(self) -> list[tuple[str, int]]:
        """The partitions that its producer asks to add, also by a request that one has overtaken.

        As in the Java client, a request that is repeated stays as it is when more partitions come:
        the next request names all of them, and the answer to it does not end the first one.
        """
        transactional = self.producer.sender.transactional
        assert transactional is not None
        wanted = [transactional.current, *transactional.transactions.queue]
        return [place for each in wanted if each is not None for place in each.adds]

    # -- the driver's side

    def start(self, now: int) -> list[Effect]:
        self.outbox.effects += self.producer.start(now)
        return self._go_on(now)

    def finish(self, now: int) -> list[Effect]:
        """No further transaction begins."""
        self.finishing = True
        return self._go_on(now)

    def step(self, now: int, event: Event) -> list[Effect]:
        if not (isinstance(event, Expired) and event.token == TIMER):
            self.outbox.effects += self.producer.step(now, event)
        return self._go_on(now)

    def _go_on(self, now: int) -> list[Effect]:
        while not self.over and not self.producer.busy:
            if now < self.rests_until:
                self.outbox.set_timer(TIMER, self.rests_until)
                break
            try:
                self._next(now)
            except KafkaError:
                continue  # an answer has changed the state; the next turn sees it
        return self.outbox.drain()

    # -- the application

    def _next(self, now: int) -> None:
        """One call, as the producer's state allows."""
        assert self.producer.transactions is not None
        waiting = self.producer.transactions.call
        if waiting is not None and self.state is not State.FATAL_ERROR:
            self._call(now, waiting.operation)  # it timed out; no other call is possible
            return
        match self.state:
            case State.UNINITIALIZED if self.finishing:
                self._end("it has finished")
            case State.UNINITIALIZED:
                self._call(now, INIT)
            case State.READY:
                self._conclude()
                if self.finishing:
                    self._end("it has finished")
                else:
                    self._begin(now)
            case State.IN_TRANSACTION:
                self._work(now)
            case State.ABORTABLE_ERROR:
                self._call(now, ABORT)
            case State.FATAL_ERROR:
                self._end("its producer is of no use any more")
            case State.INITIALIZING:
                self._end("its producer waits for an epoch that it has not asked for")
            case state:
                raise RuntimeError(f"{self.name}: no call is under way, and it is {state.value}.")

    def _call(self, now: int, operation: str) -> None:
        self.last_call = operation
        self.outbox.effects += getattr(self.producer, operation)(now)

    def _end(self, why: str) -> None:
        self.over = why
        self.outbox.trace(f"{_HERE}._end", "till-over", why=why)

    def _begin(self, now: int) -> None:
        self.outbox.effects += self.producer.begin_transaction(now)
        self.sales.append(Sale(len(self.sales) + 1))
        self.to_send = self.chance.choice((1, 2, 3, 4))
        self.wants_offset = self.chance.random() < self.habits.offset_share
        self._rest(now, self.chance.randrange(1, self.habits.pause_us))

    def _work(self, now: int) -> None:
        sale = self.sales[-1]
        if self.to_send:
            self.to_send -= 1
            index = self.chance.randrange(self.partitions)
            index %= self.producer.metadata.partitions(self.topic) or self.partitions
            value = f"{self._name_of(sale)}/{len(sale.values)}"
            key = f"k{self.chance.randrange(KEYS)}".encode()
            self.outbox.effects += self.producer.send(now, self.topic, value.encode(), key, index)
            sale.values.append((index, value))
            self._rest(now, self.chance.randrange(1, self.habits.pause_us))
        elif self.wants_offset:
            self.wants_offset = False
            sale.offset = now
            place = (self.topic, 0)
            self.outbox.effects += self.producer.send_offsets_to_transaction(
                now, {place: Offset(now)}, GroupMetadata(self.group)
            )
        elif self.chance.random() < self.habits.abort_share:
            self._call(now, ABORT)
        elif self.habits.slow_us and self.chance.random() < self.habits.slow_share:
            self._rest(now, self.habits.slow_us)  # next time it decides again
        else:
            sale.commits = True
            self.outbox.trace(f"{_HERE}._work", "commits", sale=self._name_of(sale),
                              group=self.group, offset=sale.offset)  # fmt: skip
            self._call(now, COMMIT)

    def _rest(self, now: int, for_us: int) -> None:
        self.rests_until = now + for_us

    def _conclude(self) -> None:
        """The last transaction is over."""
        if not self.sales or self.sales[-1].is_over:
            return
        sale = self.sales[-1]
        sale.is_over = True
        if not sale.commits:
            sale.verdict = ABORTED
        elif self.last_call == COMMIT and not self.producer.error:
            sale.verdict = COMMITTED
        self.outbox.trace(f"{_HERE}._conclude", "concluded", sale=self._name_of(sale),
                          verdict=sale.verdict, records=len(sale.values))  # fmt: skip

    def _name_of(self, sale: Sale) -> str:
        return f"{self.name}.{self.born}/{sale.number}"
