"""A class of sixty marked through Spark, on two cores and on one; and by the local run.

`kafkalab bench grading` runs `kafkalab grade --spark` as a command of its own for each master, so
both times hold everything: Python, the JVM, the session, the tasks, the table and the page.  The
local run with two jobs is timed beside them.  All must write the same reports, or nothing is timed.

It takes about ten minutes, so it does not run with the other parts, and it has one round.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from kit.bench import synthetic_class
from kit.course import PROJECT
from kit.spark import MASTER_VARIABLE

NOTEBOOK = "00"
SUBMISSIONS = 60
MOST_RATIO = 0.7
OF_ONE_RUN = ("times.csv", "spark.html", ".lock")
"""What holds times, so that two runs differ in it."""


def measure(
    rounds: int = 1, submissions: int = SUBMISSIONS, notebook: str = NOTEBOOK
) -> list[dict[str, Any]]:
    """A row for two cores beside one, and one for Spark beside `--jobs 2`, in seconds.

    RuntimeError if the reports differ.
    """
    with tempfile.TemporaryDirectory(prefix="kafkalab-bench-") as folder:
        area = Path(folder)
        synthetic_class.hand_in(area / "class", notebook, submissions)
        one_s = _graded(area, "one", "local[1]")
        two_s = _graded(area, "two", "local[2]")
        jobs_s = _graded(area, "jobs", "")
        for other in ("one", "jobs"):
            if found := differences(area / "two", area / other):
                raise RuntimeError(f"The reports differ, so nothing is timed: {found[:5]}")
    return [
        _row(f"grade {submissions} on Spark, 2 cores beside 1", two_s, one_s, MOST_RATIO),
        _row(f"grade {submissions}, Spark on 2 cores beside --jobs 2", two_s, jobs_s, None),
    ]


def differences(one: Path, other: Path) -> list[str]:
    """The reports that are not the same in both folders, by name; times and tables aside."""
    sides = [
        {
            str(file.relative_to(folder)): file.read_bytes()
            for file in folder.rglob("*")
            if file.is_file()
            and file.name not in OF_ONE_RUN
            and not file.relative_to(folder).parts[0].startswith("marks.")
        }
        for folder in (one, other)
    ]
    names = sorted(sides[0].keys() | sides[1].keys())
    return [name for name in names if sides[0].get(name) != sides[1].get(name)]


def _graded(area: Path, name: str, master: str) -> float:
    """Seconds of one command.  Without a master it is the local run."""
    command = [sys.executable, "-m", "kit.cli", "grade", str(area / "class")]
    command += ["--out", str(area / name), *(["--spark"] if master else ["--jobs", "2"])]
    environment = {**os.environ, MASTER_VARIABLE: master} if master else None
    began = time.perf_counter()
    done = subprocess.run(
        command, env=environment, cwd=PROJECT, capture_output=True, encoding="utf-8"
    )
    if done.returncode:
        last = (done.stderr.strip() or done.stdout.strip() or "no reason given").splitlines()[-1]
        raise RuntimeError(f"kafkalab grade ended with {done.returncode}: {last}")
    return time.perf_counter() - began


def _row(name: str, ours: float, theirs: float, most: float | None) -> dict[str, Any]:
    ratio = ours / theirs
    return {
        "name": name,
        "unit": "s",
        "ours": round(ours, 1),
        "theirs": round(theirs, 1),
        "ratio": round(ratio, 3),
        "budget": f"≤ {most}" if most else "same reports",
        "holds": most is None or ratio <= most,
    }
