"""What members of one group have told, and what must not be in it.

A partition has one owner: from `given`, which its client said after the coordinator had, to `taken`
or `lost`, which it said before it told the coordinator.  All members share a machine and its clock,
so the order of their times is the order of what happened.

A frozen member is the exception that the protocol allows: its partitions are given away when its
session ends, and it cannot know.  So it owns nothing from the moment it is frozen.  What it may
still do with its old ones is judged by its commit, which must be refused.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Event:
    """One line of a member; its kinds are in host.py, and `frozen`."""

    time_us: int
    name: str
    kind: str
    partitions: tuple[int, ...] = ()
    detail: str = ""


def parsed(line: str) -> Event:
    name, time_us, kind, numbers, detail = line.split("|")
    return Event(int(time_us), name, kind, tuple(map(int, numbers.split(",") if numbers else ())),
                 detail)  # fmt: skip


def owned(events: Iterable[Event]) -> set[int]:
    """What a member owns after these events, as it believes itself."""
    found: set[int] = set()
    for each in events:
        if each.kind == "given":
            found |= set(each.partitions)
        elif each.kind in ("taken", "lost"):
            found -= set(each.partitions)
    return found


def faults(events: Iterable[Event], committed: Iterable[tuple[int, int]]) -> list[str]:
    """Sentences; none if all is well.  `committed` has times and offsets, the same everywhere."""
    wrong: list[str] = []
    owner: dict[int, str] = {}
    given_at: dict[tuple[str, int], int] = {}
    frozen: set[str] = set()
    commits = sorted(committed)
    for each in sorted(events):
        if each.kind == "error":
            wrong.append(f"{each.name} fails: {each.detail}")
        if each.kind == "frozen":
            frozen.add(each.name)
            owner = {part: name for part, name in owner.items() if name != each.name}
        for part in each.partitions:
            if each.kind == "given":
                given_at[each.name, part] = each.time_us
                other = owner.setdefault(part, each.name)
                if other != each.name:
                    wrong.append(f"{part} is given to {each.name} while {other} owns it")
            elif each.kind in ("taken", "lost") and owner.get(part) == each.name:
                del owner[part]
                if each.kind == "lost" and each.name not in frozen:
                    wrong.append(f"{each.name} loses {part} though it lives")
            elif each.kind == "read":
                valid = in_force(commits, given_at[each.name, part], each.time_us)
                if int(each.detail) not in valid:
                    wrong.append(f"{each.name} reads {part} from {each.detail}, not from {valid}")
    return wrong


def in_force(commits: list[tuple[int, int]], since_us: int, until_us: int) -> list[int]:
    """The committed offsets that a member may start from if it asks in this time."""
    before = [0, *(offset for time_us, offset in commits if time_us < since_us)]
    return [before[-1], *(at for time_us, at in commits if since_us <= time_us < until_us)]
