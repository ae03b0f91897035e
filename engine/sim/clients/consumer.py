"""A simulated consumer: reads everything and records each answer.

It keeps what the checks need: every record with its offset and epoch, and the high watermark
and log start of each answer.  Like a real client it names the leader epoch that it knows, so
that a former leader refuses it (KIP-320).

Simplified: above the high watermark, as after an election, a fetch is answered empty and at
once, and the Java client asks again at once; this one waits a little, to keep a run small.
Each partition has connections of its own, as if it had a consumer of its own; the Java client
asks a broker for all its partitions in one Fetch, and its other requests wait behind that.

It knows its topic by id, as clients do since KIP-516.  If the topic was deleted and made again
under its name, it keeps its position, as the Java client does; beyond the end of the new log it
begins again at its start.

With `committed` it reads as with isolation.level=read_committed: up to the last stable offset, and
without the records of the aborted transactions that each answer names.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.events import Answered, Effect, Event, Expired, Outbox, Response
from engine.records import batch, control
from engine.records.batch import BatchHeader, Record
from engine.records.control import ControlType
from engine.sim.clients.clients import REQUEST_TIMEOUT_US, Routes
from engine.sim.history.operations import Poll, Read, Seek
from engine.sim.invariants.chains import is_intact
from engine.wire import messages as m
from engine.wire.errors import Errors

_HERE = "sim.clients.consumer"
LOOK_US = 400_000
PAUSE_US = 100_000
"""The wait before it fetches again above the high watermark."""
LATEST, EARLIEST = -1, -2
READ_COMMITTED = 1


@dataclass(slots=True)
class Position:
    """How far a consumer has read one partition.

    `offset` is -1 while it asks where to go on.  `received` is the last (leader epoch, high
    watermark, log start) that it heard.
    """

    offset: int = 0
    fetching: bool = False
    asked_us: int = 0
    asked_epoch: int = -1
    received: tuple[int, int, int] = (-1, -1, -1)
    looking_since_us: int = -1
    looking_in_epoch: int = -1

    @property
    def is_at_end(self) -> bool:
        """Nothing more to read, by the last answer."""
        return 0 <= self.offset == self.received[1]


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic of this name: what it had read before was of a former one.

    `since` is the number of its first operation, `positions` where it went on.
    """

    topic_id: bytes
    since: int
    positions: dict[int, int]


