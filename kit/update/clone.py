"""Takes a git clone of the course to its newest version, under a learner's work.

`git pull` refuses as soon as a notebook with work in it has changed upstream.  Here the
notebooks are kept as a backup, set back to what the course wrote, pulled, and get the
learner's cells again.  A note in the backup says that this is under way: if the computer is
switched off in between, the next call carries on from the backup.

Nothing is touched where git would have to merge: a clone with commits of its own, or another
changed file that the new version changes, too, gets a sentence instead.
"""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from kit.exercises import progress_file
from kit.update.folders import Line, carry_folder, is_learner_notebook, new_backup
from kit.update.notebook_file import CHECKPOINTS, checkpoint_of

UNDER_WAY = "under-way"
"""The note in a backup; it holds the clone's folder."""
LEARNERS_STAGE = 3
"""Of a conflict that `git stash pop` has left: the stashed file.  2 is the pulled one."""


class CannotUpdate(RuntimeError):
    """One sentence: why the clone was left as it is, and the remedy."""


@dataclass(frozen=True, slots=True)
class Updated:
    commits: int
    """How many commits came."""
    lines: tuple[Line, ...]
    backup: Path | None
    """Where the learner's notebooks are as they were, if any was touched."""


@dataclass(frozen=True, slots=True)
class Status:
    """Files of the clone that differ from its commit, as paths within it."""

    changed: frozenset[str]
    untracked: frozenset[str]
    conflicts: frozenset[str]


def update_clone(root: Path) -> Updated:
    """Fetches the branch's upstream and goes to it.  Raises CannotUpdate, NothingToCarry."""
    resumed = _resume(root)
    if not (root / ".git").exists():
        raise CannotUpdate(
            "This folder is no git clone. Unpack the new version beside it, and run there: "
            f"kafkalab update {root}"
        )
    upstream = _try(root, "rev-parse", "--symbolic-full-name", "@{upstream}").strip()
    if not upstream:
        raise CannotUpdate("This branch follows no other; run: git switch main")
    _git(root, "fetch", "--quiet", says="The new version could not be fetched")
    ahead, behind = map(int, _git(root, "rev-list", "--left-right", "--count",
                                  f"HEAD...{upstream}").split())  # fmt: skip
    status = _status(root)
    coming = _names(_git(root, "diff", "--name-only", "--no-renames", "-z", "HEAD", upstream))
    _refuse(root, ahead, status, coming)
    mine = (status.changed & coming) | (status.untracked & coming) | status.conflicts
    lines, backup = resumed
    if mine:
        backup = _set_aside(root, sorted(mine), status)
    try:
        if behind:
            _git(root, "merge", "--quiet", "--ff-only", upstream, says="git could not go on")
    except CannotUpdate:
        if backup:
            _put_back(root, backup)
        raise
    if mine and backup:
        lines = [*lines, *_finish(root, backup)]
    return Updated(behind, tuple(lines), backup)


def _refuse(root: Path, ahead: int, status: Status, coming: frozenset[str]) -> None:
    if ahead:
        raise CannotUpdate(
            f"This clone has {ahead} commit{'s' if ahead > 1 else ''} of its own. Clone the new "
            f"version beside it, run there: make setup, then: kafkalab update {root}"
        )
    both = (status.changed | status.untracked) & coming | status.conflicts
    if others := sorted(path for path in both if not is_learner_notebook(path)):
        more = f" and {len(others) - 3} more" if len(others) > 3 else ""
        raise CannotUpdate(
            f"You and the new version have changed the same files: {', '.join(others[:3])}{more}. "
            "Put yours aside with: git stash"
        )


def _set_aside(root: Path, paths: list[str], status: Status) -> Path:
    """Copies notebooks into a backup and sets them back to what the course wrote."""
    backup = new_backup()
    (backup / UNDER_WAY).write_text(str(root))
    for path in paths:
        kept = backup / path
        kept.parent.mkdir(parents=True, exist_ok=True)
        if path in status.conflicts and (stashed := _stashed(root, path)):
            kept.write_bytes(stashed)
        elif (root / path).exists():
            shutil.copy2(root / path, kept)
            if checkpoint := checkpoint_of(root / path):
                (kept.parent / CHECKPOINTS).mkdir(exist_ok=True)
                shutil.copy2(checkpoint, kept.parent / CHECKPOINTS / checkpoint.name)
    if tracked := [path for path in paths if path not in status.untracked]:
        _git(root, "checkout", "--quiet", "HEAD", "--", *tracked, says="git could not go on")
    for path in status.untracked.intersection(paths):
        (root / path).unlink()
    return backup


def _stashed(root: Path, path: str) -> bytes:
    done = subprocess.run(
        ["git", "show", f":{LEARNERS_STAGE}:{path}"], cwd=root, capture_output=True
    )
    return done.stdout if done.returncode == 0 else b""


def _put_back(root: Path, backup: Path) -> None:
    for kept in backup.rglob("*.ipynb"):
        if CHECKPOINTS not in kept.parts:
            shutil.copy2(kept, root / kept.relative_to(backup))
    (backup / UNDER_WAY).unlink()


def _finish(root: Path, backup: Path) -> list[Line]:
    lines = carry_folder(backup, root, backup) if list(backup.rglob("*.ipynb")) else []
    (backup / UNDER_WAY).unlink()
    return lines


def _resume(root: Path) -> tuple[list[Line], Path | None]:
    """Carries over what an update that broke off has left in its backup."""
    for note in sorted(progress_file.location().parent.glob(f"backups/*/{UNDER_WAY}")):
        if note.read_text() == str(root):
            return _finish(root, note.parent), note.parent
    return [], None


def _status(root: Path) -> Status:
    changed, untracked, conflicts = set(), set(), set()
    listed = _git(root, "status", "--porcelain=v1", "--no-renames", "--untracked-files=all", "-z")
    for entry in filter(None, listed.split("\0")):
        code, path = entry[:2], entry[3:]
        if code == "??":
            untracked.add(path)
        elif "U" in code or code in ("AA", "DD"):
            conflicts.add(path)
        else:
            changed.add(path)
    return Status(frozenset(changed), frozenset(untracked), frozenset(conflicts))


def _names(listed: str) -> frozenset[str]:
    return frozenset(filter(None, listed.split("\0")))


def _try(root: Path, *arguments: str) -> str:
    """What git prints; nothing where it fails."""
    try:
        done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True)
    except OSError:
        return ""
    return done.stdout if done.returncode == 0 else ""


def _git(root: Path, *arguments: str, says: str = "git could not read this clone") -> str:
    done = subprocess.run(
        ["git", *arguments],
        cwd=root,
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise CannotUpdate(f"{says} ({reason}).")
    return done.stdout
