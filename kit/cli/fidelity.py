"""`kafkalab fidelity`."""

from __future__ import annotations

import argparse


def arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("--write", action="store_true", help="write docs/fidelity.md")


def run(chosen: argparse.Namespace) -> int:
    from kit.cli.part import part

    return int(part("kit.fidelity", "main")(["--write"] if chosen.write else []) or 0)
