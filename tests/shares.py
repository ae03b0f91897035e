"""Where the time of `make test` goes: the table in docs/authoring.md, from a run's own report.

    make test ARGS=--junitxml=report.xml
    python -m tests.shares report.xml

Each cell is the part's share of its lane's time; the last row has the lanes' minutes.
"""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ElementTree
from collections import defaultdict
from pathlib import Path

from tests.lanes import LANE, MARKS

PARTS = {
    "tests.browser": "panels and notebooks in a browser",
    "tests.notebooks": "notebooks by nbval, and their drift",
    "tests.docker": "the composed cluster in Docker",
    "tests.conformance": "conformance: clients, tools, and beside a real Kafka",
    "tests.labs": "the labs and their pipeline on Spark",
    "tests.engine.sim": "the simulator: campaign, mutants, time travel, scripts",
    "tests.engine": "the engine's other tests",
    "tests.lessons": "lessons' own tests",
    "tests.kit.clusters": "the kit's clusters: faults, dying kernels, killed leaders",
    "tests.kit.exercises": "exercises of all notebooks",
    "tests.kit.grading": "grading",
    "tests.kit": "the kit's other tests",
    "tests": "format, lint, types, the suite's own tests",
}
"""The longest name that a test's module begins with is its part."""


def part_of(module: str) -> str:
    return PARTS[max((each for each in PARTS if module.startswith(each)), key=len, default="tests")]


def seconds(report: Path) -> dict[tuple[str, str], float]:
    """By part and lane."""
    found: dict[tuple[str, str], float] = defaultdict(float)
    for case in ElementTree.parse(report).iter("testcase"):
        noted = {each.get("name"): each.get("value", "") for each in case.iter("property")}
        if lane := noted.get(LANE):
            found[part_of(case.get("classname", "")), lane] += float(case.get("time", 0))
    return found


def table(report: Path) -> str:
    found = seconds(report)
    whole = {lane: sum(s for (_, of), s in found.items() if of == lane) for lane in MARKS}
    rows = [["part", *MARKS], ["---"] * (1 + len(MARKS))]
    for part in sorted(PARTS.values(), key=lambda each: -sum(found[each, lane] for lane in MARKS)):
        shares = [100 * found[part, lane] / (whole[lane] or 1) for lane in MARKS]
        rows.append([part, *(f"{each:.0f} %" if each >= 0.5 else "" for each in shares)])
    rows.append(["minutes", *(f"{each / 60:.1f}" for each in whole.values())])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


if __name__ == "__main__":
    print(table(Path(sys.argv[1])))
