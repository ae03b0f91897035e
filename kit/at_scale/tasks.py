"""Spreads a list of work over Spark tasks and hands back each result as its task ends.

    for done in tasks.spread(items, work):
        done.value       # what work(item) returned, once for each item
        done.attempt     # 0, or more where Spark had to try again

Items are dealt in the order given, a task each or `per_task` of them: a free core takes the next
task, so the longest should come first.  What `spread` yields comes through an accumulator, which
Spark adds to once for each task that succeeded.  A task that fails, or whose Python worker dies, is
tried again; what it had done by then is dropped and does not count twice.
"""

from __future__ import annotations

import os
import re
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from kit import spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Item = TypeVar("Item")
Value = TypeVar("Value")

ATTEMPTS = 4
"""Of a task, as in Spark's clusters; plain `local[N]` gives a task only one."""
LOOK_S = 0.1
FOR_WORKERS = ("KAFKALAB_COURSE", "XDG_CACHE_HOME")
"""What a worker must know of the environment of the command."""


class TaskLost(RuntimeError):
    """A task failed as often as Spark tries; the sentence has its last error."""


class SessionLost(RuntimeError):
    """Spark's JVM has ended in the middle of the work."""


@dataclass(frozen=True, slots=True)
class Done(Generic[Value]):
    """One item's result, and where and when it was made."""

    index: int
    """Of the item, in the order given."""
    value: Value
    task: int
    attempt: int
    worker: str
    """The Python process that did it: its machine's name and its number."""
    started_s: float
    """Since the epoch, by the worker's clock."""
    seconds: float


def session() -> SparkSession:
    """The session of `kit.spark`, with retries on a local master too.  Raises SparkMissing."""
    chosen = spark.master()
    os.environ[spark.MASTER_VARIABLE] = with_attempts(chosen)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    return spark.session("kafkalab at scale")


def with_attempts(master: str) -> str:
    """`local[2]` -> `local[2,4]`; any other master is left as it is."""
    plain = re.fullmatch(r"local(?:\[(\d+|\*)\])?", master)
    return f"local[{plain[1] or 1},{ATTEMPTS}]" if plain else master


def spread(
    started: SparkSession,
    items: Sequence[Item],
    work: Callable[[Item], Value],
    *,
    per_task: int = 1,
) -> Iterator[Done[Value]]:
    """The result of each item, in the order in which tasks end.

    `work` and the items travel to the workers, so both must be picklable by name.  If the caller
    stops early, so do the tasks.  Raises TaskLost and SessionLost.
    """
    context = started.sparkContext
    job = f"kafkalab-{time.monotonic_ns()}"
    results: Any = context.accumulator([], cast(Any, _Lists()))
    environment = {name: os.environ[name] for name in FOR_WORKERS if name in os.environ}
    slices = [list(enumerate(items))[at : at + per_task] for at in range(0, len(items), per_task)]
    failure: list[BaseException] = []

    def run() -> None:
        context.setJobGroup(job, "kafkalab", interruptOnCancel=True)
        try:
            dealt = context.parallelize(slices, max(1, len(slices)))
            dealt.foreach(_Task(work, environment, results))
        except BaseException as error:
            failure.append(error)

    waiting = threading.Thread(target=run, daemon=True)
    waiting.start()
    told = 0
    try:
        while True:
            running = waiting.is_alive()
            there = results.value
            while told < len(there):
                told += 1
                yield there[told - 1]
            if not running and told == len(results.value):
                break
            waiting.join(LOOK_S)
    finally:
        if waiting.is_alive():
            context.cancelJobGroup(job)
    if failure and not _lives(context):
        raise SessionLost("Spark has ended in the middle of the work; run the command again.")
    if failure:
        raise TaskLost(_sentence(failure[0])) from None


def _lives(context: Any) -> bool:
    """Whether the JVM still answers."""
    try:
        return not context._jsc.sc().isStopped()
    except Exception:
        return False


@dataclass(frozen=True, slots=True)
class _Lists:
    """How an accumulator adds lists: a task's list goes to the end."""

    def zero(self, value: list) -> list:
        return []

    def addInPlace(self, value: list, more: list) -> list:
        value.extend(more)
        return value


@dataclass(frozen=True, slots=True)
class _Task:
    """What a worker does with its slice of the items."""

    work: Callable[[Any], Any]
    environment: dict[str, str]
    results: Any

    def __call__(self, items: Iterable[tuple[int, Any]]) -> None:
        from pyspark import TaskContext

        os.environ.update(self.environment)
        context = TaskContext.get()
        assert context is not None
        worker = f"{socket.gethostname()}:{os.getpid()}"
        for index, item in items:
            started_s, began = time.time(), time.monotonic()
            value = self.work(item)
            seconds = time.monotonic() - began
            task, attempt = context.partitionId(), context.attemptNumber()
            self.results.add([Done(index, value, task, attempt, worker, started_s, seconds)])


def _sentence(error: BaseException) -> str:
    """The last error of the task that Spark gave up, out of a page of Java's stack."""
    said = str(error).partition("Driver stacktrace")[0]
    errors = re.findall(r"^[\w.]+: .+|(?<=SparkException: )Python worker.+", said, re.MULTILINE)
    last = errors[-1].strip() if errors else "no reason given"
    return f"A Spark task failed {ATTEMPTS} times, so the run stopped ({last[:300]})."
