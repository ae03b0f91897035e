"""One partition of a coordinator's topic: its log on disk, its state machine in memory.

    load      reads the partition from its start and replays every record; the topic is
              compacted, so the last record of a key is the truth
    store     appends records; they are on their way
    settle    applies what the high watermark has passed, and tells those who wait
    resign    another broker leads: those who wait are sent there

So an acknowledged change survives as any acks=all record does, and a broker that takes
over has every one of them.

State has two views.  What is *replicated* may be shown: no later coordinator forgets it.
What is *written* (the replicated state and `on_their_way`) is what a change must start
from, because all that is in the log already comes before it.

Kafka's coordinator runtime replays records when they are appended, shows the last
committed snapshot, and takes snapshots back when an append fails.  Here a state machine
applies its records when they are replicated, and nothing needs to be taken back.

Simplified: the partition is read in one step, not in the background.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from engine.coordinators.runtime.host import Host, Log
from engine.coordinators.runtime.writes import Record, Write, append_answer
from engine.events import Stored
from engine.records import batch, control
from engine.settings import Settings
from engine.wire.errors import Errors

_LOAD_BYTES = 1 << 20
_ENDS = {control.ControlType.COMMIT: True, control.ControlType.ABORT: False}

Written = TypeVar("Written", contravariant=True)


class StateMachine(Protocol[Written]):
    """What a coordinator knows about one partition's keys."""

    def replay(self, record: Written) -> None:
        """Takes over a record found in the log while loading."""

    def replicated(self, record: Written) -> None:
        """Takes over a record of its own that cannot be lost any more."""

    def loaded(self, now: int) -> None:
        """The end of the log is reached: timers may be set."""

    def unloaded(self, now: int) -> None:
        """Another broker coordinates: answers what is parked and cancels the timers."""


class Store(Protocol[Written]):
    """The part of a shard that a state machine writes to."""

    def store(self, now: int, records: Sequence[Written], then: Stored | None = None) -> Errors: ...


@dataclass(frozen=True, slots=True)
class AppendTerms:
    """How a batch is written: its compression codec, and how long replication may take."""

    compression: int
    timeout_ms: int


@dataclass(frozen=True, slots=True)
class Producer:
    """The transactional producer in whose name records are written.

    `guard` is that of a verification, None where none is needed.
    """

    id: int
    epoch: int
    guard: int | None = None


@dataclass(frozen=True, slots=True)
class Transactions(Generic[Record]):
    """What the state machine learns of records in a transaction, and of the marker behind them."""

    pending: Callable[[Record, int], Record]
    """A record that the producer of this id has written in a transaction."""
    ended: Callable[[int, bool], Record]
    """The end of the producer's transaction; True for a commit."""


@dataclass(frozen=True, slots=True)
class LogTopic(Generic[Record]):
    """An internal topic, and how its records are written; None is a kind we do not know."""

    name: str
    encode: Callable[[Record], tuple[bytes, bytes | None]]
    decode: Callable[[bytes | None, bytes | None], Record | None]
    terms: Callable[[Settings], AppendTerms]
    transactions: Transactions[Record] | None = None
    """None for a topic that no producer's transaction reaches."""


State = TypeVar("State", bound=StateMachine)


