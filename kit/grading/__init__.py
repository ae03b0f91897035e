"""`kafkalab grade`: fair marks for notebooks that cannot be trusted.

A submission's outputs, tags and checks prove nothing: a learner can type all of them.  So
grading takes only the code of the exercise cells, puts it into the course's own notebook,
and runs that.  The run happens in a sandbox that holds neither checks nor solutions.  The
cells send their answers through a socket to a judge outside, and only the judge's verdicts
are the marks.

    grade()  ─ per submission ─►  stage  (own network, loopback only)
                                    ├─ judge: reads exercises, looks at the cluster
                                    └─ sandbox: nbval runs the notebook; no exercises,
                                       no files but its own, limits on everything
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

__all__ = ["grade"]


def grade(files: list[Path], out: Path, *, time_limit_s: int = 300, sandboxed: bool = True) -> int:
    """Marks each file; writes one JSON each, `class.csv` and `class.html` into `out`.

    Each file is marked by itself, and the class's files are written again after each: a run
    that is interrupted keeps what was marked.  Prints one line per submission.  Returns 0 when
    every file could be marked, else 1.  Raises NoSandbox where learners' code cannot be
    fenced in.
    """
    from kit.grading import report, sandbox
    from kit.grading.marking import mark

    if find_spec("nbval") is None:
        raise RuntimeError("nbval, which runs the submissions, is not installed; run: make setup")
    if sandboxed:
        sandbox.require()
    out.mkdir(parents=True, exist_ok=True)
    marked = []
    for file, name in zip(files, report.distinct_names(files), strict=True):
        marks = mark(file, name, time_limit_s=time_limit_s, sandboxed=sandboxed)
        marked.append(marks)
        report.write_json(marks, out)
        report.write_class(marked, out)
        _say(report.line(marks))
    _say(f"Reports are in {out}: class.html, class.csv, and a JSON file each.")
    return int(any(marks.problem for marks in marked))


def _say(text: str) -> None:
    """Prints what the terminal can show, and escapes for other signs."""
    encoding = sys.stdout.encoding or "utf-8"
    print(text.encode(encoding, "backslashreplace").decode(encoding), flush=True)
