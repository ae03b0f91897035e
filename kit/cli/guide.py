"""`kafkalab guide [NUMBER …] [--out FILE]`."""

from __future__ import annotations

import argparse
from pathlib import Path


def arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("lesson", nargs="*", help="a notebook's number or a lab's; default: all")
    command.add_argument("--out", type=Path, default=Path("guide.html"), help="default: guide.html")


def run(chosen: argparse.Namespace) -> int:
    from kit import guide

    print(
        f"{guide.write(chosen.lesson, chosen.out)}: open it in a browser, and print it from there"
    )
    return 0
