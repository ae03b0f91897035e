"""The whole table, sink by crash point, made by runs.

    python -m labs.crash.table                      # on the engine, with seed 7
    python -m labs.crash.table --source local --seed 11 --write results.json

Six drivers run and are killed, one for each point, with a query for every sink.  Then one session
lets all of the queries go on, and every reader counts.  The lab shows `table.json`, which
`--write` made.  A test runs some cells again and compares; another one fails when the code is no
longer the one that made the file.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from pathlib import Path

from kit import places, spark
from kit.clusters.interface import Cluster
from labs.crash.payments import Count, Feed
from labs.crash.points import POINTS
from labs.crash.results import Results
from labs.crash.sinks import READERS
from labs.crash.trial import Trial


def made(cluster: Cluster, feed: Feed, folder: Path) -> Results:
    """Runs everything; prints a line for each crash."""
    feed.create(cluster)
    feed.produce(cluster)
    trials = [
        Trial(cluster, feed, folder / f"{folder.name}.{point.name}", point)
        for point in POINTS.values()
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
    parser.add_argument("--write", type=Path, help="write the table to this file, too")
    chosen = parser.parse_args(argv)
    from kit import lab

    folder = Path(tempfile.mkdtemp(prefix="crash-", dir=places.temporary_area()))
    feed = Feed(topic=f"{folder.name}.payments", seed=chosen.seed)
    try:
        results = made(getattr(lab, chosen.source)(), feed, folder)
        print(results)
        if chosen.write:
            chosen.write.write_text(results.text())
    except (RuntimeError, ValueError) as problem:
        print(problem, file=sys.stderr)
        return 1
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
