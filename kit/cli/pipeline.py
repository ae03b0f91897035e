"""`kafkalab pipeline --source engine|local|docker`: the fleet from its topics to gold."""

from __future__ import annotations

import argparse
from pathlib import Path


def arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("--source", choices=["engine", "local", "docker"], default="engine")
    command.add_argument("--events", type=int, default=20_000, help="records of all three topics")
    command.add_argument("--seed", type=int, default=7)
    command.add_argument(
        "--kill", action="store_true", help="kill a broker and the driver on the way"
    )
    command.add_argument(
        "--format", choices=["delta", "parquet"], default="", help="by default, what is there"
    )
    command.add_argument(
        "--dashboard",
        type=Path,
        metavar="FILE.html",
        help="draw the run as a page; FILE.txt says the same as text",
    )


def run(chosen: argparse.Namespace) -> int:
    from labs.pipeline.command import run

    return run(chosen)
