"""Turns a moment into a scene to draw: a row per controller, its log in columns of offsets.

    Cell        a record: kind, words, epoch; `committed` as far as this controller knows
    Row         a controller: role, epoch, vote, how far its log reaches
    Entry       a record in words, with the controllers that have it
    Column      an offset, or a run of offsets at which no controller has anything but NoOps

This module decides in plain data, so that the drawings cannot disagree.  Logs diverge by the rule
that partitions follow, too (kit/panel/scene.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from engine.quorum.election_state import NONE
from engine.quorum.roles import Role
from kit.film.source import Snapshot
from kit.panel.scene import cut_from, parted_offsets
from kit.quorum_panel import standings
from kit.quorum_panel.logs import QUIET, is_quiet
from kit.quorum_panel.view import Voter

COLUMNS_MOST = 9
BEFORE = 2
"""So many columns are shown before the offset that must be in view."""
NO_FILES = "Its log cannot be read from here: what DescribeQuorum says is shown."


@dataclass(frozen=True)
class Cell:
    """A record, or a run of NoOps up to `last`; `joined`: of one batch with the one before."""

    offset: int
    last: int
    epoch: int
    kind: str
    brief: str
    says: str
    committed: bool
    parted: bool
    joined: bool


@dataclass(frozen=True)
class Row:
    """A controller with all that is known of its log; a number is -1 where it is not known.

    `voted` is -1 without a vote.
    """

    id: int
    state: str
    role: str
    epoch: int
    leader: int
    voted: int
    granted: tuple[int, ...]
    is_active: bool
    cut_from: tuple[int, ...]
    log_start_offset: int
    log_end_offset: int
    high_watermark: int
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Entry:
    """A record in words; `known_by` are the controllers that know it to be committed."""

    offset: int
    epoch: int
    kind: str
    says: str
    parted: bool
    held_by: tuple[int, ...]
    known_by: tuple[int, ...]


@dataclass(frozen=True)
class Column:
    """One place on the axis; `quiet` if it is a run of NoOps."""

    first: int
    last: int
    quiet: bool


@dataclass(frozen=True)
class Scene:
    """Everything a drawing of one moment shows, but for the sentence and the timeline."""

    leader: int
    facts: tuple[tuple[str, str], ...]
    columns: tuple[Column, ...]
    parts_at: int | None
    rows: tuple[Row, ...]
    entries: tuple[Entry, ...]
    lacks: str

    def to_plain(self) -> dict[str, Any]:
        return asdict(self)

    def row(self, controller: int) -> Row:
        return next(each for each in self.rows if each.id == controller)


def build(snapshot: Snapshot) -> Scene:
    """What a moment looks like."""
    voters = snapshot["voters"]
    leader = standings.leader_of(voters)
    logs = {"logs": voters, "leader": leader}
    rows = tuple(_row(snapshot, each, logs) for each in voters)
    parted = [offset for each in voters for offset in _parted(logs, each)[:1]]
    shown = columns(rows, min(parted, default=None))
    known = any(each["batches"] for each in voters.values())
    return Scene(
        leader=leader,
        facts=tuple(standings.facts(voters)),
        columns=shown,
        parts_at=min(parted, default=None),
        rows=rows,
        entries=tuple(entries(rows, shown)),
        lacks="" if known or not voters else NO_FILES,
    )


def columns(rows: Iterable[Row], beside: int | None = None) -> tuple[Column, ...]:
    """The newest offsets that any controller has, with runs of NoOps as one column.

    An offset `beside` is in view, too, such as the one at which logs diverge.
    """
    cells = [cell for row in rows for cell in row.cells]
    if not cells:
        return ()
    single = sorted({cell.offset for cell in cells if cell.kind != QUIET})
    start, end = min(cell.offset for cell in cells), max(cell.last for cell in cells) + 1
    found: list[Column] = []
    for offset in [*single, end]:
        if start < offset:
            found.append(Column(start, offset - 1, True))
        if offset < end:
            found.append(Column(offset, offset, False))
        start = offset + 1
    first = max(0, len(found) - COLUMNS_MOST)
    if beside is not None:
        at = next((at for at, each in enumerate(found) if each.last >= beside), first)
        first = min(first, max(0, at - BEFORE))
    return tuple(found[first : first + COLUMNS_MOST])


def _row(snapshot: Snapshot, controller: int, logs: Mapping[str, Any]) -> Row:
    each = snapshot["voters"][controller]
    mark, leader = each.get("high_watermark", -1), each.get("leader", NONE)
    parted = _parted(logs, controller)
    if mark < 0:  # what cannot be asked for is as the leader has it
        mark = int(snapshot["voters"].get(logs["leader"], {}).get("high_watermark", 0))
        mark = min([mark, *parted[:1]])
    voted = each.get("voted", NONE)
    return Row(
        id=controller,
        state=each["state"],
        role=_role(each),
        epoch=each.get("epoch", -1),
        leader=leader,
        voted=controller if leader == controller else voted,
        granted=tuple(each.get("granted", ())),
        is_active=bool(each.get("is_active")),
        cut_from=tuple(other for other in cut_from(snapshot, controller)
                       if other in snapshot["voters"]),
        log_start_offset=each.get("log_start_offset", 0),
        log_end_offset=each.get("log_end_offset", -1),
        high_watermark=each.get("high_watermark", -1),
        cells=tuple(_cells(each, mark, parted)),
    )  # fmt: skip


def _role(each: Voter) -> str:
    """A controller that copies the log and has no vote is an observer, as in DescribeQuorum."""
    role = str(each.get("role", ""))
    observes = not each.get("is_voter", True) and role in (Role.FOLLOWER, Role.UNATTACHED)
    return "observer" if observes else role


def _parted(logs: Mapping[str, Any], controller: int) -> list[int]:
    """The offsets at which a log has what the leader's has not."""
    return parted_offsets(logs, controller) if logs["logs"][controller]["batches"] else []


