"""Marks a class: finds the submissions, runs them, and writes the reports as it goes.

A folder of reports can be used again.  A file that was marked there and has not changed is not
marked again; any other adds a report beside the others.  So an interrupted run continues where it
stopped, and notebook 08 joins notebook 06 in the same folder.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from kit.grading import (
    attempts,
    class_files,
    feedback,
    identity,
    intake,
    marking,
    report,
    submission,
)
from kit.grading.identity import Roster
from kit.grading.intake import Unreadable
from kit.grading.marking import Control, Marks
from kit.grading.messages import natural, printable
from kit.grading.submission import OtherNotebook, Submission

OneMarked = tuple[Marks, str, float]
ALL_MARKED, A_FILE_UNREADABLE, COURSE_FAILED = 0, 1, 3
"""Exit statuses."""
MOST_FILES_OF_A_LEARNER = 200
LARGEST_LEARNER = 200_000_000
"""Bytes, unpacked: a small archive of large files must not hold up a class."""
TOO_MUCH = (
    f"This learner has more than {MOST_FILES_OF_A_LEARNER} files, or {LARGEST_LEARNER // 10**6} MB "
    "when unpacked; this file and those after it were left out."
)
ROWS_OF_A_STEP = 100
"""class.csv is written after each submission; with so many rows after every second one, and so on:
it is written as a whole."""


@dataclass(frozen=True, slots=True)
class Options:
    time_limit_s: int = 300
    sandboxed: bool = True
    notebook: str = ""
    """Mark as this notebook; else each file is the notebook that its cells are."""
    jobs: int = 1
    """Submissions that are run at once."""
    again: bool = False
    """Mark files again that the folder has a report of."""


@dataclass(frozen=True, slots=True)
class HandedIn:
    """A file that was looked at: a submission, or the problem with it."""

    unmarked: Marks
    submission: Submission | None = None
    is_beside: bool = False
    """Not what is marked, and no fault if the same learner has handed that in, too."""


MarkAll = Callable[[list[HandedIn], Options, Path], Iterator[OneMarked]]
"""How submissions are marked: what is to do, and the folder of reports.  As they come."""


def on_this_machine(todo: list[HandedIn], options: Options, _: Path) -> Iterator[OneMarked]:
    """On `options.jobs` of its cores."""
    control = Control(time_limit_s=options.time_limit_s, sandboxed=options.sandboxed)
    one = partial(mark_one, options=options, control=control)
    return map(one, todo) if options.jobs <= 1 else _in_parallel(todo, one, options.jobs)


def run(
    paths: list[Path],
    out: Path,
    options: Options,
    roster: Roster | None = None,
    mark_all: MarkAll = on_this_machine,
) -> int:
    """Marks what the paths name and writes the reports into `out`; returns the exit status.

    `mark_all` may be another way than on this machine's cores (`kit.at_scale.grading`).
    """
    attempts.sweep()
    handed_in = look_at(paths, options, roster)
    out.mkdir(parents=True, exist_ok=True)
    with _alone_in(out):
        marked = class_files.reports_in(out)
        todo, kept = _not_yet_marked(handed_in, marked, options, out)
        if kept:
            _say(f"{kept} of {len(handed_in)} have a report in {out} already, and are kept.")
        times: dict[str, float] = {}
        try:
            for done, marks, seconds in _with_logs(mark_all(todo, options, out), out):
                marked[marks.name] = marks
                times[marks.name] = seconds
                report.write_json(marks, out)
                if done % (1 + len(marked) // ROWS_OF_A_STEP) == 0:
                    report.write_class_csv(list(marked.values()), out)
                feedback.write(marks, out)
                left = _time_left(times, done, len(todo), options.jobs)
                _say(f"{done} of {len(todo)}  {report.line(marks)}{left}")
        finally:
            class_files.write(marked, out, roster, times)
    mine = {each.unmarked.name for each in handed_in}
    return _status([marks for marks in marked.values() if marks.name in mine], out)


def look_at(paths: list[Path], options: Options, roster: Roster | None) -> list[HandedIn]:
    """Reads every file; afterwards no file of a learner is open, and only answers are kept."""
    found = intake.search(paths)
    owners = identity.learners(found, roster)
    handed_in = []
    files, unpacked, cut = Counter[str](), Counter[str](), set[str]()
    for file, learner in zip(found, owners, strict=True):
        unmarked = Marks(
            "",
            printable(file.file),
            sandbox="bubblewrap" if options.sandboxed else "none",
            learner=learner.name,
            id=learner.id,
            identified_by=learner.source,
            notes=(learner.note,) if learner.note else (),
        )
        name = learner.name
        files[name] += 1
        if files[name] <= MOST_FILES_OF_A_LEARNER and unpacked[name] <= LARGEST_LEARNER:
            counted = _counting(file, unpacked, name)
            handed_in.append(_looked_at(counted, unmarked, options.notebook))
        elif name not in cut:
            cut.add(name)
            handed_in.append(HandedIn(marking.unreadable(unmarked, Unreadable(TOO_MUCH))))
    return _without_enclosures(handed_in)


def _counting(file: intake.Found, unpacked: Counter[str], name: str) -> intake.Found:
    """The file, which adds its bytes to the learner's when it is read."""

    def content() -> bytes:
        read = file.content()
        unpacked[name] += len(read)
        return read

    return replace(file, content=content)


