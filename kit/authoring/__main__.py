"""`python -m kit.authoring build [FILE…]` writes notebooks, `students` the learners' alone and
runs nothing, `check` compares them and holds them against the template, `coverage` writes into
the map which sides their runs reached.  `new 05 the-control-plane` begins a lesson."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from kit.authoring import coverage, rules
from kit.authoring.begin import CannotBegin, begin
from kit.authoring.build import BuildFailed, build, drift, write_student
from kit.authoring.sources import BadSource
from kit.course import PROJECT, source_files


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m kit.authoring", description=__doc__)
    parser.add_argument("command", choices=["build", "students", "check", "coverage", "new"])
    parser.add_argument("sources", nargs="*", type=Path, help="default: every source")
    arguments = parser.parse_args()
    if arguments.command == "new":
        return _new(*map(str, arguments.sources))
    sources = [path.resolve() for path in arguments.sources] or source_files()
    if arguments.command == "coverage":
        print(f"{coverage.write_sides()} rows of {coverage.MAP.name} changed")
        return 0
    failed = False
    for source in sources:
        try:
            failed |= COMMANDS[arguments.command](source)
        except (BadSource, BuildFailed) as failure:
            print(failure, file=sys.stderr)
            failed = True
    return int(failed)


def _new(number: str = "", *words: str) -> int:
    try:
        written = begin(PROJECT, number, "-".join(words))
    except CannotBegin as problem:
        print(problem, file=sys.stderr)
        return 1
    for path in written:
        print(path.relative_to(PROJECT))
    source = next(path for path in written if path.parent.name == "source").relative_to(PROJECT)
    print(f"Build it: KAFKALAB_REAL=local python -m kit.authoring build {source}")
    print("Then: kafkalab guide --write-plans")
    return 0


def _build(source: Path) -> bool:
    started = time.monotonic()
    for path in build(source):
        shown = path.relative_to(PROJECT) if path.is_relative_to(PROJECT) else path
        print(f"{shown}  {path.stat().st_size // 1000} KB")
    print(f"{source.name} took {time.monotonic() - started:.1f} s")
    for line in rules.faults(rules.read(source)):
        print(f"  {line}")
    return False


def _check(source: Path) -> bool:
    differences = drift(source) + rules.faults(rules.read(source))
    for line in differences:
        print(line, file=sys.stderr)
    return bool(differences)


def _students(source: Path) -> bool:
    write_student(source)
    return False


COMMANDS = {"build": _build, "students": _students, "check": _check}


if __name__ == "__main__":
    raise SystemExit(main())
