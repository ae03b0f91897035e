"""Writes on their way: appended to the log, not known to be replicated yet.

    store    the records are in the leader's log: a Write waits at the end of the line
    settle   the high watermark has passed its end: it takes effect, those who wait hear NONE
    late     time was up: those who wait hear an error, but the records are in the log and
             take effect when the high watermark passes them after all
    failed   this broker no longer leads: the waiting clients learn it, the shard is gone

So an error does not say that nothing was stored.  Clients ask again, and what they store
twice must do no harm.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from engine.events import Stored
from engine.wire.errors import Errors

Record = TypeVar("Record")

_APPEND_ANSWERS = {
    Errors.UNKNOWN_TOPIC_OR_PARTITION: Errors.COORDINATOR_NOT_AVAILABLE,
    Errors.NOT_ENOUGH_REPLICAS: Errors.COORDINATOR_NOT_AVAILABLE,
    Errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND: Errors.COORDINATOR_NOT_AVAILABLE,
    Errors.REQUEST_TIMED_OUT: Errors.COORDINATOR_NOT_AVAILABLE,
    Errors.NOT_LEADER_OR_FOLLOWER: Errors.NOT_COORDINATOR,
    Errors.FENCED_LEADER_EPOCH: Errors.NOT_COORDINATOR,
    Errors.KAFKA_STORAGE_ERROR: Errors.NOT_COORDINATOR,
    Errors.MESSAGE_TOO_LARGE: Errors.UNKNOWN_SERVER_ERROR,
    Errors.RECORD_LIST_TOO_LARGE: Errors.UNKNOWN_SERVER_ERROR,
    Errors.INVALID_FETCH_SIZE: Errors.UNKNOWN_SERVER_ERROR,
}

_STILL_IN_THE_LOG = (Errors.REQUEST_TIMED_OUT, Errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND)


def append_answer(error: Errors) -> Errors:
    """What a failed append means to a client, which talks to a coordinator."""
    return _APPEND_ANSWERS.get(error, error)


class Owner(Protocol[Record]):
    """The shard that a write belongs to."""

    writes: deque[Write[Record]]

    def settle(self, now: int) -> bool: ...


@dataclass(slots=True, eq=False)
class Write(Generic[Record]):
    """Records on their way; `end` is the log end behind them, `late` that time was up."""

    shard: Owner[Record]
    end: int
    records: list[Record]
    waiting: list[Stored]
    late: bool = False

    def stored(self, now: int, error: Errors) -> None:
        """It is replicated, and with it all before it; or time was up, or it failed.

        A shard that has resigned has no writes any more.
        """
        if error is Errors.NONE:
            self.shard.settle(now)
        elif self in self.shard.writes:
            self.late = error in _STILL_IN_THE_LOG
            if not self.late:
                self.shard.writes.remove(self)
            self.finish(now, append_answer(error))

    def finish(self, now: int, error: Errors) -> None:
        """Tells those who wait, once."""
        waiting, self.waiting = self.waiting, []
        for each in waiting:
            each.stored(now, error)
