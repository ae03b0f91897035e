"""Runs a pipeline as a service: waves of records come in, and the driver may die.

    morning = service.waves(Fleet(events=1_200, orders=0), 4)
    with service.Driver(pipeline, eng) as driver:
        for number, wave in enumerate(morning, 1):
            service.write(eng, wave)
            driver.run(kill=AFTER if number == 2 else "")
        driver.tables

A dead driver is started again, with the same folder, by the next `run`.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any

from kit import jars, places
from kit.clusters.reaper import Reaper
from kit.crashes import shipping
from kit.spark import SparkMissing
from labs.fleet.records import Fleet, Record, records
from labs.fleet.writer import write as write_records
from labs.L6_capstone import contract
from labs.L6_capstone.driver import AFTER, BEFORE, MOMENTS

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter

    from kit.clusters.interface import Cluster

__all__ = [
    "AFTER", "BEFORE", "Day", "Driver", "Sample", "error_of", "one_micro_batch", "send",
    "waves", "write",
]  # fmt: skip


class DriverFailed(RuntimeError):
    """The pipeline raised an exception, or its process ended by itself; the message says which."""


def waves(fleet: Fleet, number: int) -> list[list[Record]]:
    """The fleet's records in the order of their arrival, in waves of (nearly) one length."""
    if not 1 <= number <= fleet.events:
        raise ValueError(f"{number} waves of {fleet.events} records: take from 1 to that many")
    every = list(records(fleet))
    ends = [len(every) * n // number for n in range(number + 1)]
    return [every[start:end] for start, end in pairwise(ends)]


def write(
    cluster: Cluster, wave: Sequence[Record], halfway: Callable[[], object] | None = None
) -> int:
    """Produces a wave with acks=all; returns how many records were acknowledged.

    `halfway` is called when half of them are on their way.
    """
    at = {max(1, len(wave) // 2): halfway} if halfway else {}
    return write_records(cluster, wave, at=at)


def send(cluster: Cluster, topic: str, numbers: Iterable[int]) -> None:
    """Produces the numbers as records of partition 0, with acks=all."""
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
    for number in numbers:
        producer.produce(topic, str(number), partition=0)
    if left := producer.flush(30):
        raise RuntimeError(f"The cluster did not take {left} records in 30 s.")


class Driver:
    """The pipeline in a process of its own; `folder` outlives the process."""

    def __init__(
        self, pipeline: FunctionType, cluster: Cluster, folder: str | Path | None = None
    ) -> None:
        if not jars.DELTA.installed():
            raise SparkMissing("The contract asks for Delta tables: run: make setup")
        self._cluster = cluster
        self._reaper = Reaper.start()
        area = Path(tempfile.mkdtemp(prefix="capstone-", dir=places.temporary_area()))
        self._reaper.own(str(area))
        self.folder = Path(folder) if folder else area / "pipeline"
        self.folder.mkdir(parents=True, exist_ok=True)
        self._parcel = area / "parcel"
        self._parcel.write_bytes(shipping.pack(pipeline))
        self._log = area / "driver.log"
        self._process: subprocess.Popen[str] | None = None
        self.tables: dict[str, Any] = dict.fromkeys(contract.COLUMNS)
        """What the tables held after the last run that came to its end."""
        self.starts = 0

    def __enter__(self) -> Driver:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process:
            self._process.kill()
            self._process.wait()
        self._reaper.end()

    def run(self, kill: str = "") -> bool:
        """Calls the pipeline once; False if the driver was killed on the way.

        `kill` is a moment: BEFORE or AFTER the sink.  Raises DriverFailed if the pipeline did.
        """
        if kill not in MOMENTS:
            raise ValueError(f"{kill!r} is no moment: take one of {', '.join(map(repr, MOMENTS))}")
        process = self._process or self._start()
        assert process.stdin is not None
        process.stdin.write(kill + "\n")
        process.stdin.flush()
        answer = self._answer(process)
        if answer is None:
            self._process = None
            if process.wait() == -9 and kill:
                return False
            raise DriverFailed(f"The driver ended with {process.returncode}: {self._last_line()}")
        if "error" in answer:
            raise DriverFailed(f"The pipeline raised {answer['error']}")
        if answer["not reached"]:
            raise DriverFailed(f"No foreachBatch ran, so the driver did not die {kill}.")
        self.tables = answer["tables"]
        return True

    def tried(self, kill: str = "") -> bool:
        """The same for a pipeline that may have errors: they are printed, and the day goes on."""
        try:
            return self.run(kill)
        except DriverFailed as problem:
            print(problem)
            return True

    def _start(self) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "labs.L6_capstone.driver", str(self._parcel)]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [*command, self._cluster.bootstrap, str(self.folder)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True,
                start_new_session=True,
            )  # fmt: skip
        self.starts += 1
        if self._answer(self._process) is None:
            status, self._process = self._process.wait(), None
            raise DriverFailed(f"The driver ended with {status}: {self._last_line()}")
        return self._process

    def _answer(self, process: subprocess.Popen[str]) -> dict[str, Any] | None:
        assert process.stdout is not None
        line = process.stdout.readline()
        return json.loads(line) if line.endswith("\n") else None

    def _last_line(self) -> str:
        lines = self._log.read_text(errors="replace").strip().splitlines()
        return lines[-1][:300] if lines else "it said nothing"


@dataclass(frozen=True, slots=True)
class Sample:
    """One look at the service, after a wave."""

    wave: int
    readable: int
    """Positions that were acknowledged until now and can be read, each once."""
    counted: int
    """Positions that `minutes` counts."""
    note: str = ""

    def is_good(self, freshness: float) -> bool:
        return self.readable * freshness <= self.counted <= self.readable


@dataclass(slots=True)
class Day:
    """Collects the samples of a run, and draws them."""

    freshness: float = 0.99
    """A sample is good if at least this share of the readable positions is counted."""
    objective: float = 0.8
    """The share of samples that must be good."""
    arrived: list[Record] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)

    def sample(self, wave: Sequence[Record], tables: contract.Found, note: str = "") -> Sample:
        self.arrived += wave
        truth = contract.promised(self.arrived)
        found = Sample(len(self.samples) + 1, truth.positions, contract.positions(tables), note)
        self.samples.append(found)
        return found

    @property
    def bad(self) -> list[int]:
        """The waves whose sample is bad."""
        return [s.wave for s in self.samples if not s.is_good(self.freshness)]

    @property
    def budget(self) -> float:
        """How many samples may be bad."""
        return (1 - self.objective) * len(self.samples)

    def breach(self, tables: contract.Found) -> contract.Breach | None:
        return contract.breach(tables, contract.promised(self.arrived))

    def __str__(self) -> str:
        left = self.budget - len(self.bad)
        return (
            f"{len(self.bad)} of {len(self.samples)} samples are bad; the objective of "
            f"{self.objective:.0%} allows {self.budget:.1f}, so {left:z.1f} samples are left"
        )

    def chart(self) -> Any:
        from kit.drawings.chart import Chart

        return Chart(
            "Positions after each wave",
            {
                "readable": [(s.wave, s.readable) for s in self.samples],
                "in the table": [(s.wave, s.counted) for s in self.samples],
            },
            x="wave",
            y=f"positions; {self}",
            marks={s.wave: s.note for s in self.samples if s.note},
        )


def one_micro_batch(writer: DataStreamWriter) -> int:
    """Starts the query, waits for one micro-batch, stops it; returns the records that it read.

    `writer` has a trigger with a long interval: its first micro-batch begins at once.
    """
    query = writer.start()
    try:
        while not query.recentProgress and query.isActive:
            query.awaitTermination(0.05)  # type: ignore[arg-type]
        return sum(int(progress["numInputRows"]) for progress in query.recentProgress)
    finally:
        query.stop()


def error_of(query: StreamingQuery) -> str:
    """Waits for the query's end; the reason that its error gives, or nothing."""
    from pyspark.errors import StreamingQueryException

    try:
        query.awaitTermination()
    except StreamingQueryException as problem:
        return _reason(problem)
    return ""


def _reason(problem: Any) -> str:
    """What the deepest cause says that gives a reason, or else its first line."""
    said = ""
    while problem is not None:
        said = str(problem)
        if named := re.search(r"Reason: (.+)", said):
            return named.group(1)
        problem = getattr(problem, "_cause", None)
    return said.strip().splitlines()[0]
