"""Keeps a learner's progress in a file outside the repository.

The file lives in the user's data folder (`$XDG_DATA_HOME`, else `~/.local/share`), so that
pulling a new version of the course, or deleting the folder, loses nothing.  It is replaced
as a whole (write beside, then rename) under a lock, so that two notebooks and a crash never
leave half a file.  It has a version; a file of an older version is upgraded when it is read.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path

from kit.workshop import member

VERSION = 1


@dataclass(frozen=True, slots=True)
class Entry:
    """One exercise: its attempts, the hints taken, and when it was solved."""

    attempts: int = 0
    hints: int = 0
    """Rungs of the hint ladder shown; one more than there are hints means the solution."""
    passed_at: str | None = None
    answer: str | None = None
    """A prediction's or a quiz question's last answer."""
    first_answer: str | None = None
    """The answer that counts: of a prediction the one that its first run judged."""
    first_right: bool | None = None
    seen_on: str | None = None
    """The sides of the run that judged a prediction last: "engine, Kafka"."""
    is_settled: bool = False
    """A run has judged the prediction since it was recorded."""


class ProgressUnreadable(Exception):
    """The file exists and cannot be read; one sentence with the remedy."""


def location() -> Path:
    """KAFKALAB_PROGRESS, else the user's data folder."""
    if chosen := os.environ.get("KAFKALAB_PROGRESS"):
        return Path(chosen)
    data = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(data) / "kafka-inside-out" / "progress.json"


def read() -> dict[str, Entry]:
    """Exercise id -> entry.  A file that is not JSON is set aside, never overwritten."""
    path = location()
    try:
        stored = json.loads(path.read_text())
        version, exercises = stored["version"], stored["exercises"]
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise ProgressUnreadable(
            f"Your progress in {path} cannot be read ({error.strerror}); fix its permissions."
        ) from error
    except (ValueError, KeyError, TypeError):
        aside = path.with_name(f"{path.name}.broken-{time.time_ns()}")
        path.rename(aside)
        return {}
    if version > VERSION:
        raise ProgressUnreadable(
            f"Your progress was written by a newer course (version {version}); run: kafkalab update"
        )
    known = {field.name for field in fields(Entry)}
    return {
        exercise: Entry(**{name: value for name, value in entry.items() if name in known})
        for exercise, entry in exercises.items()
    }


def update(exercise_id: str, change: Callable[[Entry], Entry]) -> tuple[Entry, bool]:
    """Changes one entry on disk.  Gives the new entry and whether it could be saved."""
    try:
        with _locked():
            entries = read()
            entry = change(entries.get(exercise_id, Entry()))
            _write({**entries, exercise_id: entry})
        _reported(exercise_id, entry)
        return entry, True
    except (OSError, ProgressUnreadable):
        return change(Entry()), False


_since_start: dict[str, dict[str, int | bool]] = {}
"""What this process has changed.  A report holds all of it, so a lost one does no harm."""


def _reported(exercise_id: str, entry: Entry) -> None:
    """Tells a workshop's page of it, if the learner has joined one; predictions stay here."""
    if entry.answer is not None:
        return
    _since_start[exercise_id] = {
        "attempts": entry.attempts,
        "hints": entry.hints,
        "solved": entry.passed_at is not None,
    }
    member.report(dict(_since_start))


def record(exercise_id: str, answer: str) -> tuple[Entry, bool]:
    """Keeps a prediction; until a run has judged one, a new answer replaces the old one."""
    return update(exercise_id, lambda entry: replace(entry, answer=answer, is_settled=False))


def attempt(exercise_id: str, passed: bool, answer: str | None = None) -> tuple[Entry, bool]:
    """Counts one more attempt, right or wrong; a solved exercise stays solved."""

    def tried(entry: Entry) -> Entry:
        return _tried(entry if answer is None else replace(entry, answer=answer), passed)

    return update(exercise_id, tried)


def settle(exercise_id: str, passed: bool, seen_on: str) -> tuple[Entry, bool]:
    """A run on these sides judged the prediction that is kept."""

    def settled(entry: Entry) -> Entry:
        return replace(_tried(entry, passed), seen_on=seen_on, is_settled=True)

    return update(exercise_id, settled)


def _tried(entry: Entry, passed: bool) -> Entry:
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    entry = replace(entry, attempts=entry.attempts + 1)
    if entry.answer is not None and entry.first_answer is None:
        entry = replace(entry, first_answer=entry.answer, first_right=passed)
    return replace(entry, passed_at=now) if passed and not entry.passed_at else entry


def forget(prefix: str = "") -> int:
    """Forgets the exercises of a notebook ("06"), one exercise, or all; returns how many."""
    with _locked():
        entries = read()
        kept = {
            exercise: entry
            for exercise, entry in entries.items()
            if prefix and exercise != prefix and not exercise.startswith(f"{prefix}-")
        }
        _write(kept)
        return len(entries) - len(kept)


@contextlib.contextmanager
def _locked() -> Iterator[None]:
    path = location()
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path.with_name(path.name + ".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _write(entries: dict[str, Entry]) -> None:
    path = location()
    content = {
        "version": VERSION,
        "exercises": {
            exercise: {name: value for name, value in asdict(entry).items() if value is not None}
            for exercise, entry in sorted(entries.items())
        },
    }
    with tempfile.NamedTemporaryFile(
        "w", dir=path.parent, prefix=path.name, suffix=".new", delete=False
    ) as file:
        json.dump(content, file, indent=1)
        file.flush()
        os.fsync(file.fileno())
    os.replace(file.name, path)
