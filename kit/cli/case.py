"""`kafkalab case [NAME]`."""

from __future__ import annotations

import argparse
import shutil


def arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("name", nargs="?", help="such as kip-101-1; default: list all")
    command.add_argument("--seed", type=int, default=0, help="other latencies, the same story")
    command.add_argument("--trace", action="store_true", help="every line, with its time and rule")


def run(chosen: argparse.Namespace) -> int:
    from engine.sim.cases import CASES, play_case

    if chosen.name is None:
        width = max(map(len, CASES))
        for name, case in CASES.items():
            print(f"{name:{width}}  {case.title}")
        return 0
    try:
        played = play_case(chosen.name, chosen.seed)
    except ValueError as error:
        raise RuntimeError(error) from None
    print(played.side_by_side(max(90, shutil.get_terminal_size((130, 40)).columns)))
    for ending in (played.old, played.new) if chosen.trace else ():
        print(f"\n{ending.side.upper()}: {ending.words}")
        print("\n".join(ending.trace))
    return 0
