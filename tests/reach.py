"""Which tests marked `full` the changes since the last whole run reach.

    .ci/full-run.json      the commit of a `make test-all` that was green, and its seconds by test
    pytest -p tests.lanes --reached .ci/full-run.json
    python -m tests.reach report.xml > .ci/full-run.json      after `make test-all`, green

A test is reached by a change of

* a module that it names, over however many others: its own file and its conftest.py count as well,
  and a name is a name in a string, too, as in `[sys.executable, "-m", "engine"]`
* a file in the package of such a module that is no module itself: a style sheet, a tape, Java
* the lesson or lab whose number is in the test's name (`03` in `test_nbval.py::…[03]`), its
  notebooks, and what its source names
* the packages of the project's environment (`requirements*.lock`, `pyproject.toml`): all tests

A deep change reaches nearly everything, and everything takes longer than a run may.  Then the
quickest tests of each lane run, as many as BUDGET_S allows; `make test-all` runs all of them.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FLOORS = ("engine", "kit", "labs", "lessons", "tests")
DOTTED = re.compile(rf"\b(?:{'|'.join(FLOORS)})(?:\.\w+)+")
FROM = re.compile(rf"\bfrom ((?:{'|'.join(FLOORS)})[.\w]*) import (?:\(([^)]*)\)|(.*))")
STARTED = re.compile(r'"-m", "([.\w]+)"')
BUDGET_S = 600
"""Of a lane, by the seconds of the whole run."""
NOTED_S = 10.0
"""The seconds of quicker tests are not noted; they and new tests count as this."""
FOR_ALL = re.compile(r"requirements[\w-]*\.lock|pyproject\.toml")
NOTEBOOK = re.compile(r"notebooks/(?:solutions/)?(\d\d)-")


@dataclass(frozen=True)
class FullRun:
    """A `make test-all` that was green: its commit, and the seconds of the tests that take some."""

    commit: str
    seconds: Mapping[str, float]

    @classmethod
    def read(cls, file: Path) -> FullRun:
        return cls(**json.loads(file.read_text("utf-8")))

    def changes(self) -> set[str] | None:
        """Paths that differ from that commit; None where the history does not have it."""
        command = ["git", "diff", "--name-only", "--no-renames", self.commit, "--"]
        try:
            done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        except FileNotFoundError:
            return None
        return set(done.stdout.split()) if done.returncode == 0 else None


@cache
def named() -> dict[str, set[str]]:
    """Each module of the project and its tests, and all modules that its text names."""
    files = [file for floor in FLOORS for file in (ROOT / floor).rglob("*.py")]
    texts = {name_of(str(file.relative_to(ROOT))): file.read_text("utf-8") for file in files}
    found = {}
    for module, text in texts.items():
        said = set(DOTTED.findall(text)) | {f"{each}.__main__" for each in STARTED.findall(text)}
        for package, bracketed, plain in FROM.findall(text):
            said |= {f"{package}.{each}" for each in re.findall(r"\w+", bracketed or plain)}
        said = {part for each in said for part in with_packages(each)}
        if "import_module(f" in text:  # a package that loads its modules by name
            said |= {each for each in texts if each.startswith(f"{module}.")}
        found[module] = said & texts.keys()
    return found


def name_of(file: str) -> str:
    return file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def with_packages(module: str) -> list[str]:
    parts = module.split(".")
    return [".".join(parts[:count]) for count in range(1, len(parts) + 1)]


def reachable(roots: Iterable[str]) -> set[str]:
    """The modules that these ones name, over however many others; they count themselves."""
    seen: set[str] = set()
    waiting = [each for each in roots if each in named()]
    while waiting:
        module = waiting.pop()
        if module not in seen:
            seen.add(module)
            waiting += named()[module] - seen
    return seen


def touched(changes: Collection[str]) -> set[str]:
    """The modules that the changed files are, or whose package they are in."""
    found = set()
    for path in changes:
        if name_of(path) in named():
            found.add(name_of(path))
        elif number := NOTEBOOK.match(path):
            found |= set(lesson(number[1]))
        else:
            around = [name_of(str(folder)) for folder in Path(path).parents]
            if package := next((each for each in around if each in named()), ""):
                found |= {each for each in named() if package in (each, each.rpartition(".")[0])}
    return found


@cache
def lesson(number: str) -> list[str]:
    """The modules of the lesson or the lab with this number, its source among them."""
    folder = re.compile(rf"(lessons\.nb|labs\.){number}_")
    return [each for each in named() if folder.match(each)]


@cache
def behind(test: str) -> set[str]:
    """The modules that a test's file and its conftest.py name, and the lesson in its name.

    A lesson's source is not imported: it is read and run, in a notebook or as an exercise.
    """
    file = test.split("::")[0]
    roots = [name_of(file), *(name_of(f"{each}/conftest.py") for each in Path(file).parents)]
    for number in re.findall(r"(?<![\dA-Za-z])(\d\d|L\d)(?!\d)", test):
        roots += lesson(number)
    return reachable(roots)


def is_reached(test: str, changes: Collection[str] | None) -> bool:
    """Whether a change reaches a test, by its name (`tests/…/test_x.py::test_y[03]`)."""
    if changes is None or any(FOR_ALL.fullmatch(each) for each in changes):
        return True
    return not behind(test).isdisjoint(touched(changes))


def within_budget(tests: Iterable[str], lanes: Mapping[str, str], run: FullRun) -> set[str]:
    """The quickest of these tests, as many as BUDGET_S allows in each lane."""
    spent = dict.fromkeys(lanes.values(), 0.0)
    kept = set()
    for test in sorted(tests, key=lambda each: (run.seconds.get(each, NOTED_S), each)):
        spent[lanes[test]] += run.seconds.get(test, NOTED_S)
        if spent[lanes[test]] <= BUDGET_S:
            kept.add(test)
    return kept


def selection(full: Mapping[str, str], run: FullRun) -> tuple[str, set[str]]:
    """Which of the tests marked full run, given each one's lane; and what is printed of it."""
    changes = run.changes()
    reached = [each for each in full if is_reached(each, changes)]
    chosen = within_budget(reached, full, run)
    count = "unknown" if changes is None else len(changes)
    lines = [
        f"Files changed since the last whole run ({run.commit[:7]}): {count}. They reach "
        f"{len(reached)} of the {len(full)} tests marked full; {len(chosen)} run here:",
        *sorted(chosen),
    ]
    return "\n".join(lines) + "\n", chosen


def of_report(report: Path) -> FullRun:
    """What the `--junitxml` of a whole run says; ValueError if a test failed."""
    seconds = {}
    for case in ElementTree.parse(report).iter("testcase"):
        test = f"{case.get('classname', '').replace('.', '/')}.py::{case.get('name')}"
        if case.find("failure") is not None or case.find("error") is not None:
            raise ValueError(f"{test} failed: a run that counts is green.")
        if float(case.get("time", 0)) >= NOTED_S:
            seconds[test] = round(float(case.get("time", 0)))
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=report.parent, capture_output=True,
                            text=True, check=True).stdout.strip()  # fmt: skip
    return FullRun(commit, dict(sorted(seconds.items())))


if __name__ == "__main__":
    print(json.dumps(asdict(of_report(Path(sys.argv[1]))), indent=1))
