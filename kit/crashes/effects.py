"""`process(record)`, as a loop gets it: the outside world, and what one application has done in it.

A payment, an e-mail, a row: it takes a few milliseconds and can fail, and a crash does not undo
it.  With an `idempotency_key` (payment services know them) a call with the key of an earlier one
is accepted and has no effect.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from confluent_kafka import KafkaException

from kit.crashes.journal import Journal
from kit.crashes.tape import Situation

LONGEST_WORK_S = 1.5
Line = Callable[[], int]
"""The line of the loop that is running now."""


class ServiceDown(Exception):
    """The outside world does not answer now; a later attempt may succeed."""


class Progress:
    """What one application has read and done so far."""

    def __init__(self, ends: Mapping[int, int]) -> None:
        self.ends = ends
        self.got = self.done = self.commits = 0
        self.positions: dict[int, int] = {}
        self.pending: dict[tuple[int, int], bool] = {}
        self.values: dict[str, tuple[int, int]] = {}
        """What has been read: value -> partition and offset."""
        self.in_hand = 0
        self.joined = False
        self.join_s = 0.0
        """How long joining took: from the first poll to the first assignment."""
        self.last_us = 0
        self.touch()

    def touch(self) -> None:
        self.last_us = time.monotonic_ns() // 1000

    @property
    def quiet_s(self) -> float:
        return (time.monotonic_ns() // 1000 - self.last_us) / 1e6

    @property
    def has_read_all(self) -> bool:
        """Whether nothing will come any more."""
        return self.joined and all(
            position >= self.ends.get(partition, 0)
            for partition, position in self.positions.items()
        )


class Effects:
    """`process`: the work on one record, and its effect."""

    def __init__(
        self, journal: Journal, progress: Progress, situation: Situation, line: Line
    ) -> None:
        self._journal, self._progress, self._situation = journal, progress, situation
        self._line = line

    def __call__(self, record: Any, idempotency_key: str | None = None) -> None:
        """Processes a record; raises ServiceDown if the outside world does not answer."""
        if not hasattr(record, "offset"):
            raise TypeError(f"process takes one record, and this is a {type(record).__name__}.")
        if record.error() is not None:
            raise KafkaException(record.error())
        partition, offset = record.partition(), record.offset()
        self._progress.in_hand += 1
        try:
            self._journal.note("start", partition, offset, threading.get_ident(), self._line())
            self._happen(partition, offset)
            self._progress.pending.pop((partition, offset), None)
            value = (record.value() or b"").decode(errors="replace")
            if idempotency_key is None:
                self._journal.note("done", partition, offset, value)
            elif not self._journal.note_once(
                f"key {idempotency_key}", "done", partition, offset, value
            ):
                self._journal.note("ignored", partition, offset)
            self._progress.done += 1
        finally:
            self._progress.in_hand -= 1
            self._progress.touch()

    def _happen(self, partition: int, offset: int) -> None:
        here = self._situation
        if (partition, offset) == (0, here.freezes) and self._journal.note_once(
            "freeze", "freeze", partition, offset
        ):
            os.kill(os.getpid(), signal.SIGSTOP)
        late = here.later_work_s and self._progress.done >= here.second_after
        work_s = max(here.later_work_s, self._progress.join_s / 2) if late else here.work_s
        time.sleep(min(work_s, LONGEST_WORK_S))
        if (partition, offset) == (0, here.fails) and self._journal.note_once(
            "failure", "failed", partition, offset
        ):
            self._progress.pending.pop((partition, offset), None)
            raise ServiceDown("the service that this record needs does not answer")