class Consumer:
    """Reads every partition of a topic from its leader, from the beginning, without end.

    Where its offset is not in the log (any more, or not yet), it begins again at the log start,
    as with auto.offset.reset=earliest.  Now and then it also asks where each partition ends.
    `operations` is what it saw.
    """

    def __init__(
        self,
        name: str,
        topic: str,
        partitions: int,
        brokers: tuple[int, ...],
        committed: bool = False,
    ) -> None:
        self.name = name
        self.topic = topic
        self.committed = committed
        self.outbox = Outbox()
        self.routes = Routes(self.outbox, brokers)
        self.positions = {index: Position() for index in range(partitions)}
        self.operations: list[Poll | Seek] = []
        self.topics: list[Topic] = []

    def start(self, now: int) -> list[Effect]:
        self.operations += [Seek(now, self.name, self.topic, index, 0) for index in self.positions]
        self.routes.ask(self.topic)
        self.outbox.set_timer(("look",), now + LOOK_US)
        return self.outbox.drain()

    def step(self, now: int, event: Event) -> list[Effect]:
        match event:
            case Expired(("retry",)):
                self.routes.ask(self.topic)
            case Expired(("again", int(index))):
                self.positions[index].fetching = False
            case Expired(("look",)):
                for index in self.positions:
                    self._look(now, index)
                self.outbox.set_timer(("look",), now + LOOK_US)
            case Response(_, ("metadata",), body):
                self.routes.learn(now, body)
                self._note_topic()
            case Response(_, ("fetch", int(index)), body):
                self._answered(now, index, body)
            case Response(_, ("look", int(index)), body):
                self._looked(index, body)
            case Response(_, ("reset", int(index)), body):
                self._was_reset(now, index, body)
        for index, position in self.positions.items():
            if not position.fetching:
                self._fetch(now, index, position)
        return self.outbox.drain()

    def _note_topic(self) -> None:
        topic_id = self.routes.topic_ids.get(self.topic)
        if topic_id is not None and (not self.topics or self.topics[-1].topic_id != topic_id):
            positions = {index: each.offset for index, each in self.positions.items()}
            self.topics.append(Topic(topic_id, len(self.operations), positions))

    def _fetch(self, now: int, index: int, position: Position) -> None:
        leader = self.routes.leaders.get((self.topic, index), -1)
        if leader < 0:
            self.routes.ask_later(now)
            return
        position.fetching = True
        position.asked_us = now
        position.asked_epoch = self.routes.epochs[self.topic, index]
        if position.offset < 0:
            self._ask_offset(leader, index, EARLIEST, "reset")
            return
        request = m.FetchRequest
        part = request.FetchPartition(
            partition=index,
            current_leader_epoch=position.asked_epoch,
            fetch_offset=position.offset,
            partition_max_bytes=1 << 20,
        )
        topic = request.FetchTopic(topic_id=self.routes.topic_ids[self.topic], partitions=[part])
        isolation_level = READ_COMMITTED if self.committed else 0
        body = request(
            max_wait_ms=500, min_bytes=1, topics=[topic], session_epoch=-1,
            isolation_level=isolation_level,
        )  # fmt: skip
        connection = f"partition-{index}"
        self.outbox.send(leader, ("fetch", index), body, REQUEST_TIMEOUT_US, connection=connection)

    def _answered(self, now: int, index: int, body: Answered) -> None:
        position = self.positions[index]
        position.fetching = False
        responses = body.responses if isinstance(body, m.FetchResponse) else ()
        if responses and responses[0].topic_id != self.routes.topic_ids[self.topic]:
            return  # of a former topic of this name
        data = responses[0].partitions[0] if responses else None
        if data is None or data.error_code != Errors.NONE:
            if data is not None and data.error_code == Errors.OFFSET_OUT_OF_RANGE:
                position.offset = -1  # records were lost or deleted: the log starts elsewhere
            self._find_leader(now, index)
            return
        name = f"{self.topic}-{index}"
        received = (position.asked_epoch, data.high_watermark, data.log_start_offset)
        if received != position.received:
            position.received = received
            self.outbox.trace(f"{_HERE}.Consumer", "received", name, epoch=received[0],
                              high_watermark=received[1], log_start=received[2])  # fmt: skip
        reads = []
        records = data.records or b""
        aborted = _Aborted.of(data.aborted_transactions)
        begin = position.offset
        for header, at in batch.iterate(records):
            if not is_intact(records, at):
                # check.crcs: what is damaged is not read, and neither is what follows it.
                self._find_leader(now, index)
                break
            drops = aborted.drops(header)
            if header.is_control:
                aborted.over(header, batch.decode(records, at))
            if header.is_control or drops:
                position.offset = max(position.offset, header.next_offset)
                continue
            for record in batch.decode(records, at):
                if record.offset < position.offset:
                    continue
                value = (record.value or b"").decode()
                epoch = header.partition_leader_epoch
                reads.append(Read(self.topic, index, record.offset, value))
                position.offset = record.offset + 1
                isolation = {"isolation": "read_committed"} if self.committed else {}
                self.outbox.trace(
                    f"{_HERE}.Consumer", "read", name, offset=record.offset, epoch=epoch,
                    value=value, asked_us=position.asked_us, **isolation,
                )  # fmt: skip
            position.offset = max(position.offset, header.next_offset)
        if reads:
            self.operations.append(Poll(now, self.name, tuple(reads)))
        elif position.offset == begin and position.offset > data.high_watermark:
            position.fetching = True
            self.outbox.set_timer(("again", index), now + PAUSE_US)

    def _look(self, now: int, index: int) -> None:
        """Asks for the latest offset."""
        position = self.positions[index]
        leader = self.routes.leaders.get((self.topic, index), -1)
        if leader < 0 or position.looking_since_us >= 0:
            return
        position.looking_since_us = now
        position.looking_in_epoch = self.routes.epochs[self.topic, index]
        self._ask_offset(leader, index, LATEST, "look")

    def _ask_offset(self, leader: int, index: int, timestamp: int, token: str) -> None:
        request = m.ListOffsetsRequest
        part = request.ListOffsetsPartition(
            partition_index=index,
            current_leader_epoch=self.routes.epochs[self.topic, index],
            timestamp=timestamp,
        )
        topic = request.ListOffsetsTopic(name=self.topic, partitions=[part])
        body = request(replica_id=-1, topics=[topic])
        connection = f"{token}-{index}"
        self.outbox.send(leader, (token, index), body, REQUEST_TIMEOUT_US, connection=connection)

    def _looked(self, index: int, body: Answered) -> None:
        position = self.positions[index]
        asked_us, position.looking_since_us = position.looking_since_us, -1
        answer = _offset_in(body)
        if answer is not None and answer.error_code == Errors.NONE:
            self.outbox.trace(f"{_HERE}.Consumer", "latest", f"{self.topic}-{index}",
                              offset=answer.offset, asked_us=asked_us,
                              epoch=position.looking_in_epoch)  # fmt: skip

    def _was_reset(self, now: int, index: int, body: Answered) -> None:
        position = self.positions[index]
        position.fetching = False
        answer = _offset_in(body)
        if answer is None or answer.error_code != Errors.NONE:
            self._find_leader(now, index)
            return
        position.offset = answer.offset
        self.operations.append(Seek(now, self.name, self.topic, index, answer.offset))

    def _find_leader(self, now: int, index: int) -> None:
        self.routes.leaders[self.topic, index] = -1
        self.routes.ask_later(now)


class _Aborted:
    """The aborted transactions of one answer: from its first offset on, a producer's batches are
    dropped until its abort marker."""

    def __init__(self, begins: list[tuple[int, int]]) -> None:
        self.begins = begins
        self.dropped: dict[int, None] = {}

    @classmethod
    def of(cls, named: list[m.FetchResponse.AbortedTransaction] | None) -> _Aborted:
        return cls(sorted((each.first_offset, each.producer_id) for each in named or ()))

    def drops(self, header: BatchHeader) -> bool:
        while self.begins and self.begins[0][0] <= header.last_offset:
            self.dropped[self.begins.pop(0)[1]] = None
        return header.is_transactional and header.producer_id in self.dropped

    def over(self, header: BatchHeader, records: list[Record]) -> None:
        if records and control.control_type(records[0]) is ControlType.ABORT:
            self.dropped.pop(header.producer_id, None)


def _offset_in(body: Answered) -> m.ListOffsetsResponse.ListOffsetsPartitionResponse | None:
    """The one partition of an answer; None if there was no answer."""
    return body.topics[0].partitions[0] if isinstance(body, m.ListOffsetsResponse) else None
