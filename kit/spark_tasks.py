"""What each task of a piece of Spark work did: its time, and the records that it read.

    with measured(spark) as work:
        frame.groupBy("truck").count().collect()
    work.stages[-1].records          # by task, the largest first: [4200, 610, 590, 600]

Spark's web pages show the same numbers under "Stages".  They come from Spark's status store, which
is there without the pages, too.  Stages that Spark skipped, because their shuffle files were there
already, are left out.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kit.drawings.chart import Chart

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_MOST = 10_000


@dataclass(frozen=True, slots=True)
class Task:
    """One task that ended well."""

    milliseconds: int
    records: int
    """Records that it read, from a source or from a shuffle."""


@dataclass(frozen=True, slots=True)
class Stage:
    """The tasks of one stage."""

    number: int
    tasks: tuple[Task, ...]

    @property
    def records(self) -> list[int]:
        """By task, the largest first."""
        return sorted((task.records for task in self.tasks), reverse=True)

    @property
    def milliseconds(self) -> list[int]:
        """By task, the longest first."""
        return sorted((task.milliseconds for task in self.tasks), reverse=True)

    @property
    def largest_share(self) -> float:
        """The part of the stage's records that its largest task read: 1/n is even."""
        return max(self.records, default=0) / max(1, sum(self.records))


@dataclass
class Work:
    """The stages of a block, in the order in which Spark numbered them."""

    stages: list[Stage] = field(default_factory=list)

    @property
    def reading(self) -> Stage:
        """The first stage: it reads the source."""
        return self.stages[0]

    @property
    def last(self) -> Stage:
        return self.stages[-1]


@contextmanager
def measured(spark: SparkSession) -> Iterator[Work]:
    """Measures the jobs that this thread starts inside the block."""
    work, group = Work(), f"measured-{uuid.uuid4()}"
    context = spark.sparkContext
    context.setJobGroup(group, "measured")
    try:
        yield work
    finally:
        context.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type]
        context.setLocalProperty("spark.job.description", None)  # type: ignore[arg-type]
    work.stages += _stages(context, group)


def records_by_task(title: str, works: dict[str, Stage]) -> Chart:
    """Bars: the records that each task of a stage read, the largest task first."""
    series = {
        name: [(float(place), float(count)) for place, count in enumerate(stage.records, 1)]
        for name, stage in works.items()
    }
    return Chart(title, series, x="task, the largest first", y="records", kind="bars")


def _stages(context: Any, group: str) -> list[Stage]:
    tracker, scala = context.statusTracker(), context._jsc.sc()
    scala.listenerBus().waitUntilEmpty()  # a task's end reaches the store a moment later
    store = scala.statusStore()
    numbers = set()
    for job in tracker.getJobIdsForGroup(group):
        info = tracker.getJobInfo(job)
        numbers |= set(info.stageIds) if info else set()
    found = []
    for number in sorted(numbers):
        listed = store.taskList(number, 0, _MOST)
        tasks = (_task(listed.apply(place)) for place in range(listed.size()))
        ended = tuple(task for task in tasks if task is not None)
        if ended:
            found.append(Stage(number, ended))
    return found


def _task(data: Any) -> Task | None:
    if data.status() != "SUCCESS" or not data.taskMetrics().isDefined():
        return None
    metrics = data.taskMetrics().get()
    records = metrics.inputMetrics().recordsRead() + metrics.shuffleReadMetrics().recordsRead()
    return Task(int(metrics.executorRunTime()), int(records))
