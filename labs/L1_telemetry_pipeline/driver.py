"""Starts a notebook's query in a process of its own, so that the process can be killed.

    job = driver.start(start_bronze, eng.bootstrap, "positions", table, checkpoint)
    job.wait_for(Path(checkpoint, "offsets", "1"))
    job.kill()

The process has its own Python and its own JVM, with its own Spark session, as a job that
`spark-submit` starts.  The function is the notebook's: it gets the session and the arguments, and
returns a streaming query.  `kill` is SIGKILL to both, Python and the JVM: nothing is flushed,
nothing is closed, and no task ends in order.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kit import spark
from kit.crashes import shipping

WAIT_S = 120


class JobEnded(RuntimeError):
    """The job ended, or did not come as far as it was awaited; the message says what it said."""


@dataclass(frozen=True, slots=True)
class Job:
    """A running process, and the file to which it writes."""

    process: subprocess.Popen[bytes]
    log: Path

    def wait_for(self, file: Path, timeout_s: float = WAIT_S) -> None:
        """Returns at most some milliseconds after `file` is there; JobEnded if it never is."""
        end = time.monotonic() + timeout_s
        while not file.exists():
            if self.process.poll() is not None:
                raise JobEnded(f"The job ended by itself: {self._said()}")
            if time.monotonic() > end:
                self.kill()
                raise JobEnded(f"The job did not write {file.name} within {timeout_s:.0f} seconds.")
            time.sleep(0.005)

    def kill(self) -> None:
        """SIGKILL to the driver and its JVM; returns when both are gone."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def _said(self) -> str:
        lines = self.log.read_text(errors="replace").strip().splitlines()
        return lines[-1][:300] if lines else "it said nothing"


def start(query: Callable[..., Any], *arguments: Any) -> Job:
    """Runs `query(session, *arguments)` in a new process."""
    log = spark.temporary("job") / "job.log"
    # Here, and not on a cluster: the notebook's session may hold every core of the cluster.
    environment = os.environ | {spark.MASTER_VARIABLE: "local[2]"}
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", __name__],
            stdin=subprocess.PIPE, stdout=output, stderr=subprocess.STDOUT,
            env=environment, start_new_session=True,
        )  # fmt: skip
    assert process.stdin is not None
    # The pipe stays open: when this kernel ends, it closes, and the job ends, too.
    process.stdin.write(pickle.dumps((shipping.pack(query), arguments)))  # type: ignore[arg-type]
    process.stdin.flush()
    return Job(process, log)


def main() -> int:
    """The job's side: one query, until it ends or the notebook's kernel does."""
    parcel, arguments = pickle.load(sys.stdin.buffer)
    threading.Thread(target=_end_with_the_kernel, daemon=True).start()
    session = spark.session("job")
    shipping.unpack(parcel)(session, *arguments).awaitTermination()
    return 0


def _end_with_the_kernel() -> None:
    sys.stdin.buffer.read()
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(main())
