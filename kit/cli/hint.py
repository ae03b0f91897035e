"""`kafkalab hint ID`."""

from __future__ import annotations

import argparse


def arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("exercise", help="its id, such as 06-2")


def run(chosen: argparse.Namespace) -> int:
    from kit.exercises import hint

    card = hint(chosen.exercise)
    print(card)
    return 0 if card else 1
