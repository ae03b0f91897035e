r"""Appends that wait until every in-sync replica has them: acks=all.

    appended ----> the high watermark passes it ---------> NONE
             \---> and the ISR is too small by then -----> NOT_ENOUGH_REPLICAS_AFTER_APPEND
             \---> this broker no longer leads ----------> NOT_LEADER_OR_FOLLOWER
             \---> time is up ---------------------------> REQUEST_TIMED_OUT

Whether this broker led all the time is not asked: each change of leader is reported to it
(engine/broker/broker.py), and what waits fails at the first.  None of the three refusals says
that the records are lost: they are in this log, and may be in the next leader's.

A producer waits in engine/api/produce/delayed_produce.py, a coordinator of this broker here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from engine.events import Stored
from engine.replication.fetch_sessions import FetchedPartition
from engine.replication.hosted import HostedPartitions, Key
from engine.wire.errors import Errors, KafkaError


@dataclass(slots=True)
class PendingAppend:
    """One partition of a waiting append: done once the high watermark reaches `required`."""

    key: Key
    required: int
    error: Errors = Errors.REQUEST_TIMED_OUT
    done: bool = False

    def judge(self, hosted: HostedPartitions) -> bool:
        """Finds out whether the wait is over, and how it ended."""
        if self.done:
            return True
        try:
            partition = hosted.leading(*self.key)
            if partition.high_watermark < self.required:
                return False
            enough = len(partition.isr.maximal) >= partition.min_in_sync_replicas
            self.error = Errors.NONE if enough else Errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND
        except KafkaError as error:
            self.error = error.code
        self.done = True
        return True


class Coordinator(Protocol):
    """A part of this broker that keeps its state in an internal topic."""

    def on_leader(self, now: int, partition_index: int) -> None: ...

    def on_resign(self, now: int, partition_index: int) -> None: ...


@dataclass(slots=True, eq=False)
class DelayedAppend:
    """A coordinator's append."""

    hosted: HostedPartitions
    then: Stored
    pending: PendingAppend

    def try_complete(self, now: int, moved: FetchedPartition | None = None) -> bool:
        if not self.pending.judge(self.hosted):
            return False
        self.expire(now)
        return True

    def expire(self, now: int) -> None:
        self.then.stored(now, self.pending.error)
