"""The producer's id and epoch, and the sequence numbers of its batches (KIP-98, KIP-360).

The cluster gives the producer an id.  Per partition the producer numbers its records from 0, and
each batch carries (producer id, epoch, first sequence).  A broker takes the next number, answers a
repeat with the old offset, and refuses a gap.  So a batch that was sent keeps its numbers: with new
ones, a batch whose first attempt did arrive would be stored twice.

    in flight     0-2   3-3   4-9        next sequence 10
    0-2 fails     all behind it are refused too: OUT_OF_ORDER_SEQUENCE_NUMBER
    so            0-2 is sent again; 3-3 and 4-9 wait until it is through, one at a time

What if a batch is given up after it was sent?  Then the producer cannot know whether the broker has
its numbers.  No new batch may leave until the others behind it are answered.  If they succeed, it
was stored.  If not, there is a gap, and the way out is a new *epoch*: the producer adds one to its
epoch by itself, numbers what is left from 0, and goes on.  Before KIP-360 (Kafka 2.5) it could not
do that.  It failed the batch that met the gap, dropped what was in flight, and asked for a new id,
so no broker could tell what it had already.  (A transactional producer had to be closed.)  `resets`
chooses that way.

A batch that gets new numbers is stored twice if the first attempt did arrive.  That is rare:
the answer to one batch must be lost, and another of the same partition refused for good.  Then all
batches in flight there get new numbers, even one that may be stored.

After sequence number 2,147,483,647 comes 0, and after epoch 32,767 a new id.  Then a later batch
has a lower number; like the Java client, this producer does not allow for that.

A transactional producer's id and epoch come from the transaction coordinator
(engine/client/transactions.py).  It never adds one to its epoch by itself.  After a gap it must
abort the transaction; then the next epoch begins with fresh numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.client.producer_batch import SEQUENCES, Place, ProducerBatch
from engine.events import Outbox
from engine.wire.errors import Errors

_HERE = "client.idempotence.Idempotence"
EPOCH_MAX = (1 << 15) - 1
Identity = tuple[int, int]
"""(producer id, epoch)"""
NO_IDENTITY: Identity = (-1, -1)
GAPS = (Errors.OUT_OF_ORDER_SEQUENCE_NUMBER, Errors.UNKNOWN_PRODUCER_ID)


@dataclass(slots=True)
class Numbers:
    """The sequence numbers of one partition; `in_flight` are the batches that have some."""

    identity: Identity = NO_IDENTITY
    next_sequence: int = 0
    last_acknowledged: int = -1
    last_acknowledged_offset: int = -1
    in_flight: list[ProducerBatch] = field(default_factory=list)

    def restart(self, identity: Identity) -> None:
        """From 0, in order, under a new identity."""
        self.identity = identity
        self.next_sequence = 0
        self.last_acknowledged = -1
        for batch in self.in_flight:
            batch.number_from(*identity, self.next_sequence)
            self.next_sequence += len(batch.records)


class Idempotence:
    """The producer's identity.  `fatal` is the error that it cannot recover from, or empty."""

    def __init__(self, outbox: Outbox, resets: bool, transactional: bool = False) -> None:
        self.outbox = outbox
        self.resets = resets
        self.transactional = transactional
        self.bumps = not resets and not transactional
        """A gap makes it add one to its epoch."""
        self.identity = NO_IDENTITY
        self.partitions: dict[Place, Numbers] = {}
        self.unresolved: dict[Place, int] = {}
        """Partitions where a sent batch was given up, and the sequence after the last one."""
        self.to_restart: dict[Place, None] = {}
        self.bump = False
        self.fatal = ""

    def numbers(self, place: Place) -> Numbers:
        return self.partitions.setdefault(place, Numbers())

    @property
    def is_known(self) -> bool:
        return self.identity != NO_IDENTITY

    def became(self, producer_id: int, epoch: int, forgets: bool = False) -> None:
        """The cluster has given us an id; `forgets` begins with fresh numbers everywhere."""
        self.identity = (producer_id, epoch)
        if forgets:
            self.partitions, self.unresolved = {}, {}
        self.outbox.trace(f"{_HERE}.became", "producer_id", id=producer_id, epoch=epoch)
        self._restart()

    # -- numbering

    def may_leave(self, batch: ProducerBatch) -> bool:
        """Whether it is this batch's turn; this keeps the order with several in flight."""
        numbers = self.numbers(batch.place)
        if not self.is_known:
            return False
        if batch.has_sequence:
            return numbers.in_flight[0] is batch if numbers.in_flight else True
        is_stale = numbers.identity != self.identity and bool(numbers.in_flight)
        return not is_stale and batch.place not in self.unresolved

    def number(self, batch: ProducerBatch) -> None:
        """Gives a new batch its sequence numbers."""
        numbers = self.numbers(batch.place)
        if numbers.identity != self.identity and not numbers.in_flight:
            numbers.restart(self.identity)
        if not batch.has_sequence:
            batch.number_from(*self.identity, numbers.next_sequence)
            numbers.next_sequence = (batch.last_sequence + 1) % SEQUENCES
            numbers.in_flight.append(batch)

    def was_split(self, batch: ProducerBatch, parts: list[ProducerBatch]) -> None:
        numbers = self.numbers(batch.place)
        if batch in numbers.in_flight:
            numbers.in_flight.remove(batch)
        numbers.in_flight = sorted([*numbers.in_flight, *parts], key=lambda b: b.base_sequence)

    # -- ends

    def acknowledged(self, batch: ProducerBatch, offset: int) -> None:
        numbers = self.numbers(batch.place)
        if (batch.producer_id, batch.producer_epoch) == numbers.identity:
            numbers.last_acknowledged = max(numbers.last_acknowledged, batch.last_sequence)
        if offset >= 0:
            last = offset + len(batch.records) - 1
            numbers.last_acknowledged_offset = max(numbers.last_acknowledged_offset, last)
        self._forget(batch)

    def failed(self, batch: ProducerBatch, error: Errors, renumber: bool) -> None:
        """A batch was given up.  With `renumber`, what is left of its partition gets new numbers:
        the broker refused it with attempts left, so its numbers count as unused: a gap."""
        self._forget(batch)
        if self.fatal:
            return
        if error == Errors.CLUSTER_AUTHORIZATION_FAILED:
            self.fatal = error.name
        elif self.transactional:
            self._failed_in_transaction(batch, error, renumber)
        elif self.resets:
            self._failed_before_kip_360(batch, error, renumber)
        elif error == Errors.OUT_OF_ORDER_SEQUENCE_NUMBER or renumber:
            self.restart_partition(batch.place)

    def _failed_before_kip_360(self, batch: ProducerBatch, error: Errors, renumber: bool) -> None:
        if self._is_past(batch):
            return  # its numbers went with the id
        if error in GAPS:
            self._reset(error.name)
        elif renumber:
            self._adjust_sequences(batch)

    def _failed_in_transaction(self, batch: ProducerBatch, error: Errors, renumber: bool) -> None:
        if error == Errors.UNKNOWN_PRODUCER_ID:
            self.partitions.pop(batch.place, None)  # the broker begins at 0 too
            self.unresolved.pop(batch.place, None)
        elif renumber:
            self._adjust_sequences(batch)

    def _adjust_sequences(self, batch: ProducerBatch) -> None:
        """Without a new epoch: the batches behind a refused one move up and take its numbers."""
        numbers = self.numbers(batch.place)
        if numbers.identity != (batch.producer_id, batch.producer_epoch):
            return
        count = len(batch.records)
        numbers.next_sequence -= count
        for each in numbers.in_flight:
            if each.base_sequence > batch.base_sequence:
                each.number_from(*numbers.identity, each.base_sequence - count)

    def gave_up_after_sending(self, batch: ProducerBatch) -> None:
        """delivery.timeout.ms ended a batch that the broker may have."""
        after = batch.last_sequence + 1
        self.unresolved[batch.place] = max(self.unresolved.get(batch.place, after), after)

    def _is_past(self, batch: ProducerBatch) -> bool:
        return (batch.producer_id, batch.producer_epoch) != self.identity

    def _reset(self, why: str) -> None:
        """The way out of a gap before KIP-360: drops the id, and all numbers with it."""
        self.identity = NO_IDENTITY
        self.partitions, self.unresolved = {}, {}
        self.outbox.trace(f"{_HERE}._reset", "id_reset", why=why)

    def _forget(self, batch: ProducerBatch) -> None:
        numbers = self.numbers(batch.place)
        numbers.in_flight = [each for each in numbers.in_flight if each is not batch]

    # -- gaps

    def may_retry(self, batch: ProducerBatch, error: Errors, log_start: int) -> bool:
        """Whether a refused batch is worth another attempt, and what must happen before it."""
        if self.resets and self._is_past(batch):
            return False
        if error not in GAPS:
            return error.retriable
        place = batch.place
        numbers = self.numbers(place)
        if error == Errors.UNKNOWN_PRODUCER_ID:
            if log_start < 0 or batch.was_resequenced:
                return True
            if self.bumps:
                self.restart_partition(place)
                return True
            # Deleted with its records: nothing can be missing.  Otherwise something may be.
            forgotten = numbers.last_acknowledged_offset < log_start
            if forgotten:
                numbers.restart(self.identity)
            return forgotten
        is_next = batch.base_sequence == numbers.last_acknowledged + 1
        if place not in self.unresolved and (batch.was_resequenced or not is_next):
            return True  # one before it failed, so this one had to fail
        if not self.bumps:
            return False
        if place not in self.unresolved or batch.base_sequence == self.unresolved[place]:
            self.restart_partition(place)
        return True

    def restart_partition(self, place: Place) -> None:
        """Asks for a new epoch, in which this partition's numbers begin at 0."""
        self.bump = True
        self.to_restart[place] = None

    def settle(self) -> bool:
        """Before a round: decides about unresolved partitions, then raises the epoch if needed.
        True if a transactional producer cannot know what is stored."""
        in_doubt = False
        for place in list(self.unresolved):
            numbers = self.numbers(place)
            if not numbers.in_flight:
                del self.unresolved[place]
                if numbers.next_sequence == numbers.last_acknowledged + 1:
                    continue
                if self.transactional:
                    in_doubt = True
                    continue
                if self.resets:
                    self._reset("a batch was given up, and it is not known whether it was stored")
                    return False
                self.restart_partition(place)
        if self.bump:
            self._bump_epoch()
        return in_doubt

    def _bump_epoch(self) -> None:
        self.bump = False
        producer_id, epoch = self.identity
        if not self.is_known:
            return  # a new id is on its way, and with it all numbers
        if epoch == EPOCH_MAX:
            self.identity = NO_IDENTITY  # the others wait for a new id
            return
        self.identity = (producer_id, epoch + 1)
        names = ", ".join(f"{topic}-{index}" for topic, index in self.to_restart)
        self.outbox.trace(
            f"{_HERE}._bump_epoch", "epoch_bump", why=f"numbers of {names} begin at 0 again",
            id=producer_id, epoch=epoch + 1,
        )  # fmt: skip
        self._restart()

    def _restart(self) -> None:
        """Gives new numbers to what is left of the partitions in `to_restart`."""
        for place in self.to_restart:
            self.numbers(place).restart(self.identity)
            self.unresolved.pop(place, None)
        self.to_restart = {}

    def describe(self) -> dict[str, object]:
        """Id, epoch and the next sequence of each partition."""
        return {
            "producer_id": self.identity[0],
            "epoch": self.identity[1],
            "next": {f"{t}-{i}": n.next_sequence for (t, i), n in self.partitions.items()},
        }
