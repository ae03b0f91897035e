"""A simulated client that deletes: DeleteRecords, now and then, on every partition (KIP-107).

As Kafka Streams does with its repartition topics, it moves the log start forward.  Streams
deletes only what has been read; this client also deletes unread records, so that the log start
overtakes readers.
"""

from __future__ import annotations

from engine.api.delete_records import UP_TO_HIGH_WATERMARK
from engine.events import Answered, Effect, Event, Expired, Outbox, Response
from engine.sim.clients.clients import REQUEST_TIMEOUT_US, Routes
from engine.wire import messages as m
from engine.wire.errors import Errors

STEP = 17
"""Records per deletion; a short log may have fewer, and then it is refused."""


class Trimmer:
    """Every `period_us` it deletes from all partitions: some records, each third time all."""

    def __init__(
        self,
        name: str,
        topic: str,
        partitions: int,
        brokers: tuple[int, ...],
        period_us: int = 700_000,
    ) -> None:
        self.name = name
        self.topic = topic
        self.period_us = period_us
        self.outbox = Outbox()
        self.routes = Routes(self.outbox, brokers)
        self.turn = 0
        self.finished = False
        self.log_starts = dict.fromkeys(range(partitions), 0)

    def start(self, now: int) -> list[Effect]:
        self.routes.ask(self.topic)
        self.outbox.set_timer(("trim",), now + self.period_us)
        return self.outbox.drain()

    def finish(self, now: int) -> list[Effect]:
        """Stops deleting."""
        self.finished = True
        return self.outbox.drain()

    def step(self, now: int, event: Event) -> list[Effect]:
        match event:
            case Expired(("trim",)) if not self.finished:
                self.turn += 1
                for index in self.log_starts:
                    self._trim(now, index)
                self.outbox.set_timer(("trim",), now + self.period_us)
            case Expired(("retry",)):
                self.routes.ask(self.topic)
            case Response(_, ("metadata",), body):
                self.routes.learn(now, body)
            case Response(_, ("trim", index), body):
                self._answered(now, index, body)
        return self.outbox.drain()

    def _trim(self, now: int, index: int) -> None:
        leader = self.routes.leaders.get((self.topic, index), -1)
        if leader < 0:
            self.routes.ask_later(now)
            return
        offset = UP_TO_HIGH_WATERMARK if self.turn % 3 == 0 else self.log_starts[index] + STEP
        request = m.DeleteRecordsRequest
        part = request.DeleteRecordsPartition(partition_index=index, offset=offset)
        topic = request.DeleteRecordsTopic(name=self.topic, partitions=[part])
        body = request(topics=[topic], timeout_ms=2_000)
        connection = f"partition-{index}"
        self.outbox.send(leader, ("trim", index), body, REQUEST_TIMEOUT_US, connection=connection)

    def _answered(self, now: int, index: int, body: Answered) -> None:
        topics = body.topics if isinstance(body, m.DeleteRecordsResponse) else ()
        answer = topics[0].partitions[0] if topics else None
        if answer is not None and answer.error_code == Errors.NONE:
            self.log_starts[index] = answer.low_watermark
        elif answer is None or answer.error_code != Errors.OFFSET_OUT_OF_RANGE:
            self.routes.leaders[self.topic, index] = -1
            self.routes.ask_later(now)
