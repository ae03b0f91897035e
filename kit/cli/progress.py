"""`kafkalab progress`."""

from __future__ import annotations

import argparse


def arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("--html", action="store_true", help="as an HTML table")


def run(chosen: argparse.Namespace) -> int:
    from kit.exercises import progress

    table = progress()
    print(table._repr_html_() if chosen.html else table)
    return 0
