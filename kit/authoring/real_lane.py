"""Chooses the notebooks that this test run executes beside a real Kafka.

Every run executes each notebook once, beside a real Kafka or on the engine alone.  Beside a real
Kafka it takes 06, which shows what the course is about; every notebook whose lesson has a file
changed since the main branch (or since the last commit); and a third of the others, a different
third with each commit.
`KAFKALAB_REAL_LANE=all` runs all of them both ways.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Collection, Sequence
from pathlib import Path

from kit.course import PROJECT, group_of, slice_of

VARIABLE = "KAFKALAB_REAL_LANE"
ALWAYS = ("06",)
THIRDS = 3
MAIN = ("origin/HEAD", "origin/main")


def chosen(sources: Sequence[Path], changed: Collection[Path], turn: int) -> set[Path]:
    """Those of `sources` that take part in this turn."""
    first = {source for source in sources if group_of(source) in ALWAYS}
    first |= {s for s in sources if any(file.is_relative_to(slice_of(s)) for file in changed)}
    others = [source for source in sources if group_of(source) not in ALWAYS]
    return first | {s for place, s in enumerate(others) if (place + turn) % THIRDS == 0}


def chosen_now(sources: Sequence[Path]) -> set[Path]:
    """The same for this working tree as it is now."""
    if os.environ.get(VARIABLE) == "all":
        return set(sources)
    return chosen(sources, changed(), int(_git("rev-list", "--count", "HEAD") or 0))


def in_turn(place: int, turns: int) -> bool:
    """Whether the test at `place` of `turns` long ones runs with this commit."""
    if os.environ.get(VARIABLE) == "all":
        return True
    return place == int(_git("rev-list", "--count", "HEAD") or 0) % turns


def changed() -> set[Path]:
    """Files that differ from the main branch, or, on the main branch, from the commit before."""
    head = _git("rev-parse", "HEAD")
    bases = [base for name in MAIN if (base := _git("merge-base", "HEAD", name)) not in ("", head)]
    names = _git("diff", "--name-only", bases[0] if bases else "HEAD~1").splitlines()
    names += _git("ls-files", "--others", "--exclude-standard").splitlines()
    return {PROJECT / name for name in names}


def _git(*words: str) -> str:
    """Git's answer; empty without git or without such a commit."""
    try:
        done = subprocess.run(["git", *words], cwd=PROJECT, capture_output=True, text=True)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
