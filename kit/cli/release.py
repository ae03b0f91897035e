"""`kafkalab release [--out FOLDER]`."""

from __future__ import annotations

import argparse
from pathlib import Path


def arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("--out", type=Path, default=Path("dist"), help="folder; default: dist")
    command.add_argument(
        "--without-solutions",
        action="store_true",
        help="a graded edition in the student edition's place: no solutions, judges sealed",
    )


def run(chosen: argparse.Namespace) -> int:
    from kit.course import PROJECT
    from kit.release import archive

    commit = archive.read_commit(PROJECT)
    path = archive.write(commit, chosen.out, without_solutions=chosen.without_solutions)
    first = "graded" if chosen.without_solutions else "student"
    print(f"{path} holds the {first}, solution and clean editions of {commit.line}.")
    if changed := archive.changed_files(PROJECT):
        files = "1 file is" if changed == 1 else f"{changed} files are"
        print(f"{files} changed here and not committed: that is not in it.")
    return 0