def _looked_at(file: intake.Found, unmarked: Marks, group: str) -> HandedIn:
    not_a_notebook = file.inside and not file.is_notebook
    try:
        if not_a_notebook:
            file.content()
            raise Unreadable("The file is not a notebook: its name does not end in .ipynb.")
        content = file.content()
        unmarked = replace(unmarked, digest=hashlib.sha256(content).hexdigest())
        submitted = submission.parse(content, group)
    except Unreadable as reason:
        beside = file.inside and (not_a_notebook or isinstance(reason, OtherNotebook))
        return HandedIn(marking.unreadable(unmarked, reason), is_beside=beside)
    except Exception as error:
        problem = f"The file cannot be read ({type(error).__name__}: {error})."
        return HandedIn(marking.unreadable(unmarked, Unreadable(problem)))
    course = submission.version_of(submitted.group)
    return HandedIn(replace(unmarked, notebook=submitted.group, course=course), submitted)


def _without_enclosures(handed_in: list[HandedIn]) -> list[HandedIn]:
    """Without the other files (data, texts, other notebooks) of learners with a submission."""
    have = {each.unmarked.learner for each in handed_in if each.submission}
    return [each for each in handed_in if not (each.is_beside and each.unmarked.learner in have)]


def _not_yet_marked(
    handed_in: list[HandedIn], marked: dict[str, Marks], options: Options, out: Path
) -> tuple[list[HandedIn], int]:
    """What is left to do, in order and with report names; and how many are kept.

    Changes `handed_in`: each gets the name of its report.  A report without marks makes room for
    a later one of the same place; a report with marks stays.
    """
    earlier = {(m.file, m.digest): m for m in marked.values()}
    without_marks = {m.file: m for m in marked.values() if m.fault}
    taken = {name.casefold() for name in marked}
    todo = []
    for number, each in enumerate(handed_in):
        unmarked = each.unmarked
        known = earlier.get((unmarked.file, unmarked.digest)) or without_marks.get(unmarked.file)
        name = known.name if known else report.name_for(unmarked.learner, unmarked.notebook, taken)
        handed_in[number] = replace(each, unmarked=replace(unmarked, name=name))
        if known is None or options.again or not _is_still_true(known, unmarked):
            todo.append(handed_in[number])
        elif (known.learner, known.id, known.identified_by) != (
            unmarked.learner, unmarked.id, unmarked.identified_by
        ):  # fmt: skip
            marked[name] = _renamed(known, unmarked)
            report.write_json(marked[name], out)
            feedback.write(marked[name], out)
    return todo, len(handed_in) - len(todo)


