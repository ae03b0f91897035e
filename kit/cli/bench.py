"""`kafkalab bench`."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path


def arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("--json", type=Path, metavar="FILE", help="write the rows here")
    command.add_argument("--rounds", type=int, default=3, help="alternating rounds per row")
    command.add_argument(
        "parts", nargs="*", help="what to measure; by default, all but what takes many minutes"
    )


def run(chosen: argparse.Namespace) -> int:
    from kit import bench
    from labs import bench as of_the_pipeline

    try:
        rows = bench.rows_of(chosen.parts, (bench, of_the_pipeline), chosen.rounds)
    except ValueError as problem:
        print(f"kafkalab bench: {problem}", file=sys.stderr)
        return 2
    if chosen.json:
        chosen.json.write_text(json.dumps(rows, indent=2) + "\n")
    print(bench.table(rows))
    return 0
