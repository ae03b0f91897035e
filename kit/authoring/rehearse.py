"""Runs the core of each notebook again and again: which cells fail, and how long they take.

    python -m kit.authoring.rehearse --into runs.jsonl --times 10 --busy 2
    python -m kit.authoring.rehearse --into runs.jsonl --times 5 --busy 2 --real local

The core is what comes before the first Deeper section, as the reference has it.  `--busy` keeps so
many cores at work meanwhile, as other programs on a learner's laptop do.  Each run is a line of
the file: with the same file and options it goes on where it stopped.  Labs are left out.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from statistics import median
from typing import Any

from kit.authoring import compose
from kit.authoring.build import complaint, environment, timed
from kit.authoring.sources import DEEPER
from kit.course import PROJECT, group_of, source_files, student_notebook

CELL_TIMEOUT_S = 300
MOST_SHOWN = 2_000
SLOW_S = 10.0
"""A cell of the core should take less, on a quiet machine."""


@dataclass(frozen=True, slots=True)
class Run:
    """One run of one notebook's core; `seconds` and `failed` are by cell.

    Of a cell that failed there is why, and what it showed.
    """

    notebook: str
    real: str
    busy: int
    number: int
    seconds: dict[str, float]
    failed: dict[str, str]


def main(argv: Sequence[str] | None = None) -> int:
    """0 if no cell failed in any run of the file."""
    parser = argparse.ArgumentParser(prog="python -m kit.authoring.rehearse", description=__doc__)
    parser.add_argument("--into", type=Path, required=True, help="a line for each run")
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("--busy", type=int, default=0, help="cores to keep at work")
    parser.add_argument("--real", choices=["off", "local", "docker"], default="off")
    parser.add_argument("sources", nargs="*", type=Path, help="default: every notebook's")
    chosen = parser.parse_args(argv)
    lessons = [each for each in source_files() if not each.is_relative_to(PROJECT / "labs")]
    sources = [each.resolve() for each in chosen.sources] or lessons
    done = {(run.notebook, run.real, run.busy, run.number) for run in runs(chosen.into)}
    with busy(chosen.busy):
        for number in range(chosen.times):
            for source in sources:
                if (group_of(source), chosen.real, chosen.busy, number) in done:
                    continue
                run = rehearsed(source, chosen.real, chosen.busy, number)
                with chosen.into.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(asdict(run)) + "\n")
                print(f"{run.notebook}, run {number + 1}: {', '.join(run.failed) or 'clean'}")
    found = runs(chosen.into)
    print(table(found))
    return int(any(run.failed for run in found))


def runs(file: Path) -> list[Run]:
    """The runs of a file; a line that was cut off by an interrupt does not count."""
    found = []
    for line in file.read_text("utf-8").splitlines() if file.exists() else ():
        try:
            found.append(Run(**json.loads(line)))
        except (ValueError, TypeError):
            continue
    return found


def rehearsed(source: Path, real: str, at_work: int, number: int) -> Run:
    """Runs the core of a reference once; a cell that fails does not stop it."""
    from nbclient import NotebookClient

    notebook = core(compose.reference(timed(source)))
    folder = student_notebook(source).parent
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="kafkalab-build-") as scratch:
        client = NotebookClient(
            notebook,
            timeout=CELL_TIMEOUT_S,
            kernel_name="python3",
            resources={"metadata": {"path": str(folder)}},
            allow_errors=True,
        )
        client.execute(env=environment(Path(scratch)) | {"KAFKALAB_REAL": real})
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    failed = {cell.id: words for cell in code if (words := _fault(cell))}
    return Run(group_of(source), real, at_work, number, {c.id: _seconds(c) for c in code}, failed)


def core(notebook: Any) -> Any:
    """The notebook up to its first Deeper section."""
    opens = (i for i, cell in enumerate(notebook.cells) if cell.source.startswith(DEEPER))
    notebook.cells = notebook.cells[: next(opens, None)]
    return notebook


def _fault(cell: Any) -> str:
    errors = [o for o in cell.outputs if o.output_type == "error"]
    if errors and "raises-exception" not in cell.metadata.get("tags", []):
        return f"{errors[0].ename}: {errors[0].evalue}"[:200]
    return f"{words}\n{_shown(cell)}" if (words := complaint(cell)) else ""


def _shown(cell: Any) -> str:
    texts = [o.get("text") or o.get("data", {}).get("text/plain", "") for o in cell.outputs]
    return "\n".join(texts)[-MOST_SHOWN:]


def _seconds(cell: Any) -> float:
    at = {name: datetime.fromisoformat(text) for name, text in cell.metadata.execution.items()}
    took = at["shell.execute_reply"] - at["iopub.execute_input"]
    return round(took.total_seconds(), 2)


@contextmanager
def busy(cores: int) -> Iterator[None]:
    """Keeps so many cores at work."""
    loops = [multiprocessing.Process(target=_for_ever, daemon=True) for _ in range(cores)]
    for loop in loops:
        loop.start()
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.join()


def _for_ever() -> None:
    while True:
        pass


def table(found: Sequence[Run]) -> str:
    """A row for each cell that failed or was slow, by side and by the cores that were busy."""
    times: dict[tuple[str, str, str, str], list[float]] = defaultdict(list)
    faults: dict[tuple[str, str, str, str], list[str]] = defaultdict(list)
    for run in found:
        for cell, seconds in run.seconds.items():
            key = (run.notebook, run.real, str(run.busy), cell)
            times[key].append(seconds)
            if cell in run.failed:
                faults[key].append(run.failed[cell])
    rows = [["notebook", "real", "busy", "cell", "runs", "failed", "median s", "most s", "why"]]
    for key, took in sorted(times.items()):
        if faults[key] or median(took) >= SLOW_S:
            why = faults[key][0].splitlines()[0] if faults[key] else ""
            rows.append([*key, str(len(took)), str(len(faults[key])),
                         f"{median(took):.1f}", f"{max(took):.1f}", why])  # fmt: skip
    if len(rows) == 1:
        return f"{len(found)} runs: no cell failed, and none took {SLOW_S:.0f} s"
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = (zip(row, widths, strict=True) for row in rows)
    return "\n".join("  ".join(c.ljust(w) for c, w in line).rstrip() for line in lines)


if __name__ == "__main__":
    raise SystemExit(main())
