"""`kafkalab explore`."""

from __future__ import annotations

import argparse


def arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("--rule", default="kip-320", help="a rung of the ladder (kip-320)")
    command.add_argument("--replicas", type=int, default=3, help="2, 3 or 4 (3)")
    command.add_argument(
        "--replay", action="store_true", help="break the rule in the brokers' code, then the next"
    )
    command.add_argument("--all", action="store_true", help="every rule, with 2 and 3 replicas")


def run(chosen: argparse.Namespace) -> int:
    from kit.cli.part import part

    if chosen.all:
        print(part("kit.cli.explorations", "ladder_table")())
    elif chosen.replay:
        part("kit.cli.explorations", "print_replay")(chosen.rule)
    else:
        part("kit.cli.explorations", "print_exploration")(chosen.rule, chosen.replicas)
    return 0
