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

from importlib.util import find_spec
from pathlib import Path

__all__ = ["grade"]


def grade(
    paths: list[Path],
    out: Path,
    *,
    time_limit_s: int = 300,
    sandboxed: bool = True,
    notebook: str = "",
    roster: Path | None = None,
    jobs: int = 1,
    again: bool = False,
    spark: bool = False,
) -> int:
    """Marks the files, and those in the folders and zip archives; writes the reports into `out`.

    Prints one line per submission.  Returns 0 if all were marked, 1 if a file is no submission
    or cannot be read, and 3 if the course or this machine failed, so that one is not marked.
    Raises NoSandbox where learners' code cannot be fenced in, and RuntimeError with a sentence
    for a notebook or a roster that cannot be used, or for `spark` where Spark is missing.
    """
    from kit.course import group_of, source_files, source_of
    from kit.grading import class_run, sandbox
    from kit.grading.identity import read_roster

    if find_spec("nbval") is None:
        raise RuntimeError("nbval, which runs the submissions, is not installed; run: make setup")
    if notebook and source_of(notebook) is None:
        there = ", ".join(map(group_of, source_files()))
        raise RuntimeError(f"The course has no notebook {notebook}; it has {there}.")
    if sandboxed:
        sandbox.require()
    people = read_roster(roster) if roster else None
    mark_all: class_run.MarkAll = class_run.on_this_machine
    if spark:
        from kit.at_scale import grading, tasks

        mark_all, jobs = grading.each_marked, tasks.session().sparkContext.defaultParallelism
    options = class_run.Options(time_limit_s, sandboxed, notebook, jobs, again)
    return class_run.run(paths, out, options, people, mark_all)
