"""`python -m kit.grading.stage`: runs one prepared notebook, fenced, beside its judge.

Reads a task as JSON from its input and writes the outcome as JSON to its output.  It runs
inside a network of its own (see `kit.grading.sandbox`) together with the judge.  So the
judge can reach a cluster that the learner's code has started, and nothing else.
"""

from __future__ import annotations

import json
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import asdict, dataclass
from pathlib import Path

from kit.exercises.exercise import Verdict
from kit.grading import sandbox
from kit.grading.judge_server import JudgeServer

CELL_TIMEOUT_S = 120
LARGEST_REPORT = 5_000_000
LARGEST_LOG = 100_000
REPORT = "report.xml"


@dataclass(frozen=True, slots=True)
class Task:
    """What `marking` asks of a stage."""

    notebook: str
    time_limit_s: int
    sandboxed: bool
    seed: str

    def to_json(self) -> str:
        return json.dumps(asdict(self))


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
    command = [sys.executable, "-m", "pytest", "--nbval-lax", "--nbval-current-env", "-q"]
    command += [f"--nbval-cell-timeout={cell_timeout_s}", f"--junitxml={REPORT}"]
    command += ["-p", "no:cacheprovider", "-p", "no:hypothesispytest"]
    return [*command, "-c", "/dev/null", f"--rootdir={notebook.parent}", str(notebook)]


def perform(notebook: Path, limits: sandbox.Limits, *, sandboxed: bool, seed: str) -> Outcome:
    """Runs the notebook beside its judge."""
    work = notebook.parent
    socket_folder = work.parent / "judge"
    address = socket_folder / "socket"
    judge = JudgeServer(address, seed)
    command = nbval(notebook, min(CELL_TIMEOUT_S, limits.time_s))
    if sandboxed:
        command = sandbox.in_sandbox(command, work, socket_folder)
        sandbox.hand_over(work, socket_folder)
    log = work.parent / "log"
    environment = sandbox.environment(work, address)
    try:
        stopped_by = sandbox.run(command, environment, work, limits, log)
    finally:
        judge.close()
    if not stopped_by and not (work / REPORT).exists():
        stopped_by = f"nbval did not start or was ended ({_last_line(log)})."
    end = _end_of(log, LARGEST_LOG)
    return Outcome(judge.verdicts, cell_errors(work / REPORT), stopped_by, end)


def cell_errors(report: Path) -> dict[int, str]:
    """Position of a code cell -> the last line of its error.  The file is not trusted."""
    if not report.is_file() or report.is_symlink() or report.stat().st_size > LARGEST_REPORT:
        return {}
    try:
        cases = list(ElementTree.fromstring(report.read_bytes()).iter("testcase"))
    except ElementTree.ParseError:
        return {}
    errors = {}
    for position, case in enumerate(cases):
        for outcome in case:
            if outcome.tag in ("failure", "error", "skipped"):
                lines = [line for line in (outcome.text or "").splitlines() if line.strip()]
                errors[position] = (lines or [outcome.get("message", "")])[-1][:300]
    return errors


def _last_line(log: Path) -> str:
    lines = _end_of(log, 2000).strip().splitlines()
    return lines[-1][:200] if lines else "it said nothing"


def _end_of(log: Path, most: int) -> str:
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - most))
        return file.read().decode(errors="replace")


def main() -> None:
    task = Task(**json.loads(sys.stdin.read()))
    limits = sandbox.Limits(time_s=task.time_limit_s)
    outcome = perform(Path(task.notebook), limits, sandboxed=task.sandboxed, seed=task.seed)
    sys.stdout.write(outcome.to_json() + "\n")


if __name__ == "__main__":
    main()
