"""`kafkalab pipeline --source engine|local|docker`: the fleet from its topics to gold."""

from __future__ import annotations

import argparse
import os
import sys
from importlib.util import find_spec

MODULE = "labs.pipeline.command"


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
        "--dashboard", metavar="FILE.html", help="draw the run as a page, or write FILE.txt"
    )


def run(chosen: argparse.Namespace) -> int:
    from kit.cli.part import PartMissing

    if find_spec(MODULE) is None:
        raise PartMissing(
            "The pipeline is not part of this copy of the course; run: kafkalab update"
        )
    # The pipeline imports the kit, and the kit must not import the labs: so run it instead.
    options = ["--source", chosen.source, "--events", str(chosen.events)]
    options += ["--seed", str(chosen.seed), *(["--kill"] if chosen.kill else [])]
    options += ["--format", chosen.format] if chosen.format else []
    options += ["--dashboard", chosen.dashboard] if chosen.dashboard else []
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, "-m", MODULE, *options])
