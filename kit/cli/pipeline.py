"""`kafkalab pipeline --lab L1|fleet --source engine|local|docker`."""

from __future__ import annotations

import argparse
import os
import sys
from importlib.util import find_spec

LABS = {"L1": "labs.L1_telemetry_pipeline.pipeline", "fleet": "labs.pipeline.command"}


def arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--lab",
        choices=LABS,
        default="L1",
        help="the first lab's pipeline, or the fleet's in Delta",
    )
    command.add_argument("--source", choices=["engine", "local", "docker"], default="engine")
    command.add_argument("--events", type=int, default=20_000, help="records to write")
    command.add_argument("--seed", type=int, default=7)
    command.add_argument(
        "--kill", action="store_true", help="fleet: kill a broker and the driver on the way"
    )


def run(chosen: argparse.Namespace) -> int:
    from kit.cli.part import PartMissing

    module = LABS[chosen.lab]
    if find_spec(module) is None:
        raise PartMissing(
            "The lab's pipeline is not part of this copy of the course; run: git pull"
        )
    # The lab imports the kit, and the kit must not import the lab: so run it instead.
    options = ["--source", chosen.source, "--events", str(chosen.events)]
    if chosen.kill and chosen.lab != "fleet":
        raise PartMissing("--kill is for the fleet's pipeline: give --lab fleet, too")
    options += ["--kill"] if chosen.kill else []
    command = [sys.executable, "-m", module, *options, "--seed", str(chosen.seed)]
    sys.stdout.flush()
    os.execv(sys.executable, command)
