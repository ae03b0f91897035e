"""`python -m kit.grading.stage`: runs one prepared notebook, fenced, beside its judge.

Reads a task as JSON from its input and writes the outcome as JSON to its output.  It runs
inside a network of its own (see `kit.grading.sandbox`) together with the judge.  So the
judge can reach a cluster that the learner's code has started, and nothing else.
"""

from __future__ import annotations

import json
import re
import resource
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import asdict, dataclass
from pathlib import Path

from kit.exercises.exercise import Verdict
from kit.grading import sandbox
from kit.grading.judge_server import JudgeServer
from kit.grading.limits import ENDED_KERNEL, Limits, run

LARGEST_REPORT = 5_000_000
LARGEST_LOG = 100_000
REPORT = "report.xml"
TOO_LONG = re.compile(r"Timeout of (\d+) seconds exceeded (?:while )?executing cell")
SYNTAX_ERRORS = ("SyntaxError", "IndentationError", "TabError")
LINE = re.compile(r"In\[[0-9]+\]\S*, line ([0-9]+)")
NO_KERNEL = "Kernel dead on test start"
"""nbval's words for a cell whose kernel had ended before."""
RUN_PYTEST = """
import sys
sys.modules["rfc3987_syntax"] = None
import pytest
sys.exit(pytest.main(sys.argv[1:]))
"""
"""nbval reads notebooks with nbformat, and that loads a grammar of web addresses for a check that
no notebook needs.  Without the grammar, as where it is not installed, nbval takes half the time."""
JUDGE_BYTES = 2_000_000_000
"""Memory of the judge: an answer that needs more is one that the judge could not read."""


@dataclass(frozen=True, slots=True)
class Task:
    """What `marking` asks of a stage."""

    notebook: str
    """Its JSON."""
    exercises: tuple[str, ...]
    """What may be marked in it."""
    room: str
    """A folder, see kit.grading.sandbox."""
    sandboxed: bool
    seed: str
    limits: Limits

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Task:
        content = json.loads(text)
        return cls(**content | {"limits": Limits(**content["limits"])})


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one run.  `stopped_by` names the limit that ended it, if one did."""

    verdicts: dict[str, Verdict]
    """By exercise id."""
    errors: dict[int, str]
    """By position of a code cell: the last line of its error."""
    stopped_by: str = ""
    log: str = ""
    """The end of what the run printed, for the marker if the course itself failed."""
    notes: tuple[str, ...] = ()
    """For the marker: which exercises were run again, and why."""

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Outcome:
        """Raises ValueError for anything but what `to_json` wrote."""
        content = json.loads(text)
        return cls(
            {exercise: Verdict(**said) for exercise, said in content["verdicts"].items()},
            {int(position): error for position, error in content["errors"].items()},
            content["stopped_by"],
            content["log"],
        )


def nbval(notebook: Path, cell_timeout_s: int) -> list[str]:
    """nbval over one notebook.  Its report is for the reader; marks come from the judge."""
    command = [sys.executable, "-c", RUN_PYTEST, "--nbval-lax", "--nbval-current-env", "-q"]
    command += [f"--nbval-cell-timeout={cell_timeout_s}", f"--junitxml={REPORT}"]
    command += ["-p", "no:cacheprovider", "-p", "no:hypothesispytest", "-p", "no:anyio"]
    return [*command, "-c", "/dev/null", f"--rootdir={notebook.parent}", str(notebook)]


def perform(task: Task) -> Outcome:
    """Runs the notebook in its room, beside its judge."""
    room = Path(task.room)
    sandbox.furnish(room)
    work, limits = room / "work", task.limits
    (work / "notebook.ipynb").write_text(task.notebook, encoding="utf-8")
    command = nbval(work / "notebook.ipynb", cell_timeout_s(limits))
    if task.sandboxed:
        command = sandbox.in_sandbox(command, room, limits)
        sandbox.hand_over(room)
    judge = JudgeServer(room / "judge" / "socket", task.seed, task.exercises)
    try:
        stopped_by = run(command, sandbox.environment(room), room, limits)
    finally:
        judge.close()
    log = _end_of(room / "log")
    if not stopped_by and not (work / REPORT).exists():
        last = (log.strip().splitlines() or ["it said nothing"])[-1]
        stopped_by = f"nbval, which runs the cells, did not start or was ended ({last[:200]})."
    if stopped_by == ENDED_KERNEL and (work / REPORT).exists():
        stopped_by = ""  # nbval did, after a cell that could not be interrupted
    return Outcome(judge.verdicts, cell_errors(work / REPORT), stopped_by, log)


def cell_timeout_s(limits: Limits) -> int:
    """At most half of a run's time: what one cell wastes, the others do not lack."""
    return max(1, min(limits.cell_s, int(limits.time_s // 2)))


def cell_errors(report: Path) -> dict[int, str]:
    """Position of a code cell -> the last line of its error.  The file is not trusted.

    Cells that had no turn, because another one had ended or stopped the kernel, are left out.
    """
    if not report.is_file() or report.is_symlink() or report.stat().st_size > LARGEST_REPORT:
        return {}
    try:
        cases = list(ElementTree.fromstring(report.read_bytes()).iter("testcase"))
    except ElementTree.ParseError:
        return {}
    errors = {}
    for position, case in enumerate(cases):
        for outcome in case:
            lines = [line for line in (outcome.text or "").splitlines() if line.strip()]
            last = (lines or [outcome.get("message", "")])[-1][:300]
            if outcome.tag in ("failure", "error") and NO_KERNEL not in last:
                late = TOO_LONG.search(outcome.text or "")
                errors[position] = f"The cell ran longer than {late[1]} s." if late else last
                lines = LINE.findall(outcome.text or "")
                if lines and any(kind in last for kind in SYNTAX_ERRORS):
                    errors[position] = f"{last} (line {lines[-1]} of the cell)"
    return errors


def _end_of(log: Path) -> str:
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - LARGEST_LOG))
        return file.read().decode(errors="replace")


def main() -> None:
    task = Task.from_json(sys.stdin.read())
    resource.setrlimit(resource.RLIMIT_DATA, (JUDGE_BYTES, resource.RLIM_INFINITY))
    sys.stdout.write(perform(task).to_json() + "\n")


if __name__ == "__main__":
    main()
