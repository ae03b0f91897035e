"""`kafkalab grade FILE…`."""

from __future__ import annotations

import argparse
from pathlib import Path


def arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("files", nargs="+", type=Path, metavar="FILE", help="submitted notebooks")
    command.add_argument("--out", type=Path, default=Path("grades"), help="folder for the reports")
    command.add_argument("--time-limit", type=int, default=300, metavar="S", help="per submission")
    command.add_argument(
        "--no-sandbox", action="store_true", help="run learners' code with your own rights"
    )


def run(chosen: argparse.Namespace) -> int:
    from kit.grading import grade

    return grade(
        chosen.files,
        chosen.out,
        time_limit_s=chosen.time_limit,
        sandboxed=not chosen.no_sandbox,
    )
