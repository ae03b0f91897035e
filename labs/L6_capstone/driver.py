"""A pipeline's driver: a process of its own, which SIGKILL ends at a named moment.

    python -m labs.L6_capstone.driver PARCEL BOOTSTRAP FOLDER

PARCEL is the learner's `pipeline(spark, bootstrap, folder)` (kit.crashes.shipping).  For each line
on its standard input, a moment or nothing, the process calls the pipeline once and answers with
a line of JSON: what the tables hold, or the error.

A micro-batch that ends in `foreachBatch` has two moments that matter here: before its function,
and after it.  The JVM notes the micro-batch as done only when the function has returned, so a
SIGKILL at the second moment leaves what a power cut would: the sink has the rows, the
checkpoint does not know.  The function is wrapped; the pipeline's code stays as it is.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

BEFORE, AFTER = "before the sink", "after the sink"
MOMENTS = ("", BEFORE, AFTER)


def main(argv: list[str]) -> int:
    parcel, bootstrap, folder = argv
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what the pipeline prints is no answer
    from kit import spark
    from kit.crashes import shipping
    from labs.L6_capstone import contract

    session = spark.session("capstone")
    pipeline: Callable[..., object] = shipping.unpack(Path(parcel).read_bytes())
    due = [""]
    _wrap_sinks(due)
    print(json.dumps({"ready": True}), file=answers)
    for line in sys.stdin:
        due[0] = line.strip()
        try:
            pipeline(session, bootstrap, folder)
            answer = {"tables": contract.tables(session, folder), "not reached": due[0]}
        except Exception as problem:
            answer = {"error": f"{type(problem).__name__}: {str(problem).splitlines()[0][:300]}"}
        finally:
            for query in session.streams.active:
                query.stop()
        print(json.dumps(answer), file=answers)
    return 0


def _wrap_sinks(due: list[str]) -> None:
    """Every `foreachBatch` of this process dies at the moment that is due."""
    from pyspark.sql.streaming.readwriter import DataStreamWriter

    plain = DataStreamWriter.foreachBatch

    def with_moments(self: Any, function: Callable[[Any, int], object]) -> Any:
        def write(batch: Any, number: int) -> None:
            if due[0] == BEFORE:
                _die(batch)
            function(batch, number)
            if due[0] == AFTER:
                _die(batch)

        return plain(self, write)

    DataStreamWriter.foreachBatch = with_moments  # type: ignore[method-assign, assignment]


def _die(batch: Any) -> None:
    """SIGKILL for the JVM, then for this process."""
    jvm = batch.sparkSession.sparkContext._jvm.ProcessHandle.current().pid()
    os.kill(int(jvm), signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
