"""The whole table, sink by crash point, made by runs.

    python -m labs.crash.table                      # on the engine, with seed 7
    python -m labs.crash.table --source local --seed 11 --write results.json

Six drivers run and are killed, one for each point, with a query for every sink.  Then one session
lets all of the queries go on, and every reader counts.  The lab shows `table.json`, which
`--write` made; a test runs some cells again and compares.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from kit import places, spark
from kit.clusters.interface import Cluster
from kit.tables import Table
from labs.crash.driver import CrashFailed
from labs.crash.payments import Count, Feed
from labs.crash.points import POINTS, Point
from labs.crash.sinks import READERS
from labs.crash.trial import Trial

WRITTEN = Path(__file__).with_name("table.json")
_COLUMNS = {
    "before-offsets": "before offsets",
    "after-offsets": "after offsets",
    "in-sink": "in the sink",
    "after-sink": "after the sink",
    "after-commits": "after commits",
    "executor": "executor",
}


@dataclass(frozen=True, slots=True)
class Results:
    """Counts by reader and crash point."""

    seed: int
    batch: int
    cells: Mapping[str, Mapping[str, Count]]

    def table(self) -> Table:
        rows = [
            [reader, *(str(by_point.get(point, "")) for point in _COLUMNS)]
            for reader, by_point in self.cells.items()
        ]
        produced = next(iter(next(iter(self.cells.values())).values())).produced
        closing = f"{produced} events; seed {self.seed}; killed in micro-batch {self.batch}"
        return Table("Sink × crash point", ["sink", *_COLUMNS.values()], rows, closing)

    def repeats(self, reader: str) -> list[str]:
        """The points at which this reader finds rows twice."""
        return [_COLUMNS[at] for at, found in self.cells[reader].items() if found.repeated]

    def losses(self, reader: str) -> list[str]:
        """The points at which this reader misses rows."""
        return [_COLUMNS[at] for at, found in self.cells[reader].items() if found.lost]

    def __repr__(self) -> str:
        return repr(self.table())

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()

    def text(self) -> str:
        """For `read`."""
        cells = {
            reader: {point: asdict(count) for point, count in by_point.items()}
            for reader, by_point in self.cells.items()
        }
        whole = {"seed": self.seed, "batch": self.batch, "cells": cells}
        return json.dumps(whole, indent=1) + "\n"


def read(file: Path = WRITTEN) -> Results:
    """The table that an earlier run has written."""
    whole = json.loads(file.read_text())
    cells = {
        reader: {point: Count(**numbers) for point, numbers in by_point.items()}
        for reader, by_point in whole["cells"].items()
    }
    return Results(whole["seed"], whole["batch"], cells)


def made(cluster: Cluster, feed: Feed, folder: Path, points: Iterable[Point]) -> Results:
    """Runs everything; prints a line for each crash."""
    feed.create(cluster)
    feed.produce(cluster)
    trials = [
        Trial(cluster, feed, folder / f"{folder.name}.{point.name}", point) for point in points
    ]
    for trial in trials:
        began = time.monotonic()
        crash = trial.crash()
        took = time.monotonic() - began
        print(f"{trial.point.title}: {crash.killed}, status {crash.status}, {took:.0f} s")
        sys.stdout.flush()
    began = time.monotonic()
    session = spark.session("crash table")
    cells: dict[str, dict[str, Count]] = {reader.title: {} for reader in READERS}
    for trial in trials:
        trial.go_on(session)
        for reader, found in trial.counts(session).items():
            cells[reader][trial.point.name] = found
    print(f"gone on and counted: {time.monotonic() - began:.0f} s")
    return Results(feed.seed, trials[0].batch, cells)


def main(argv: list[str]) -> int:
    """0 when the table is made; 1 with a sentence otherwise."""
    parser = argparse.ArgumentParser(prog="python -m labs.crash.table")
    parser.add_argument("--source", choices=["engine", "local", "docker"], default="engine")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--points", default=",".join(POINTS), help="some of: %(default)s")
    parser.add_argument("--write", type=Path, help="write the table to this file, too")
    chosen = parser.parse_args(argv)
    names = chosen.points.split(",")
    if unknown := sorted(set(names) - POINTS.keys()):
        print(f"There is no point {unknown[0]}; give some of {', '.join(POINTS)}", file=sys.stderr)
        return 1
    from kit import lab

    folder = Path(tempfile.mkdtemp(prefix="crash-", dir=places.temporary_area()))
    feed = Feed(topic=f"{folder.name}.payments", seed=chosen.seed)
    try:
        points = [POINTS[name] for name in names]
        results = made(getattr(lab, chosen.source)(), feed, folder, points)
    except (CrashFailed, spark.SparkMissing, RuntimeError) as problem:
        print(problem, file=sys.stderr)
        return 1
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(results)
    if chosen.write:
        chosen.write.write_text(results.text())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
