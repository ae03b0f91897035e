"""A room: who takes part, under which alias, and how far.  Plain data, no network.

A participant gets an alias that is drawn at random and a key that proves it.  Everything that
comes from outside has a limit here: the number of participants, how often one may report, and
what a report may hold.
"""

from __future__ import annotations

import re
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kit.page_server import Refused

MOST_PARTICIPANTS = 200
MOST_JOINS_A_MINUTE = 100
REPORTS_AT_ONCE, REPORTS_A_SECOND = 10, 2.0
MOST_IN_A_REPORT = 100
LARGEST_COUNT = 999
STUCK_AFTER_ATTEMPTS, STUCK_AFTER_S = 4, 300.0
EXERCISE_ID = re.compile(r"[A-Z]?[0-9]{1,3}-[0-9]{1,3}", re.ASCII)

COLOURS = (
    *("amber", "azure", "bronze", "coral", "crimson", "golden", "green", "grey", "indigo"),
    *("ivory", "jade", "lilac", "olive", "pink", "ruby", "silver", "teal", "violet"),
)
ANIMALS = (
    *("badger", "bear", "bison", "crane", "dolphin", "falcon", "finch", "fox", "gecko", "hare"),
    *("heron", "ibex", "koala", "lemur", "lynx", "marten", "otter", "owl", "panda", "puffin"),
    *("raven", "robin", "seal", "stork", "swift", "tapir", "turtle", "walrus", "wren", "yak"),
)


@dataclass(slots=True)
class Attempted:
    """One exercise of one participant."""

    attempts: int
    hints: int
    is_solved: bool
    at: float
    """When it last changed, by the room's clock."""


@dataclass(slots=True)
class Participant:
    alias: str
    last_report: float
    credit: float = REPORTS_AT_ONCE
    """Reports that may come at once; it refills by REPORTS_A_SECOND."""
    exercises: dict[str, Attempted] = field(default_factory=dict)


class Room:
    """Safe for several threads.  `titles` names the exercises; others are not noted."""

    def __init__(
        self,
        titles: Mapping[str, str],
        lasts_s: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.titles = dict(titles)
        self.clock = clock
        self.ends_at = clock() + lasts_s
        self.code, self.watch_key = secrets.token_urlsafe(9), secrets.token_urlsafe(18)
        self._by_key: dict[str, Participant] = {}
        self._joins: list[float] = []
        self._lock = threading.Lock()

    @property
    def remaining_s(self) -> float:
        return self.ends_at - self.clock()

    def join(self) -> tuple[str, str]:
        """A new participant's alias and key.  Raises Refused."""
        with self._lock:
            now = self.clock()
            self._joins = [each for each in self._joins if now - each < 60]
            if len(self._by_key) >= MOST_PARTICIPANTS or len(self._joins) >= MOST_JOINS_A_MINUTE:
                raise Refused(429, "The room is full; ask your teacher.")
            self._joins.append(now)
            taken = {each.alias for each in self._by_key.values()}
            free = [f"{c} {a}" for c in COLOURS for a in ANIMALS if f"{c} {a}" not in taken]
            alias, key = secrets.choice(free), secrets.token_urlsafe(18)
            self._by_key[key] = Participant(alias, now)
            return alias, key

    def leave(self, key: str) -> None:
        """Forgets a participant and all that was reported."""
        with self._lock:
            self._by_key.pop(key, None)

    def report(self, key: str, exercises: Any) -> None:
        """Notes exercises: {"06-4": {"attempts": 2, "hints": 1, "solved": false}}.

        Raises Refused for a stranger, for too many reports, and for data of another shape.
        """
        found = _checked(exercises)
        with self._lock:
            person = self._by_key.get(key)
            if person is None:
                raise Refused(403, "This room does not know you; join it again.")
            now = self.clock()
            filled = person.credit + (now - person.last_report) * REPORTS_A_SECOND
            person.credit, person.last_report = min(REPORTS_AT_ONCE, filled), now
            if person.credit < 1:
                raise Refused(429, "Too many reports; the next one counts.")
            person.credit -= 1
            for name, (attempts, hints, is_solved) in found.items():
                if name not in self.titles:
                    continue  # a prediction, or an exercise of another version
                before = person.exercises.get(name)
                same = before and (before.attempts, before.hints, before.is_solved)
                if same != (attempts, hints, is_solved):
                    person.exercises[name] = Attempted(attempts, hints, is_solved, now)

    def view(self) -> dict[str, Any]:
        """What the teacher's page shows: the exercises of every notebook begun, and everyone."""
        with self._lock:
            now = self.clock()
            people = self._by_key.values()
            tried = {_notebook(name) for each in people for name in each.exercises}
            return {
                "remaining_s": round(max(0.0, self.ends_at - now)),
                "exercises": [
                    [n, title] for n, title in self.titles.items() if _notebook(n) in tried
                ],
                "participants": [
                    {"alias": each.alias, "exercises": _shown(each, now)} for each in people
                ],
            }


def _notebook(exercise_id: str) -> str:
    return exercise_id.rpartition("-")[0]


def _shown(person: Participant, now: float) -> dict[str, Any]:
    return {
        name: {
            "attempts": each.attempts,
            "hints": each.hints,
            "solved": each.is_solved,
            "since_s": round(now - each.at),
            "stuck": not each.is_solved
            and (each.attempts >= STUCK_AFTER_ATTEMPTS or now - each.at >= STUCK_AFTER_S),
        }
        for name, each in person.exercises.items()
    }


def _checked(exercises: Any) -> dict[str, tuple[int, int, bool]]:
    """Raises Refused unless it is a report."""
    if not isinstance(exercises, dict) or len(exercises) > MOST_IN_A_REPORT:
        raise Refused(400, "A report is an object of exercises, a hundred at most.")
    found = {}
    for name, entry in exercises.items():
        if not EXERCISE_ID.fullmatch(name) or not isinstance(entry, dict):
            raise Refused(400, "A report names exercises like 06-4.")
        counts = (_count(entry.get("attempts")), _count(entry.get("hints")))
        found[name] = (*counts, entry.get("solved") is True)
    return found


def _count(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise Refused(400, "Attempts and hints are whole numbers.")
    return min(value, LARGEST_COUNT)
