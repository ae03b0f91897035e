"""One crash and what follows: a driver is killed, its queries go on, and readers count.

    trial = Trial(cluster, feed, folder, AFTER_SINK)
    trial.crash()         # a driver of its own, ended by SIGKILL
    trial.go_on(spark)    # the same queries, from the checkpoints that it left
    trial.counts(spark)   # rows that are lost or repeated, by reader

The driver runs under a reaper: if this process dies, the driver and its JVMs do, too.
"""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kit.clusters.reaper import Reaper
from kit.course import PROJECT
from kit.tables import Table
from labs.crash.driver import CrashFailed, ends, place_of
from labs.crash.payments import Count, Feed, count
from labs.crash.points import EXECUTOR, Point
from labs.crash.sinks import READERS, SINKS, Place

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kit.clusters.interface import Cluster

DRIVER_S = 900.0
"""A driver that takes longer hangs somewhere; it is killed."""
_AT_ONCE = 4
"""Queries that go on at the same time."""


@dataclass(frozen=True, slots=True)
class Crash:
    """Where each query was when the process was killed."""

    point: Point
    stood: dict[str, str]
    killed: str
    status: int
    """The driver's: -9 after SIGKILL, 0 if only an executor was killed."""

    def table(self) -> Table:
        rows = [[SINKS[name].title, where] for name, where in self.stood.items()]
        closing = f"SIGKILL: {self.killed}; the driver's exit status: {self.status}"
        return Table(f"Crash point: {self.point.title}", ["sink", "stood at"], rows, closing)

    def __repr__(self) -> str:
        return repr(self.table())

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()


@dataclass(frozen=True, slots=True)
class Trial:
    """Some sinks, and the point at which all of them are killed in micro-batch `batch`."""

    cluster: Cluster
    feed: Feed
    folder: Path
    """New; it gets a folder for each sink, and its name begins the output topics' names."""
    point: Point
    sinks: Sequence[str] = tuple(SINKS)
    batch: int = 1

    def place(self, sink: str) -> Place:
        return place_of(self.folder, self.cluster.bootstrap, sink)

    def crash(self) -> Crash:
        """Raises CrashFailed if a query did not come to the point."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for name in self.sinks:
            if SINKS[name].topic:
                self.cluster.create_topic(self.place(name).topic, partitions=self.feed.partitions)
        log = self.folder / "driver.log"
        status = self._drive(log)
        told = [json.loads(line) for line in log.read_text().splitlines() if line[:2] == '["']
        stood = {sink: where for sink, where in told if sink in SINKS}
        killed = [who for what, who in told if what == "killed"]
        expected = 0 if self.point == EXECUTOR else -signal.SIGKILL
        if status != expected or set(stood) != set(self.sinks) or not killed:
            said = log.read_text().strip().splitlines() or ["it said nothing"]
            raise CrashFailed(f"The crash lab's driver ended with {status}: {said[-1][:300]}")
        return Crash(self.point, stood, killed[-1], status)

    def go_on(self, session: SparkSession) -> None:
        """Starts every query again, with its checkpoint, and waits for its end.

        An executor's death ends no query, so there is nothing to do after it.
        """
        if self.point == EXECUTOR:
            return
        payments = self.feed.stream(session, self.cluster.bootstrap)

        def one(name: str) -> None:
            ends(SINKS[name].start(payments, self.place(name)))

        with ThreadPoolExecutor(_AT_ONCE) as pool:
            list(pool.map(one, self.sinks))

    def counts(self, session: SparkSession) -> dict[str, Count]:
        """By the reader's title: what it finds, beside the truth."""
        truth = self.feed.event_ids()
        return {
            reader.title: count(reader.event_ids(session, self.place(reader.sink)), truth)
            for reader in READERS
            if reader.sink in self.sinks
        }

    def _drive(self, log: Path) -> int:
        argv = [sys.executable, "-m", "labs.crash.driver", "--bootstrap", self.cluster.bootstrap]
        argv += ["--folder", str(self.folder), "--feed", self.feed.topic]
        argv += ["--point", self.point.name, "--batch", str(self.batch)]
        argv += ["--sinks", ",".join(self.sinks)]
        reaper = Reaper.start()
        try:
            driver = reaper.spawn(
                argv, name="driver", label="crash lab", log_path=str(log), cwd=str(PROJECT),
                grace_s=0,
            )  # fmt: skip
            return driver.wait(DRIVER_S)
        except TimeoutError:
            raise CrashFailed(f"The crash lab's driver took more than {DRIVER_S:.0f} s.") from None
        finally:
            reaper.end()
