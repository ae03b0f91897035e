"""`kafkalab coverage`."""

from __future__ import annotations

import argparse


def arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("notebook", nargs="?", help="show the open rows of one notebook")


def run(chosen: argparse.Namespace) -> int:
    from kit.authoring.coverage import open_rows, state

    print(open_rows(chosen.notebook) if chosen.notebook else state())
    return 0
