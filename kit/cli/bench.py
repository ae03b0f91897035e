"""`kafkalab bench`."""

from __future__ import annotations

import argparse


def arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("--json", metavar="FILE", help="write the rows here")
    command.add_argument("--rounds", type=int, default=3, help="alternating rounds per row")
    command.add_argument("rows", nargs="*", help="names of rows; default: all")


def run(chosen: argparse.Namespace) -> int:
    from kit.cli.part import part

    main = part("kit.bench", "main")
    options = ["--json", chosen.json] if chosen.json else []
    return int(main([*options, "--rounds", str(chosen.rounds), *chosen.rows]) or 0)
