"""A Spark driver in a process of its own, so that one notebook can compare masters.

A kernel has one session, and a session has one master.  To run the same work on `local[1]`,
`local[2]` and a standalone cluster, each gets a driver:

    with Driver("local[2]", "labs.pipeline.scaling:minutes") as driver:
        driver.run(table="/path")            # what minutes(spark, table="/path") returns
        driver.run(table="/path")            # again, now with a warm JVM

The work is a function of a module, named as text; it gets the session and plain arguments, and
returns plain data.  The driver ends with the block, or when this process ends.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib import import_module
from typing import Any

from kit.course import PROJECT
from kit.spark import MASTER_VARIABLE, SparkMissing, temporary


class DriverFailed(RuntimeError):
    """The work raised an error, or the driver's process ended; the message says which."""


class Driver:
    """The kernel's end; `work` is `module:function`."""

    def __init__(self, master: str, work: str) -> None:
        self.master = master
        self._log = temporary("driver") / "log"
        paths = [str(PROJECT), os.environ.get("PYTHONPATH", "")]
        environment = {MASTER_VARIABLE: master, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
        with self._log.open("wb") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "kit.spark_driver", work],
                env=os.environ | environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                start_new_session=True,  # an interrupted cell must not stop its JVM
            )

    def run(self, **arguments: Any) -> Any:
        """Does the work once; DriverFailed with its error's last line if it raises one."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(arguments) + "\n")
            self._process.stdin.flush()
            answer = json.loads(self._process.stdout.readline())
        except (BrokenPipeError, ValueError):
            raise DriverFailed(f"The driver on {self.master} ended: {self._last_words()}") from None
        if "error" in answer:
            raise DriverFailed(f"The driver on {self.master} says: {answer['error']}")
        return answer["result"]

    def close(self) -> None:
        """Ends the driver, and with it its executors."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        if self._process.stdout is not None:
            self._process.stdout.close()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def __enter__(self) -> Driver:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _last_words(self) -> str:
        self._process.wait(20)
        lines = self._log.read_text(errors="replace").strip().splitlines()
        return lines[-1][:300] if lines else "it said nothing"


def main(work: str) -> int:
    """The driver's end: a line of arguments in, a line with the result out, until the end."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the work prints is no answer
    from kit.spark import session

    module, function = work.split(":")
    try:
        do = getattr(import_module(module), function)
        spark = session(f"driver of {function}")
    except (SparkMissing, ImportError, AttributeError) as error:
        print(error, file=sys.stderr)
        return 1
    for line in sys.stdin:
        try:
            answer = {"result": do(spark, **json.loads(line))}
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {str(error).strip()[:300]}"}
        print(json.dumps(answer), file=answers, flush=True)
    spark.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
