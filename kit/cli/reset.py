"""`kafkalab reset [ID]`: forgets progress, after asking."""

from __future__ import annotations

import argparse


def arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("what", nargs="?", default="", help="06-2, or 06, or nothing for all")
    command.add_argument("--yes", action="store_true", help="do not ask")


def run(chosen: argparse.Namespace) -> int:
    from kit.exercises import reset

    if not chosen.what and not chosen.yes:
        try:
            agreed = input("Forget the progress of every notebook? [y/N] ")
        except EOFError:
            agreed = ""
        if agreed.strip().lower() not in ("y", "yes"):
            print("Nothing was forgotten.")
            return 1
    print(reset(chosen.what))
    return 0