class Shard(Generic[Record, State]):
    """Partition `index` of `topic`; its log ended at `loaded_end` when it was read."""

    def __init__(
        self,
        host: Host,
        topic: LogTopic[Record],
        index: int,
        machine: Callable[[Shard[Record, State]], State],
    ) -> None:
        self.host = host
        self.topic = topic
        self.index = index
        self.loaded_end = 0
        self.writes: deque[Write[Record]] = deque()
        self.state = machine(self)

    @property
    def name(self) -> str:
        return f"{self.topic.name}-{self.index}"

    def load(self, now: int, log: Log) -> None:
        """Rebuilds the state from the log."""
        self.loaded_end = log.log_end_offset
        for record in _records(log, self.topic):
            self.state.replay(record)
        self.state.loaded(now)

    def resign(self, now: int) -> None:
        """Another broker leads the partition, or it is gone."""
        self.state.unloaded(now)
        while self.writes:
            self.writes.popleft().finish(now, Errors.NOT_COORDINATOR)

    # -- writing, and knowing what is written

    def store(
        self,
        now: int,
        records: Sequence[Record],
        then: Stored | None = None,
        producer: Producer | None = None,
    ) -> Errors:
        """Appends `records`; `then` hears once, now or later, how it ended.

        With no records `then` still waits for what is on its way, because the decision that
        there is nothing to write depends on it.  With a `producer` they are part of its open
        transaction.
        """
        if not records:
            if then is not None:
                self.after_writes(now, then)
            return Errors.NONE
        compression = self.topic.terms(self.host.settings).compression
        data = encode_batch(self.topic, records, now // 1000, compression, producer)
        if producer is not None:
            assert self.topic.transactions is not None, "this topic knows no transactions"
            records = [self.topic.transactions.pending(each, producer.id) for each in records]
        guard = None if producer is None else producer.guard
        return self._append(now, data, records, then, guard)

    def end_transaction(
        self, now: int, marker: bytes, producer_id: int, committed: bool, bumps: bool, then: Stored
    ) -> Errors:
        """Appends the batch with the marker that ends the producer's transaction here.

        `bumps` as in `engine.storage.producer_states`.
        """
        assert self.topic.transactions is not None, "this topic knows no transactions"
        end = self.topic.transactions.ended(producer_id, committed)
        return self._append(now, marker, [end], then, None, bumps)

    def _append(
        self,
        now: int,
        data: bytes,
        records: Sequence[Record],
        then: Stored | None,
        guard: int | None = None,
        marker_bumps: bool = False,
    ) -> Errors:
        """Appends a batch; `records` take effect when it is replicated."""
        waiting = [] if then is None else [then]
        partition = self.host.replicas.partition(self.topic.name, self.index)
        end = 0 if partition is None else partition.log.log_end_offset + len(records)
        write = Write(self, end, list(records), waiting)
        if partition is None:
            write.finish(now, Errors.NOT_COORDINATOR)
            return Errors.NOT_COORDINATOR
        self.writes.append(write)
        timeout_ms = self.topic.terms(self.host.settings).timeout_ms
        error = self.host.replicas.append(
            now, self.topic.name, self.index, data, write, timeout_ms, guard, marker_bumps
        )
        if error is not Errors.NONE:
            self.writes.remove(write)
            error = append_answer(error)
            write.finish(now, error)
        return error

    def after_writes(self, now: int, then: Stored) -> None:
        """`then` hears when all that is on its way is replicated, or that it is late."""
        if not self.writes:
            then.stored(now, Errors.NONE)
        elif self.writes[-1].late:
            then.stored(now, Errors.COORDINATOR_NOT_AVAILABLE)
        else:
            self.writes[-1].waiting.append(then)

    def settle(self, now: int) -> bool:
        """Applies what is replicated; False while what was loaded may be lost."""
        partition = self.host.replicas.partition(self.topic.name, self.index)
        if partition is None:
            return False
        while self.writes and self.writes[0].end <= partition.high_watermark:
            write = self.writes.popleft()
            for record in write.records:
                self.state.replicated(record)
            write.finish(now, Errors.NONE)
        return partition.high_watermark >= self.loaded_end

    def on_their_way(self) -> Iterator[Record]:
        """The records that are written and not applied, in the log's order."""
        for write in self.writes:
            yield from write.records


def encode_batch(
    topic: LogTopic[Record],
    records: Sequence[Record],
    timestamp_ms: int,
    compression: int,
    producer: Producer | None = None,
) -> bytes:
    """One record batch that holds `records` in order."""
    encoded = []
    for position, record in enumerate(records):
        key, value = topic.encode(record)
        encoded.append(batch.Record(position, timestamp_ms, key, value, ()))
    if producer is None:
        return batch.encode(encoded, compression=compression)
    return batch.encode(
        encoded,
        compression=compression,
        producer_id=producer.id,
        producer_epoch=producer.epoch,
        base_sequence=0,
        transactional=True,
    )


def _records(log: Log, topic: LogTopic[Record]) -> Iterator[Record]:
    """The log from its start to its end, without the kinds we do not know."""
    position = log.log_start_offset
    while position < log.log_end_offset:
        chunk = log.read(position, _LOAD_BYTES)
        if not chunk:
            return
        for header, start in batch.iterate(chunk):
            position = header.next_offset
            yield from _records_of(topic, header, batch.decode(chunk, start))


def _records_of(
    topic: LogTopic[Record], header: batch.BatchHeader, records: Sequence[batch.Record]
) -> Iterator[Record]:
    for each in records:
        if header.is_control:
            kind = control.control_type(each)
            if topic.transactions is not None and kind in _ENDS:
                yield topic.transactions.ended(header.producer_id, _ENDS[kind])
            continue
        record = topic.decode(each.key, each.value)
        if record is None:
            continue
        if header.is_transactional and topic.transactions is not None:
            record = topic.transactions.pending(record, header.producer_id)
        yield record
