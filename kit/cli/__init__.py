"""The command line: `kafkalab COMMAND`.

One small module per command: its arguments, and the part of the kit that does the work.
A part is imported when its command runs, so that `kafkalab --help` is fast and a missing
part disables only its own command.
"""

from __future__ import annotations

import argparse
import os
import sys
from importlib import import_module

COMMANDS = {
    "doctor": "what is installed, what is missing, what that costs, how to fix it",
    "up": "start a cluster that all notebooks share: engine, local, docker or spark",
    "down": "end the shared clusters; with --all those of open notebooks, too",
    "status": "the clusters that are up",
    "lab": "open the course in JupyterLab",
    "progress": "what you have solved",
    "hint": "the next hint for an exercise",
    "update": "a new version of the course, with your work in it",
    "reset": "forget one exercise, one notebook, or all progress",
    "coverage": "which concepts of the sources have a cell",
    "fidelity": "where the engine differs from Kafka",
    "bench": "measure the engine beside a real Kafka",
    "case": "play a case from Kafka's history under the old rule and the new",
    "guide": "gather the lessons' facilitator pages into one document that prints",
    "release": "the course as archives to hand out: student, solution and clean editions",
    "bundle": "wheels, jars, image and release in one folder, for a room without a network",
    "grade": "mark submitted notebooks in a sandbox",
    "report": "sum up the marks of a course",
    "present": "the Cluster panel on a projector, one scene at a time, faults by remote",
    "workshop": "a page that shows who of a class is stuck where; off unless you open it",
    "join": "take part in a workshop's page",
    "campaign": "break simulated clusters by the thousand; nothing acknowledged may be lost",
    "explore": "search the truncation ladder for its shortest failures",
    "pipeline": "take a fleet's topics to gold with Spark, each number beside the truth",
}


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="kafkalab", description="Kafka Inside Out: the lab.")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, text in COMMANDS.items():
        module = import_module(f"kit.cli.{name}")
        command = commands.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
        module.arguments(command)
        command.set_defaults(run=module.run)
    return top


def main(arguments: list[str] | None = None) -> int:
    """Runs one command; an error becomes one sentence and a status of 1."""
    chosen = parser().parse_args(arguments)
    try:
        status = int(chosen.run(chosen) or 0)
        sys.stdout.flush()  # a broken pipe is caught here, not at exit
        return status
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (RuntimeError, OSError, ImportError) as problem:
        if os.environ.get("KAFKALAB_DEBUG"):
            raise
        print(f"kafkalab {chosen.command}: {problem}", file=sys.stderr)
        return 1