def _cells(voter: Voter, mark: int, parted: Sequence[int]) -> Iterator[Cell]:
    for stored in voter["batches"]:
        base, last, epoch = stored["base_offset"], stored["last_offset"], stored["epoch"]
        if is_quiet(stored):
            says = "no news (NoOp)" if base == last else f"{last - base + 1} NoOps: no news"
            yield Cell(base, last, epoch, QUIET, "", says, last < mark, last in parted, False)
            continue
        said = zip(stored["kinds"], stored["briefs"], stored["values"], strict=True)
        for place, (kind, brief, full) in enumerate(said):
            at = base + place
            yield Cell(at, at, epoch, kind, brief, full, at < mark, at in parted, place > 0)


def in_view(cells: Iterable[Cell], shown: Sequence[Column]) -> list[Cell]:
    """Those of a log's cells that are in the columns."""
    first, last = (shown[0].first, shown[-1].last) if shown else (0, -1)
    return [cell for cell in cells if first <= cell.last and cell.offset <= last]


def entries(rows: Sequence[Row], shown: Sequence[Column]) -> Iterator[Entry]:
    """The records in view that any controller has, by offset and epoch."""
    found: dict[tuple[int, int], list[tuple[int, Cell]]] = {}
    for row in rows:
        for cell in in_view(row.cells, shown):
            if cell.kind != QUIET:
                found.setdefault((cell.offset, cell.epoch), []).append((row.id, cell))
    for (offset, epoch), held in sorted(found.items()):
        yield Entry(
            offset=offset,
            epoch=epoch,
            kind=held[0][1].kind,
            says=held[0][1].says,
            parted=any(cell.parted for _, cell in held),
            held_by=tuple(controller for controller, _ in held),
            known_by=tuple(controller for controller, cell in held if cell.committed),
        )
