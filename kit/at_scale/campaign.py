"""A campaign of fault schedules as Spark tasks: the outcomes that `--jobs` gives, in a table too.

A seed decides all of its schedule, so it does not matter which task plays it, or how often.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.sim.campaign import campaign
from engine.sim.campaign.play import Outcome
from kit.at_scale import tables, tasks
from kit.at_scale.tasks import Done

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = (
    "run string, seed bigint, light boolean, groups boolean, transactions boolean, "
    "violation string, elections int, truncations int, deletions int, events bigint, "
    "acknowledged bigint, losses int, rebalances int, committed int, aborted int, faults int, "
    "cpu_s double, seconds double, started_s double, task int, attempt int, worker string"
)
TASKS_PER_CORE = 16
MOST_PER_TASK = 8
"""Schedules: so little is lost with a task that fails, and progress shows."""
Kind = tuple[bool, bool, bool]
"""Whether schedules are light, with groups, with transactions."""


def outcomes(started: SparkSession, seeds: range, kind: Kind, out: Path) -> Iterator[Outcome]:
    """Each seed's outcome, as tasks end; at the end, the table and the page in `out`.

    Raises RuntimeError with a sentence if Spark gives a task up.
    """
    cores = started.sparkContext.defaultParallelism
    per_task = max(1, min(MOST_PER_TASK, len(seeds) // (cores * TASKS_PER_CORE)))
    finished: list[Done[Outcome]] = []
    for done in tasks.spread(
        started, [(seed, kind) for seed in seeds], play_on_worker, per_task=per_task
    ):
        finished.append(done)
        yield done.value
    write(started, finished, kind, out)


def play_on_worker(item: tuple[int, Kind]) -> Outcome:
    """One schedule, in a Python worker of Spark."""
    seed, (light, groups, transactions) = item
    return campaign.run_one(seed, light, groups, transactions)


def write(started: SparkSession, finished: Sequence[Done[Outcome]], kind: Kind, out: Path) -> None:
    """Adds a row per schedule to the table `schedules`, and draws `campaign.html`."""
    from kit.at_scale import campaign_page

    ordered = sorted(finished, key=lambda done: done.index)
    run = datetime.now(UTC).isoformat(timespec="seconds")
    out.mkdir(parents=True, exist_ok=True)
    tables.append(started, [_row(run, kind, done) for done in ordered], SCHEMA, out, "schedules")
    page = campaign_page.page(ordered, str(started.sparkContext.master))
    (out / "campaign.html").write_text(page, encoding="utf-8")


def _row(run: str, kind: Kind, done: Done[Outcome]) -> tuple[Any, ...]:
    played = done.value
    counts = (played.elections, played.truncations, played.deletions, played.events)
    more = (played.rebalances, played.committed, played.aborted, len(played.tape))
    times = (played.seconds, done.seconds, done.started_s)
    head = (run, played.setup.seed, *kind, played.violation or None, *counts)
    where = (*times, done.task, done.attempt, done.worker)
    return (*head, played.acknowledged, len(played.losses), *more, *where)
