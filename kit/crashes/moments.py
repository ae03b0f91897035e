"""At which of a line's many moments to crash: where most would be lost or repeated.

A run without a crash notes each completed line, and between them what was read, processed and
committed.  So it is known what a crash at each of these moments would leave behind:

    committed and not processed     lost, if the crash comes now
    processed and not committed     repeated, if the crash comes now

Of each line, the moment where most would be lost and the one where most would be repeated are
taken, then one in the middle, the first and the last, up to a limit.  Where the limit is one, it
is the moment at which most would be lost or repeated, the middle one of several.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kit.crashes.journal import Note
from kit.crashes.tape import Moment

MOST_PER_LINE, MOST = 3, 36


@dataclass(frozen=True)
class Candidate:
    """One completion of a line, and what a crash then would leave."""

    got: int
    done: int
    commits: int
    ahead: int
    """Records below the committed offset that are not processed."""
    behind: int
    """Processed records that are not below the committed offset."""


def choose(
    notes: Iterable[Note], situation: str, auto_commits: bool, per_line: int = MOST_PER_LINE
) -> list[Moment]:
    """The moments of one run at which a crash is worth a trial, so many of each line at most."""
    lines = _candidates(notes, auto_commits)
    most = max(1, min(per_line, MOST // max(1, len(lines))))
    return [
        Moment(line, each.got, each.done, each.commits, situation)
        for line in sorted(lines)
        for each in _telling(lines[line], most)
    ]


def _telling(found: list[Candidate], most: int) -> list[Candidate]:
    work = [each for each in found if each.got] or found[-1:]
    if most == 1:
        worst = max(max(each.ahead, each.behind) for each in work)
        worst_of = [each for each in work if max(each.ahead, each.behind) == worst]
        return [worst_of[len(worst_of) // 2]]
    chosen = dict.fromkeys((
        max(work, key=lambda each: each.ahead),
        max(work, key=lambda each: each.behind),
        work[len(work) // 2],
        work[0],
        work[-1],
    ))  # fmt: skip
    return sorted(list(chosen)[:most], key=lambda each: (each.got, each.done, each.commits))


def _candidates(notes: Iterable[Note], auto_commits: bool) -> dict[int, list[Candidate]]:
    lines: dict[int, list[Candidate]] = {}
    got: list[tuple[int, int]] = []
    done: list[tuple[int, int]] = []
    committed: dict[int, int] = {}
    commits = 0
    for note in notes:
        if note.who != "A1":
            continue
        match note.kind:
            case "got":
                got += [(partition, offset) for partition, offset in note.details[0]]
                if auto_commits:
                    committed |= {partition: offset + 1 for partition, offset in note.details[0]}
            case "done" | "ignored" | "wrote":
                done.append((note.details[0], note.details[1]))
            case "commit":
                commits += 1
                committed |= dict(note.details[1])
            case "idle":
                break
            case "line":
                ahead = [p for p in got if p[1] < committed.get(p[0], 0) and p not in done]
                behind = [p for p in done if p[1] >= committed.get(p[0], 0)]
                lines.setdefault(note.details[0], []).append(
                    Candidate(len(got), len(done), commits, len(ahead), len(behind))
                )
    return lines