def _is_still_true(known: Marks, unmarked: Marks) -> bool:
    """Whether the marks would be the same: a failure of the course may have been mended."""
    same_file = known.digest == unmarked.digest and known.fault == unmarked.fault
    same_notebook = (known.notebook, known.course) == (unmarked.notebook, unmarked.course)
    return same_file and same_notebook and known.sandbox == unmarked.sandbox


def _renamed(known: Marks, unmarked: Marks) -> Marks:
    """The same marks, with the learner that the roster names now."""
    others = [note for note in known.notes if not note.startswith(identity.ROSTER_NOTE)]
    return replace(
        known,
        learner=unmarked.learner,
        id=unmarked.id,
        identified_by=unmarked.identified_by,
        notes=(*unmarked.notes, *others),
    )


def _with_logs(marked: Iterator[OneMarked], out: Path) -> Iterator[tuple[int, Marks, float]]:
    """How many are done, the marks and the seconds, as they come."""
    for done, (marks, log, seconds) in enumerate(marked, 1):
        if log:
            report.write_log(marks.name, log, out)
            sentence = f"{marks.problem} The log is logs/{marks.name}.txt."
            yield done, replace(marks, problem=sentence), seconds
        else:
            yield done, marks, seconds


def mark_one(each: HandedIn, options: Options, control: Control) -> OneMarked:
    """The marks, the log if the course failed, and the seconds; see `marking.mark`."""
    started = time.monotonic()
    if each.submission is None:
        return each.unmarked, "", 0.0
    marks, log = marking.mark(
        each.submission,
        each.unmarked,
        control,
        time_limit_s=options.time_limit_s,
        sandboxed=options.sandboxed,
    )
    return marks, log, time.monotonic() - started


def _in_parallel(
    todo: list[HandedIn], one: Callable[[HandedIn], OneMarked], jobs: int
) -> Iterator[OneMarked]:
    """An interrupt lets the running ones end, and starts no other."""
    with ThreadPoolExecutor(jobs) as pool:
        running: set[Future] = {pool.submit(one, each) for each in todo}
        try:
            while running:
                ready, running = wait(running, return_when=FIRST_COMPLETED)
                for future in ready:
                    yield future.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _time_left(times: dict[str, float], done: int, of: int, jobs: int) -> str:
    """A guess from the submissions that were run; those not run take no time."""
    run = [seconds for seconds in times.values() if seconds > 0.5]
    if done == of or not run:
        return ""
    minutes = sum(run) / len(times) * (of - done) / max(1, min(jobs, of - done)) / 60
    left = f"about {minutes:.0f} min" if minutes >= 1.5 else "less than 2 min"
    return f"   ({left} left)"


def _status(mine: list[Marks], out: Path) -> int:
    failed = [marks.name for marks in mine if marks.fault == "course"]
    unreadable = sum(marks.fault == "file" for marks in mine)
    _say(f"{len(mine) - len(failed) - unreadable} of {len(mine)} marked.")
    if unreadable:
        _say(f"{unreadable} cannot be read or are no notebooks; class.html says which and why.")
    if failed:
        names = ", ".join(sorted(failed, key=natural)[:10]) + (", …" if len(failed) > 10 else "")
        logs = f" (logs are in {out / 'logs'})" if (out / "logs").is_dir() else ""
        _say(f"{len(failed)} not marked, because the course or this machine failed: {names}.")
        _say(f"Mend the cause{logs} and run the command again.")
    _say(f"Reports are in {out}: class.html to read, class.csv, totals.csv and import.csv.")
    return COURSE_FAILED if failed else A_FILE_UNREADABLE if unreadable else ALL_MARKED


@contextlib.contextmanager
def _alone_in(out: Path) -> Iterator[None]:
    """Two runs at once would overwrite each other's class files.  The lock's file stays."""
    with open(out / ".lock", "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RuntimeError(
                f"Another run writes to {out}; wait for it, or choose another --out."
            ) from None
        yield


def _say(text: str) -> None:
    """Prints what the terminal can show, and escapes for other signs."""
    encoding = sys.stdout.encoding or "utf-8"
    print(text.encode(encoding, "backslashreplace").decode(encoding), flush=True)
