"""`kafkalab grade PATH…`."""

from __future__ import annotations

import argparse
import os
import signal
import threading
from pathlib import Path


def arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "paths",
        nargs="+",
        type=Path,
        metavar="PATH",
        help="submitted notebooks, folders of them, zip archives",
    )
    command.add_argument("--out", type=Path, default=Path("grades"), help="folder for the reports")
    command.add_argument(
        "--notebook",
        default="",
        metavar="NN",
        help="mark as this notebook; else each file is the notebook that its cells are",
    )
    command.add_argument(
        "--roster", type=Path, metavar="CSV", help="the class: names or ids; says who is missing"
    )
    command.add_argument(
        "--jobs",
        type=_at_least_one,
        default=max(1, (os.cpu_count() or 2) // 2),
        metavar="N",
        help="submissions run at once (default: half the cores)",
    )
    command.add_argument(
        "--time-limit", type=_at_least_one, default=300, metavar="S", help="per submission"
    )
    command.add_argument(
        "--again", action="store_true", help="mark files again that the folder has reports of"
    )
    command.add_argument(
        "--spark",
        action="store_true",
        help="run them as Spark tasks, on all cores of SPARK_MASTER (default: of this machine)",
    )
    command.add_argument(
        "--no-sandbox", action="store_true", help="run learners' code with your own rights"
    )


def _at_least_one(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError("give a whole number, 1 or more")
    return int(text)


def run(chosen: argparse.Namespace) -> int:
    from kit.grading import grade

    # A service manager's SIGTERM ends a run as an interrupt does: with the pages of the class.
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    return grade(
        chosen.paths,
        chosen.out,
        time_limit_s=chosen.time_limit,
        sandboxed=not chosen.no_sandbox,
        notebook=chosen.notebook,
        roster=chosen.roster,
        jobs=chosen.jobs,
        again=chosen.again,
        spark=chosen.spark,
    )
