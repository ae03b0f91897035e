"""`kafkalab pipeline --source engine|local|docker`."""

from __future__ import annotations

import argparse
import os
import sys
from importlib.util import find_spec

LAB = "labs.L1_telemetry_pipeline.pipeline"


def arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("--source", choices=["engine", "local", "docker"], default="engine")
    command.add_argument("--events", type=int, default=20_000, help="truck positions to write")
    command.add_argument("--seed", type=int, default=7)


def run(chosen: argparse.Namespace) -> int:
    from kit.cli.part import PartMissing

    if find_spec(LAB) is None:
        raise PartMissing(
            "The lab's pipeline is not part of this copy of the course; run: git pull"
        )
    # The lab imports the kit, and the kit must not import the lab: so run it instead.
    options = ["--source", chosen.source, "--events", str(chosen.events)]
    command = [sys.executable, "-m", LAB, *options, "--seed", str(chosen.seed)]
    sys.stdout.flush()
    os.execv(sys.executable, command)
