"""What a partition remembers of each producer, so that a retried batch is stored once.

A producer that got no answer sends its batch again.  Was the first one stored?  With
idempotence each batch carries (producer id, epoch, first sequence), and the partition
remembers the last five batches of each producer (KIP-98; five, because that many may be
in flight):

    remembered    [10-12 @ 70] [13-13 @ 73] [14-19 @ 74]
    arrives       13-13   ->  a duplicate: answered with its old offset 73, not stored
    arrives       20-22   ->  next in sequence: stored
    arrives       25-25   ->  a gap: OUT_OF_ORDER_SEQUENCE_NUMBER
    older epoch           ->  a zombie: INVALID_PRODUCER_EPOCH

Sequences wrap from 2^31 - 1 to 0.  A producer unknown here may begin with any sequence:
its records may have been deleted, or its state expired.  Followers and recovery take what
the leader has accepted without asking.

This table is part of the log's state: it can be rebuilt by reading every batch, and
`producer_snapshots` shortens that.

Transactions leave their mark here too: a transactional batch opens one, the end marker
closes it.  Both matter to a reader with read_committed, which stops before the first offset that
is still open:

    offset    70     71     72     73     74     75
              A1     B1     A2     commit B2     -      high watermark 74
                     |             of A
                     first unstable offset: B's transaction is open

An ended transaction stays *unstable* until the high watermark has passed its marker, because a
marker that is not replicated may be lost, and the transaction be open again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from engine.records import control
from engine.records.batch import BatchHeader, Record
from engine.wire.errors import Errors, KafkaError

BATCHES_REMEMBERED = 5
NO_PRODUCER_ID = -1
NO_EPOCH = -1
NO_SEQUENCE = -1
NO_GUARD = 0
SEQUENCE_MAX = (1 << 31) - 1
EPOCH_MAX = (1 << 15) - 1


@dataclass(frozen=True, slots=True)
class RememberedBatch:
    """A stored batch: its last sequence and offset, how many before it, its timestamp."""

    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp: int

    @property
    def first_sequence(self) -> int:
        return (self.last_sequence - self.offset_delta) % (SEQUENCE_MAX + 1)

    @property
    def first_offset(self) -> int:
        return self.last_offset - self.offset_delta


@dataclass(slots=True)
class ProducerState:
    """One producer, as of its last batch."""

    epoch: int = NO_EPOCH
    batches: list[RememberedBatch] = field(default_factory=list)
    coordinator_epoch: int = -1
    last_timestamp: int = -1
    transaction_start: int = -1
    """First offset of the open transaction; -1 when there is none."""

    @property
    def last_sequence(self) -> int:
        return self.batches[-1].last_sequence if self.batches else NO_SEQUENCE

    def take_epoch(self, epoch: int) -> None:
        """In a new epoch the sequences start over, so the old batches are forgotten."""
        if epoch != self.epoch:
            self.epoch = epoch
            self.batches = []


@dataclass(slots=True)
class Guard:
    """A verification of a producer's transaction here (KIP-890).

    `lowest_sequence` is the lowest that came meanwhile: a batch behind it must not be first in.
    """

    number: int
    since_ms: int
    epoch: int
    lowest_sequence: int
    bumps: bool


@dataclass(frozen=True, slots=True)
class CompletedTransaction:
    """A transaction that a marker has ended in this partition."""

    producer_id: int
    first_offset: int
    last_offset: int
    aborted: bool


class ProducerStates:
    """All producers of one partition, by producer id."""

    def __init__(self) -> None:
        self.states: dict[int, ProducerState] = {}
        self._open: dict[int, int] = {}
        """The first offset of each open transaction by producer id, in the log's order."""
        self._guards: dict[int, Guard] = {}
        """By producer id: the verification under way."""
        self._last_guard = 0
        self._unreplicated: list[CompletedTransaction] = []
        """Ended transactions whose marker was above the high watermark, in their markers' order."""

    def __iter__(self) -> Iterator[tuple[int, ProducerState]]:
        return iter(self.states.items())

    def __len__(self) -> int:
        return len(self.states)

    def get(self, producer_id: int) -> ProducerState | None:
        return self.states.get(producer_id)

    @property
    def first_undecided_offset(self) -> int | None:
        """Where the oldest open transaction begins; None if none is open."""
        return next(iter(self._open.values()), None)

    def first_unstable_offset(self, high_watermark: int) -> int | None:
        """Where the oldest transaction begins that is open, or whose end may still be lost."""
        first = self.first_undecided_offset
        for each in self._unreplicated:
            if each.last_offset >= high_watermark and (first is None or each.first_offset < first):
                first = each.first_offset
        return first

    def replicated_up_to(self, high_watermark: int) -> None:
        """Markers below the high watermark cannot be lost any more."""
        waiting = self._unreplicated
        if waiting and waiting[0].last_offset < high_watermark:
            self._unreplicated = [each for each in waiting if each.last_offset >= high_watermark]

    # -- what the leader asks before it appends

    def find_duplicate(self, batch: BatchHeader) -> RememberedBatch | None:
        """The remembered batch with exactly these sequences, if the epoch is the same."""
        state = self.states.get(batch.producer_id)
        if state is None or state.epoch != batch.producer_epoch:
            return None
        last_sequence = batch.last_sequence
        for known in state.batches:
            if known.last_sequence == last_sequence and known.first_sequence == batch.base_sequence:
                return known
        return None

    def check(self, batch: BatchHeader, check_sequence: bool) -> None:
        """Raises KafkaError unless the producer may write this batch next.

        Group and transaction coordinators write without sequences: `check_sequence` False.
        """
        self.check_epoch(batch.producer_id, batch.producer_epoch)
        if batch.is_control:
            return
        state = self.states.get(batch.producer_id)
        who = f"producer {batch.producer_id}"
        if check_sequence:
            self._check_first(batch, state, who)
        if state is None:
            return
        if check_sequence:
            self._check_sequence(batch, state, who)
        if state.transaction_start >= 0 and not batch.is_transactional:
            raise KafkaError(
                Errors.INVALID_TXN_STATE,
                f"{who} writes outside its open transaction",
            )

    def check_epoch(self, producer_id: int, epoch: int) -> None:
        """Raises KafkaError for a zombie: a later epoch has written here."""
        state = self.states.get(producer_id)
        seen = NO_EPOCH if state is None else state.epoch
        if epoch < seen:
            raise KafkaError(
                Errors.INVALID_PRODUCER_EPOCH,
                f"producer {producer_id} writes with epoch {epoch}, epoch {seen} was seen",
            )

    def _check_first(self, batch: BatchHeader, state: ProducerState | None, who: str) -> None:
        """While a transaction is verified, what was sent later must not be first in.

        A producer whose epoch grows with each transaction begins with sequence 0; so one that
        is new here has sent something else before.
        """
        guard = self._guards.get(batch.producer_id)
        if guard is None:
            return
        first = guard.lowest_sequence
        if guard.bumps and (state is None or not state.batches):
            first = min(first, 0)
        if batch.base_sequence > first:
            raise KafkaError(
                Errors.OUT_OF_ORDER_SEQUENCE_NUMBER,
                f"{who} sends sequence {batch.base_sequence}, and {first} has yet to come",
            )

    def _check_sequence(self, batch: BatchHeader, state: ProducerState, who: str) -> None:
        if state.epoch == NO_EPOCH:
            return
        if batch.producer_epoch != state.epoch:
            last = NO_SEQUENCE
        else:
            last = state.last_sequence
        expected = 0 if last == SEQUENCE_MAX else last + 1
        if batch.base_sequence != expected:
            raise KafkaError(
                Errors.OUT_OF_ORDER_SEQUENCE_NUMBER,
                f"{who} sent sequence {batch.base_sequence}, {expected} was expected",
            )

    def check_marker(self, batch: BatchHeader, record: Record, bumps: bool = False) -> None:
        """Raises KafkaError for an end marker from a deposed coordinator, or of an old transaction.

        `bumps`: the producer's epoch grows with each transaction (transaction.version 2), so the
        marker of an open one has a later epoch than its records.  A marker with their epoch ended
        the transaction before, and comes late (KAFKA-17754).
        """
        state = self.states.get(batch.producer_id) or ProducerState()
        is_same = batch.producer_epoch == state.epoch != EPOCH_MAX
        if bumps and is_same and state.transaction_start >= 0:
            raise KafkaError(
                Errors.INVALID_PRODUCER_EPOCH,
                f"the open transaction of producer {batch.producer_id} has epoch {state.epoch} "
                "itself: this marker is of the one before",
            )
        epoch = control.read_marker(record).coordinator_epoch
        if epoch < state.coordinator_epoch:
            raise KafkaError(
                Errors.TRANSACTION_COORDINATOR_FENCED,
                f"coordinator epoch {epoch} is older than {state.coordinator_epoch}",
            )

    def is_open(self, producer_id: int, epoch: int) -> bool:
        """Whether the producer has an open transaction here, in this epoch."""
        state = self.states.get(producer_id)
        return state is not None and state.transaction_start >= 0 and state.epoch == epoch

    def guard(self, now_ms: int, producer_id: int, epoch: int, sequence: int, bumps: bool) -> int:
        """The number to bring back when the coordinator has verified the transaction.

        A marker, or the transaction's first record, takes it away.  `bumps`: the epoch of the
        client that asked first grows with each transaction (transaction.version 2).  Raises
        KafkaError for a zombie, so that no coordinator is asked on its behalf.
        """
        self.check_epoch(producer_id, epoch)
        guard = self._guards.get(producer_id)
        if guard is None:
            self._last_guard += 1
            guard = Guard(self._last_guard, now_ms, epoch, sequence, bumps)
            self._guards[producer_id] = guard
        elif epoch > guard.epoch:
            guard.epoch, guard.lowest_sequence = epoch, sequence
        elif epoch == guard.epoch:
            guard.lowest_sequence = min(guard.lowest_sequence, sequence)
        return guard.number

    def check_guard(self, batch: BatchHeader, number: int) -> None:
        """Raises KafkaError if this would open a transaction that was not verified."""
        if self.is_open(batch.producer_id, batch.producer_epoch):
            return
        self.check_epoch(batch.producer_id, batch.producer_epoch)
        guard = self._guards.get(batch.producer_id)
        if guard is None or guard.number != number:
            raise KafkaError(
                Errors.INVALID_TXN_STATE, "Record was not part of an ongoing transaction"
            )

    # -- what is noted once a batch is in the log

    def note(self, batch: BatchHeader) -> None:
        """Remembers a data batch of an idempotent producer."""
        state = self._state(batch.producer_id)
        state.take_epoch(batch.producer_epoch)
        if len(state.batches) == BATCHES_REMEMBERED:
            del state.batches[0]
        state.batches.append(
            RememberedBatch(
                batch.last_sequence,
                batch.base_offset + batch.last_offset_delta,
                batch.last_offset_delta,
                batch.max_timestamp,
            )
        )
        state.last_timestamp = batch.max_timestamp
        if batch.is_transactional:
            self._guards.pop(batch.producer_id, None)
        if batch.is_transactional and state.transaction_start < 0:
            state.transaction_start = batch.base_offset
            self._open[batch.producer_id] = batch.base_offset

    def note_marker(self, batch: BatchHeader, record: Record) -> CompletedTransaction | None:
        """Ends the producer's transaction; None if there was nothing to end."""
        state = self._state(batch.producer_id)
        self._guards.pop(batch.producer_id, None)
        first_offset = state.transaction_start
        state.take_epoch(batch.producer_epoch)
        state.coordinator_epoch = control.read_marker(record).coordinator_epoch
        state.last_timestamp = record.timestamp
        state.transaction_start = -1
        if first_offset < 0:
            return None
        del self._open[batch.producer_id]
        aborted = control.control_type(record) == control.ControlType.ABORT
        ended = CompletedTransaction(batch.producer_id, first_offset, batch.base_offset, aborted)
        self._unreplicated.append(ended)
        return ended

    def remove_expired(self, now_ms: int, expiration_ms: int) -> int:
        """Forgets producers idle for producer.id.expiration.ms; gives how many."""
        expired = [
            producer_id
            for producer_id, state in self.states.items()
            if state.transaction_start < 0 and now_ms - state.last_timestamp >= expiration_ms
        ]
        for producer_id in expired:
            del self.states[producer_id]
        for producer_id, guard in list(self._guards.items()):
            if now_ms - guard.since_ms >= expiration_ms:
                del self._guards[producer_id]
        return len(expired)

    def restore(self, states: dict[int, ProducerState]) -> None:
        """Takes over what a snapshot holds; {} forgets everything."""
        self.states = states
        starts = [(each.transaction_start, producer_id) for producer_id, each in states.items()]
        self._guards = {}
        self._open = {producer_id: start for start, producer_id in sorted(starts) if start >= 0}
        self._unreplicated = []

    def _state(self, producer_id: int) -> ProducerState:
        state = self.states.get(producer_id)
        if state is None:
            state = self.states[producer_id] = ProducerState()
        return state
