"""A Produce with acks=all, waiting until the in-sync replicas have what it brought."""

from __future__ import annotations

from dataclasses import dataclass

from engine.api.produce.answers import Part, produce_answer
from engine.events import Outbox, Request
from engine.replication.delayed_append import PendingAppend
from engine.replication.hosted import HostedPartitions
from engine.wire import messages as m
from engine.wire.errors import Errors


@dataclass(slots=True, eq=False)
class DelayedProduce:
    """`waiting` holds what was appended, each with its part of the `answer`."""

    hosted: HostedPartitions
    outbox: Outbox
    request: Request[m.ProduceRequest]
    answer: m.ProduceResponse
    waiting: list[tuple[PendingAppend, Part]]

    def try_complete(self, now: int) -> bool:
        finished = True
        for pending, _ in self.waiting:
            finished = pending.judge(self.hosted) and finished
        if finished:
            self.expire(now)
        return finished

    def expire(self, now: int) -> None:
        for pending, part in self.waiting:
            part.error_code = pending.error
            if pending.error != Errors.NONE:
                part.base_offset = -1
        self.outbox.reply(self.request, produce_answer(self.hosted, self.request, self.answer))
