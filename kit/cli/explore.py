"""`kafkalab explore`."""

from __future__ import annotations

import argparse

LAST_RUNG = "kip-320"


def arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("--rule", help="a rung of the ladder (kip-320)")
    command.add_argument("--replicas", type=int, default=3, help="2, 3 or 4 (3)")
    command.add_argument(
        "--replay", action="store_true", help="break the rule in the engine's code, then the next"
    )
    command.add_argument("--all", action="store_true", help="every rule, with 2 and 3 replicas")
    command.add_argument(
        "--consensus",
        action="store_true",
        help="the other ladder: electing a leader and committing; all its rules, or one",
    )


def run(chosen: argparse.Namespace) -> int:
    from kit.cli.part import part

    if chosen.consensus:
        part("kit.cli.explorations", "print_consensus")(chosen.rule, chosen.replay)
    elif chosen.all:
        print(part("kit.cli.explorations", "ladder_table")())
    elif chosen.replay:
        part("kit.cli.explorations", "print_replay")(chosen.rule or LAST_RUNG)
    else:
        part("kit.cli.explorations", "print_exploration")(chosen.rule or LAST_RUNG, chosen.replicas)
    return 0
