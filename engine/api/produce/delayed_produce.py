"""A Produce with acks=all, waiting until the in-sync replicas have its batches.

The answer was written when the leader's log took the batch; the wait decides the error code alone.
After a timeout it therefore still tells the offsets: the records are there, and may stay.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.api.produce.answers import Part, produce_answer
from engine.events import Outbox, Request
from engine.replication.delayed_append import PendingAppend
from engine.replication.fetch_sessions import FetchedPartition
from engine.replication.hosted import HostedPartitions
from engine.wire import messages as m


@dataclass(slots=True, eq=False)
class DelayedProduce:
    """`waiting` holds what was appended, each with its part of the `answer`."""

    hosted: HostedPartitions
    outbox: Outbox
    request: Request[m.ProduceRequest]
    answer: m.ProduceResponse
    waiting: list[tuple[PendingAppend, Part]]

    def try_complete(self, now: int, moved: FetchedPartition | None = None) -> bool:
        finished = True
        for pending, _ in self.waiting:
            finished = pending.judge(self.hosted) and finished
        if finished:
            self.expire(now)
        return finished

    def expire(self, now: int) -> None:
        for pending, part in self.waiting:
            part.error_code = pending.error
        self.outbox.reply(self.request, produce_answer(self.hosted, self.request, self.answer))
