"""What one trial has shown: its notes, and the history checker's findings about them.

The history has three parts: the records as the topic holds them, what each application read and
processed, and the group's committed offsets, as the broker accepted them or handed them out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from engine.sim.history import (
    Commit,
    Finding,
    Findings,
    History,
    Operation,
    Poll,
    Process,
    Read,
    Seek,
    Send,
    check,
)
from kit.crashes.journal import Note
from kit.crashes.tape import Trial

Place = tuple[int, int]
"""Partition and offset."""
TOPIC = "topic"


@dataclass(frozen=True)
class Evidence:
    """One trial; `values` are the topic's records, by partition."""

    trial: Trial
    notes: tuple[Note, ...]
    values: Mapping[int, tuple[str, ...]]

    # -- the checker's verdict

    @cached_property
    def findings(self) -> Findings:
        return check(history(self.notes, self.values))

    @property
    def lost(self) -> list[Place]:
        """Below the committed offset, and never processed."""
        return _places(self.findings.of("unprocessed"))

    @property
    def repeated(self) -> list[Place]:
        """Processed more than once."""
        return list(dict.fromkeys(_places(self.findings.of("reprocessed"))))

    @property
    def polled_again(self) -> list[Place]:
        """Handed out by poll more than once."""
        got = Counter((p, o) for note in self.of("got") for p, o in note.details[0])
        return [place for place, times in got.items() if times > 1]

    @property
    def disordered(self) -> list[Place]:
        return _places(self.findings.of("disordered"))

    # -- the notes

    def of(self, kind: str, who: str = "") -> list[Note]:
        return [each for each in self.notes if each.kind == kind and who in ("", each.who)]

    def after(self, note: Note) -> tuple[Note, ...]:
        return self.notes[self.notes.index(note) + 1 :]

    def before(self, note: Note) -> tuple[Note, ...]:
        return self.notes[: self.notes.index(note)]

    @cached_property
    def crash(self) -> Note | None:
        """The note of the crash, if it came."""
        return next(iter(self.of("crash")), None)

    @property
    def line(self) -> int:
        """The line after which the crash came; 0 if there was none."""
        return self.crash.details[0] if self.crash is not None else 0

    def committed_after(self, note: Note) -> dict[int, int]:
        """Where the next application started, or where the group was at the end."""
        found: dict[int, int] = {}
        for each in self.after(note):
            if each.kind in ("assigned", "idle"):
                for partition, offset in each.details[0]:
                    found.setdefault(partition, max(0, offset))
        return found

    def committed(self, partition: int) -> int:
        """The committed offset that the second run or the second application started from."""
        first = self.crash or next(iter(self.of("ended")), None)
        second = "B" if self.trial.situation.second_after >= 0 else ""
        for note in self.of("assigned"):
            later = note.who[0] == second if second else note.who != "A1"
            if later and (second or first is None or note.at_us > first.at_us):
                for place, offset in note.details[0]:
                    if place == partition:
                        return max(0, offset)
        ends = [o for n in self.of("idle") for p, o in n.details[0] if p == partition]
        return ends[-1] if ends else 0

    def done_by(self, notes: Iterable[Note]) -> list[Place]:
        return [(n.details[0], n.details[1]) for n in notes if n.kind == "done"]


def history(notes: Iterable[Note], values: Mapping[int, tuple[str, ...]]) -> History:
    """The notes of a trial as the history checker wants them."""
    operations: list[Operation] = []
    for partition, records in values.items():
        operations += [Send(0, "producer", TOPIC, partition, value, "acknowledged", offset, 0)
                       for offset, value in enumerate(records)]  # fmt: skip
        reads = tuple(Read(TOPIC, partition, *record) for record in enumerate(records))
        operations.append(Poll(0, "the topic", reads))
    for note in notes:
        operations += _operations(note, values)
    return History(tuple(operations))


def _operations(note: Note, values: Mapping[int, tuple[str, ...]]) -> list[Operation]:
    at_us, who, details = note.at_us, name_of(note.who), note.details
    match note.kind:
        case "assigned" | "idle":
            commits = [Commit(at_us, who, TOPIC, p, o) for p, o in details[0] if o >= 0]
            seeks = [Seek(at_us, who, TOPIC, p, max(0, o)) for p, o in details[0]]
            return [*commits, *(seeks if note.kind == "assigned" else [])]
        case "seek":
            return [Seek(at_us, who, TOPIC, details[0], details[1])]
        case "got":
            return [Poll(at_us, who, tuple(Read(TOPIC, p, o, values[p][o]) for p, o in details[0]))]
        case "done":
            return [Process(at_us, who, TOPIC, *details[:3])]
        case "settled" if not details[2]:
            return [Commit(at_us, who, TOPIC, p, o) for p, o in details[1]]
    return []


def name_of(who: str) -> str:
    """`A1` is A, `A2` is A after a restart."""
    return who[0] if who.endswith("1") else f"{who[0]} restarted"


def _places(findings: Iterable[Finding]) -> list[Place]:
    return [(each.partition, each.offset) for each in findings]
