"""The points at which the crash lab kills, as methods of Spark 4.2, in the order of a micro-batch.

    constructNextBatch ── which offsets are next?
      markMicroBatchStart ── writes offsets/N        ◀ before offsets: stops at its first line
    runBatch                                         ◀ after offsets
      the sink: tasks, and then one commit           ◀ in the sink: two of four tasks are done
    markMicroBatchEnd ── writes commits/N            ◀ after the sink
    constructNextBatch ── the next one               ◀ after commits

`Watch` is what the debugger asks: does the thread that has come to a method stay there?  For most
points one method decides, at its n-th call of this query: the micro-batch N is its call N + 1.  In
the sink, tasks decide: each writes its part in a thread of its own, and the thread's name says
which.  On an executor, all tasks have written and stop before they tell the driver so.
"""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass

from labs.crash.debugger import Method, Stop

_EXECUTION = "org.apache.spark.sql.execution.streaming.runtime.MicroBatchExecution"
_NEXT = Method(_EXECUTION, "constructNextBatch")
_START = Method(_EXECUTION, "markMicroBatchStart")
_RUN = Method(_EXECUTION, "runBatch")
_END = Method(_EXECUTION, "markMicroBatchEnd")
WRITES = (
    Method("org.apache.spark.sql.execution.datasources.FileFormatWriter$", "executeTask"),
    Method("org.apache.spark.sql.delta.files.DeltaFileFormatWriter$", "executeTask"),
    Method("org.apache.spark.sql.execution.datasources.v2.DataWritingSparkTask$", "run"),
)
"""Where a task begins to write: files, Delta's files, and Kafka's records."""
_RESULT = Method("org.apache.spark.scheduler.ResultTask", "runTask")
"""Where a task begins whose rows go to the driver, for a sink that writes there."""
_REPORTS = (
    Method("org.apache.spark.scheduler.local.LocalSchedulerBackend", "statusUpdate"),
    Method("org.apache.spark.executor.CoarseGrainedExecutorBackend", "statusUpdate"),
)
"""A task's thread tells the driver of a new state: that it runs, and then that it is done."""
_TASK = re.compile(r"task (\d+)\.\d+ in stage .*\(TID (\d+)\)")
TASKS = 4
"""Tasks that write one micro-batch: the topic has as many partitions."""


@dataclass(frozen=True, slots=True)
class Point:
    """A crash point, by its name in commands."""

    name: str
    title: str
    method: Method | None
    """The driver's method at whose first line the query stops; None where tasks decide."""
    later: int = 0
    """How many calls after the micro-batch's own."""

    @property
    def methods(self) -> tuple[Method, ...]:
        """What the debugger has to watch."""
        return (self.method,) if self.method else (_RUN, *WRITES, _RESULT, *_REPORTS)


BEFORE_OFFSETS = Point("before-offsets", "before offsets", _START)
AFTER_OFFSETS = Point("after-offsets", "after offsets, before the sink", _RUN)
IN_SINK = Point("in-sink", "in the sink: half of the tasks done", None)
AFTER_SINK = Point("after-sink", "after the sink, before commits", _END)
AFTER_COMMITS = Point("after-commits", "after commits", _NEXT, later=1)
EXECUTOR = Point("executor", "an executor, its tasks written", None)
POINTS = {
    point.name: point
    for point in (
        BEFORE_OFFSETS, AFTER_OFFSETS, IN_SINK, AFTER_SINK, AFTER_COMMITS, EXECUTOR,
    )
}  # fmt: skip


class Watch:
    """Knows when the newest query has stopped at the point, in the chosen micro-batch."""

    def __init__(self, point: Point, batch: int) -> None:
        self._point = point
        self._batch = batch
        self._lock = threading.Lock()
        self._stood = threading.Event()
        self._where = ""
        self.begin()

    def begin(self, tasks_write: bool = True) -> None:
        """A query is about to start; those before it have stopped already, or have ended.

        If the tasks only read for a sink that writes in the driver, the sink's own code says that
        it has stopped in the middle (`stood_at`).  An executor holds the tasks that read.
        """
        with self._lock:
            reads = (_RESULT,) if self._point == EXECUTOR else ()
            self._begins = WRITES if tasks_write else reads
            self._calls = 0
            self._writing: set[str] = set()
            self._done: set[str] = set()
            self._held: dict[str, Stop] = {}
            self._stood.clear()

    def stands(self, timeout_s: float) -> str:
        """Waits until the query has stopped; returns where, "" if it has not come so far."""
        return self._where if self._stood.wait(timeout_s) else ""

    def stood_at(self, where: str) -> None:
        """The query has stopped there."""
        self._where = where
        self._stood.set()

    def stay(self, stop: Stop) -> bool:
        """The debugger's question."""
        with self._lock:
            if self._stood.is_set():
                return False
            if self._point.method:
                self._calls += 1
                if stays := self._calls == self._batch + 1 + self._point.later:
                    self.stood_at(f"{stop.method}, line {stop.line}")
                return stays
            return self._task_stays(stop)

    def _task_stays(self, stop: Stop) -> bool:
        if stop.method == _RUN:
            self._calls += 1
            return False
        task = _TASK.search(stop.thread)
        if task is None or self._calls != self._batch + 1:
            return False
        index, attempt = int(task[1]), task[2]
        on_executor = self._point == EXECUTOR
        if stop.method in self._begins:
            if not on_executor and index >= TASKS // 2:
                self._held[attempt] = stop
            else:
                self._writing.add(attempt)
        elif stop.method in _REPORTS and attempt in self._writing:
            if on_executor:
                self._held[attempt] = stop
            else:
                self._done.add(attempt)
        if len(self._held) + len(self._done) == TASKS:
            at = next(iter(self._held.values()))
            standing = f"{len(self._held)} of {TASKS} tasks at {at.method}, line {at.line}"
            self.stood_at(standing)
        return attempt in self._held
