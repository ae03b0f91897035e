"""The purgatory: requests wait here until they can be answered.

A produce with acks=all waits for the high watermark; a fetch waits for enough bytes.
Each is an operation that watches some partitions.  Whenever one of them moves, the
operation checks whether it can complete; at its deadline it answers with what there is.

    watch ---> waiting --(a watched partition moved, and it is satisfied)--> answered
                      --(its deadline)------------------------------------> answered

A fetch in a session watches the session: it may have a thousand partitions, and names few.  It
hears which of them moved, and looks at that one: else a thousand that move one after the other, as
when a broker starts, would cost a million looks.

Each operation belongs to the room that creates it: DelayedProduce and DelayedFetch to their
APIs, DelayedAppend to the coordinators' appends.  Operations are plain objects, so that a
waiting request can be pickled with its broker.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from engine.events import Outbox
from engine.replication.fetch_sessions import FetchedPartition, FetchSessions

Key = tuple[str, int]
Watched = Key | int
"""A partition, or a fetch session by its id."""


@dataclass(frozen=True, slots=True)
class PurgatoryTimer:
    """Rings at an operation's deadline."""

    operation_id: int


class Operation(Protocol):
    """A request that waits."""

    def try_complete(self, now: int, moved: FetchedPartition | None = None) -> bool:
        """Answers if it can; False to go on waiting.

        Of what the operation waits for, only `moved` has moved since the last look; None if that is
        not known.
        """

    def expire(self, now: int) -> None:
        """Answers with what there is, at the deadline."""


class Purgatory:
    """Operations by id, and for each partition or session the ids that watch it."""

    def __init__(self, outbox: Outbox, sessions: FetchSessions) -> None:
        self.outbox = outbox
        self.sessions = sessions
        self.operations: dict[int, tuple[Operation, tuple[Watched, ...]]] = {}
        self.watchers: dict[Watched, dict[int, None]] = {}
        self.next_id = 0

    def try_or_wait(
        self, now: int, operation: Operation, keys: tuple[Watched, ...], wait_ms: int
    ) -> None:
        """Completes an operation, or keeps it until `check` can or `wait_ms` are over."""
        if operation.try_complete(now):
            return
        keys = tuple(dict.fromkeys(keys))  # a request may name a partition twice
        self.next_id += 1
        self.operations[self.next_id] = (operation, keys)
        for key in keys:
            self.watchers.setdefault(key, {})[self.next_id] = None
        self.outbox.set_timer(PurgatoryTimer(self.next_id), now + wait_ms * 1000)

    def check(self, now: int, key: Key) -> None:
        """Checks every operation that watches `key`, whose log, high watermark or role moved."""
        watching: dict[int, FetchedPartition | None] = dict.fromkeys(self.watchers.get(key, ()))
        for partition in self.sessions.readers.get(key, ()):
            if partition.session is not None:
                for each in self.watchers.get(partition.session.id, ()):
                    # A session may know a topic twice, by the id of a former one of that name.
                    watching[each] = None if each in watching else partition
        for operation_id in sorted(watching):
            waiting = self.operations.get(operation_id)
            if waiting is not None and waiting[0].try_complete(now, watching[operation_id]):
                self._remove(operation_id)
                self.outbox.cancel_timer(PurgatoryTimer(operation_id))

    def expire(self, now: int, operation_id: int) -> None:
        waiting = self.operations.get(operation_id)
        if waiting is not None:
            self._remove(operation_id)
            waiting[0].expire(now)

    def _remove(self, operation_id: int) -> None:
        _, keys = self.operations.pop(operation_id)
        for key in keys:
            watchers = self.watchers[key]
            watchers.pop(operation_id, None)
            if not watchers:
                del self.watchers[key]
