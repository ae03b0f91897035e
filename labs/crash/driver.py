"""The process that is killed: Spark's driver, with one query for each sink.

    python -m labs.crash.driver --bootstrap HOST:PORT --folder DIRECTORY --point after-sink

The queries start one after the other.  Each runs until it stops at the point, in the chosen
micro-batch.  When all have stopped, the process sends SIGKILL to its whole process group: to
itself, and to its JVM.  Nothing is closed, flushed or rolled back.  Started again without
`--point`, it lets every query go on to its end.

On `local[*]` the tasks run in the driver's JVM, so an executor cannot die alone.  For the point
`executor` the master is `local-cluster`: a JVM of its own runs the tasks, and only that one is
killed.  `SPARK_MASTER` names another cluster, whose executors must be processes of this machine.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from kit import spark, spark_cluster
from labs.crash.debugger import Debugger
from labs.crash.payments import Feed
from labs.crash.points import EXECUTOR, IN_SINK, POINTS, TASKS, Point, Watch
from labs.crash.sinks import SINKS, Half, Place, no_pause

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

STANDS_S = 300.0
ENDS_S = 300.0
THREADS = TASKS * (len(SINKS) + 1)
"""Tasks that are held keep their threads, so there must be enough for the queries after them."""


class CrashFailed(RuntimeError):
    """A query ended, or did not come to the point; the message says which."""


def main(argv: list[str]) -> int:
    """0 when all queries have ended.  With a point of the driver's, SIGKILL comes first."""
    parser = argparse.ArgumentParser(prog="python -m labs.crash.driver")
    parser.add_argument("--bootstrap", required=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--feed", default=Feed().topic, help="the topic to read")
    parser.add_argument("--point", choices=POINTS, help="where to kill; without it, go on")
    parser.add_argument("--batch", type=int, default=1, help="in which micro-batch")
    parser.add_argument("--sinks", default=",".join(SINKS))
    chosen = parser.parse_args(argv)
    try:
        run(chosen)
    except (CrashFailed, spark.SparkMissing) as problem:
        print(problem, file=sys.stderr)
        return 1
    return 0


def run(chosen: argparse.Namespace) -> None:
    point = POINTS.get(chosen.point)
    watch = Watch(point, chosen.batch) if point else None
    if point and watch:
        _prepare(point, watch)
    session = spark.session("crash lab")
    # A MERGE shuffles its rows: its tasks, too, are as many as the topic has partitions.
    session.conf.set("spark.sql.shuffle.partitions", TASKS)
    session.conf.set("spark.sql.adaptive.coalescePartitions.enabled", "false")
    payments = Feed(chosen.feed).stream(session, chosen.bootstrap)
    queries = []
    for name in chosen.sinks.split(","):
        pause = _pause(watch, chosen.batch) if watch and point == IN_SINK else None
        place = place_of(chosen.folder, chosen.bootstrap, name, pause)
        if watch:
            watch.begin(SINKS[name].tasks_write)
        query = SINKS[name].start(payments, place)
        queries.append(query)
        if watch:
            tell(name, _stands(watch, query))
    if point == EXECUTOR:
        tell("killed", f"executor {_kill_executor()}")
    elif point:
        tell("killed", f"driver {os.getpid()} and its JVM")
        os.killpg(os.getpid(), signal.SIGKILL)
    for query in queries:
        ends(query)


def place_of(folder: Path, bootstrap: str, sink: str, pause: Half | None = None) -> Place:
    """Where a sink's query of this crash has its files; the output topic has the folder's name."""
    return Place(folder / sink, bootstrap, f"{folder.name}.{sink}", pause or no_pause)


def tell(*what: str) -> None:
    print(json.dumps(what), flush=True)


def _prepare(point: Point, watch: Watch) -> None:
    """Before the JVM starts: its options, and its master."""
    if os.getpgrp() != os.getpid():
        raise CrashFailed("This process kills its whole group: start it in a session of its own.")
    agent = Debugger(point.methods, watch.stay).agent
    # Executors have the agent as well, where there are any.
    os.environ["SPARK_SUBMIT_OPTS"] = f"{agent} -Dspark.executor.extraJavaOptions={agent}"
    if point != EXECUTOR:
        os.environ[spark.MASTER_VARIABLE] = f"local[{THREADS}]"
    elif spark.master().startswith("local["):
        os.environ[spark.MASTER_VARIABLE] = f"local-cluster[1,{THREADS},1024]"


def _pause(watch: Watch, batch: int) -> Callable[[int], None]:
    """The transactional producer writes in the driver's Python: it stops in this function."""

    def half(number: int) -> None:
        if number == batch:
            watch.stood_at("half of the records sent, transaction open")
            threading.Event().wait()

    return half


def _stands(watch: Watch, query: StreamingQuery) -> str:
    deadline = time.monotonic() + STANDS_S
    while not (where := watch.stands(0.1)):
        if not query.isActive or time.monotonic() > deadline:
            raise CrashFailed(f"{query.name} did not come to the point: {_reason(query)}")
    return where


def ends(query: StreamingQuery) -> None:
    """Waits for the query to end; raises CrashFailed if it fails, or does not end."""
    if not query.awaitTermination(int(ENDS_S)):
        raise CrashFailed(f"{query.name} did not end in {ENDS_S:.0f} s.")
    if query.exception():
        raise CrashFailed(f"{query.name} stopped: {_reason(query)}")


def _reason(query: StreamingQuery) -> str:
    """The last line of the first paragraph: after a traceback of Python, the error itself."""
    without = "it still runs" if query.isActive else "it ended"
    paragraph = str(query.exception() or without).strip().split("\n\n")[0]
    return paragraph.splitlines()[-1][:300]


def _kill_executor() -> int:
    """SIGKILL to the JVM that runs the tasks; returns its process id."""
    application = str(spark.session().sparkContext.applicationId)
    for process in psutil.process_iter():
        if spark_cluster.is_executor(process, application):
            process.kill()
            return process.pid
    raise CrashFailed("No executor's process was found on this machine.")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
