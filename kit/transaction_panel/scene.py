"""Turns a moment into a scene to draw: transactional ids, producers, logs and two readers.

    Id          a card: the coordinator's state in the diagram of the engine's own table, the
                producer id and epoch that hold, the partitions of the transaction, its time-out
    Client      a producer as it sees itself; two with one id are the new one and the zombie
    Row         a partition: a cell for each offset, the two readers below it, HW and LSO as lines
    Stored      a record of `__transaction_state`

This module decides in plain data, so that the drawings cannot disagree.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from engine.coordinators.transactions.states import TRANSITIONS
from kit.film.source import Line, Snapshot
from kit.transaction_panel import logs
from kit.transaction_panel.readers import GIVEN, HELD, LEVELS, SKIPPED, Seen, seen
from kit.transaction_panel.view import GONE, NO_LEADER, NOT_KNOWN, is_internal

Edge = tuple[str, str, str]
EDGES: tuple[Edge, ...] = tuple(
    (str(before), str(event), str(after)) for (before, event), after in TRANSITIONS.items()
)
"""The coordinator's table: state, event, next state."""
FENCE = "PrepareEpochFence"
FENCED = ("FatalError",)
FATES = {
    "": "in no transaction",
    logs.OPEN: "its transaction is open",
    logs.COMMITTED: "committed",
    logs.ABORTED: "aborted",
}
RECEIVED = {
    "given": "has it",
    "skipped": "skips it: aborted",
    "held": "must wait: it is behind the LSO",
    "ahead": "not yet: it is above the high watermark",
}
CELLS_MOST, ROWS_MOST = 60, 8
LED = {NO_LEADER: "no leader", NOT_KNOWN: ""}


@dataclass(frozen=True)
class Cell:
    """An offset; `kind` is data, commit, abort or control; `fate` is "" outside a transaction."""

    offset: int
    kind: str
    value: str
    producer_id: int
    epoch: int
    fate: str
    uncommitted: str
    committed: str
    joined: bool
    says: str


@dataclass(frozen=True)
class Row:
    """A partition; `led` says by which broker.  `hidden` are older cells that are left out."""

    name: str
    leader: int
    led: str
    internal: bool
    high_watermark: int
    last_stable_offset: int
    end: int
    hidden: int
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Part:
    """A partition of the running transaction; `marker` is "", missing or written."""

    name: str
    marker: str


@dataclass(frozen=True)
class Id:
    """A transactional id, as its coordinator has it; `took` are the edges just taken."""

    id: str
    state: str
    pending: str
    took: tuple[Edge, ...]
    producer_id: int
    epoch: int
    timeout_ms: int
    left_ms: int | None
    coordinator: int
    coordinator_state: str
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Client:
    """A producer; `is_fenced` if another one has its id by now."""

    name: str
    id: str
    process: str
    state: str
    call: str
    error: str
    producer_id: int
    epoch: int
    is_fenced: bool
    ours: bool


@dataclass(frozen=True)
class Reader:
    """One isolation level, over all partitions that applications read."""

    level: str
    given: int
    held: int
    skipped: int
    values: tuple[tuple[str, tuple[str, ...]], ...]
    """By partition: what it has been given."""


@dataclass(frozen=True)
class Scene:
    """Everything a drawing of one moment shows, but for the sentence and the timeline."""

    ids: tuple[Id, ...]
    clients: tuple[Client, ...]
    rows: tuple[Row, ...]
    more: tuple[str, ...]
    empty: tuple[str, ...]
    records: tuple[Mapping[str, Any], ...]
    readers: tuple[Reader, ...]
    facts: tuple[tuple[str, str], ...]

    def to_plain(self) -> dict[str, Any]:
        return asdict(self)

    def row(self, name: str) -> Row:
        return next(each for each in self.rows if each.name == name)

    def reader(self, level: str) -> Reader:
        return next(each for each in self.readers if each.level == level)


def build(snapshot: Snapshot, lines: Sequence[Line] = ()) -> Scene:
    """What a moment looks like; `lines` are those of the trace that led to it."""
    partitions = snapshot["partitions"]
    shown = {name: list(seen(each)) for name, each in partitions.items()}
    drawn = _chosen(shown, partitions)
    return Scene(
        ids=tuple(_ids(snapshot, lines)),
        clients=tuple(_clients(snapshot)),
        rows=tuple(_row(name, partitions[name], shown[name]) for name in drawn),
        more=tuple(name for name, found in shown.items() if found and name not in drawn),
        empty=tuple(name for name, found in shown.items() if not found),
        records=tuple(snapshot["records"]),
        readers=tuple(_reader(level, shown, partitions) for level in LEVELS),
        facts=tuple(_facts(snapshot)),
    )


def _chosen(
    shown: Mapping[str, Sequence[Seen]], partitions: Mapping[str, Mapping[str, Any]]
) -> list[str]:
    """The partitions that are drawn: of very many, those in which read_committed must wait."""
    found = [name for name, seen_there in shown.items() if seen_there]

    def rank(name: str) -> bool:
        each = partitions[name]
        return bool(each["last_stable_offset"] >= each["high_watermark"])

    chosen = sorted(found, key=rank)[:ROWS_MOST]
    return [name for name in found if name in chosen]


# -- what the coordinator knows


def _ids(snapshot: Snapshot, lines: Sequence[Line]) -> Iterator[Id]:
    for name, each in sorted(snapshot["transactions"].items()):
        waits = set(_names(each["awaiting_markers"]))
        decided = each["state"].startswith("Prepare")
        parts = (
            Part(part, ("missing" if part in waits else "written") if decided else "")
            for part in _names(each["partitions"])
        )
        running = each["state"] == "Ongoing" and each["start_ms"] >= 0
        ends_ms = each["start_ms"] + each["timeout_ms"]
        yield Id(
            id=name,
            state=each["state"],
            pending=each["pending"] or "",
            took=took(name, lines),
            producer_id=each["producer_id"],
            epoch=each["producer_epoch"],
            timeout_ms=each["timeout_ms"],
            left_ms=max(0, ends_ms - snapshot["time_us"] // 1000) if running else None,
            coordinator=each["coordinator"],
            coordinator_state=str(snapshot["brokers"].get(each["coordinator"], "running")),
            parts=tuple(parts),
        )


def _names(by_topic: Mapping[str, Iterable[int]]) -> list[str]:
    return [f"{topic}-{index}" for topic, indexes in by_topic.items() for index in indexes]


def took(transactional_id: str, lines: Sequence[Line]) -> tuple[Edge, ...]:
    """The edges of the state diagram that an id has just taken."""
    edges = [
        edge
        for line in lines
        if line.kind == "transaction" and line["id"] == transactional_id
        for edge in _way(str(line["before"]), str(line["state"]), line.why)
    ]
    return tuple(edges)


def _way(before: str, after: str, why: str) -> Iterator[Edge]:
    """From one record to the next.  A fenced producer's transaction passes PrepareEpochFence, which
    has no record of its own."""
    if (before, after) == ("Ongoing", "PrepareAbort") and why and not why.startswith("EndTxn"):
        yield from _way(before, FENCE, why)
        yield from _way(FENCE, after, why)
        return
    found = [edge for edge in EDGES if (edge[0], edge[2]) == (before, after)]
    yield found[0] if found else (before, why, after)


def _clients(snapshot: Snapshot) -> Iterator[Client]:
    for name, each in snapshot["clients"].items():
        known = snapshot["transactions"].get(each["id"])
        yield Client(
            name=name,
            id=each["id"],
            process=each["process"],
            state=each["state"],
            call=each["call"],
            error=each["error"],
            producer_id=each["producer_id"],
            epoch=each["epoch"],
            is_fenced=each["process"] not in GONE
            and (each["is_replaced"] or _is_older(each, known)),
            ours=each["ours"],
        )


def _is_older(client: Mapping[str, Any], known: Mapping[str, Any] | None) -> bool:
    """Whether another producer has taken the id since; one epoch more may be the next of its own
    (KIP-890), while a call is under way."""
    if client["state"] in FENCED:
        return True
    if known is None or client["epoch"] < 0:
        return False
    apart = known["producer_epoch"] - client["epoch"]
    return known["producer_id"] != client["producer_id"] or apart > (1 if client["call"] else 0)


# -- what the logs hold


def _row(name: str, partition: Mapping[str, Any], found: Sequence[Seen]) -> Row:
    internal = is_internal(partition["topic"])
    shown = found[-CELLS_MOST:]
    cells = []
    for at, each in enumerate(shown):
        joined = at > 0 and shown[at - 1].stored is each.stored
        cells.append(_cell(each, joined, internal))
    return Row(
        name=name,
        leader=partition["leader"],
        led=LED.get(partition["leader"], f"leader {partition['leader']}"),
        internal=internal,
        high_watermark=partition["high_watermark"],
        last_stable_offset=partition["last_stable_offset"],
        end=partition["end"],
        hidden=len(found) - len(shown),
        cells=tuple(cells),
    )


def _cell(each: Seen, joined: bool, internal: bool) -> Cell:
    stored = each.stored
    return Cell(
        offset=each.offset,
        kind=stored["kind"],
        value=each.value,
        producer_id=stored["producer_id"] if stored["is_transactional"] else -1,
        epoch=stored["epoch"],
        fate=each.fate if stored["kind"] == logs.DATA else "",
        uncommitted=each.uncommitted,
        committed=each.committed,
        joined=joined,
        says=_says(each, internal),
    )


def _says(each: Seen, internal: bool) -> str:
    stored = each.stored
    by = f"producer {stored['producer_id']}, epoch {stored['epoch']}"
    if stored["kind"] != logs.DATA:
        return f"offset {each.offset}: the {stored['kind'].upper()} marker of {by}"
    whose = by if stored["producer_id"] >= 0 else "no producer id"
    said = f"offset {each.offset}: {each.value}; {whose}; {FATES[each.fate]}"
    if internal:
        return said
    levels = zip(LEVELS, (each.uncommitted, each.committed), strict=True)
    return "; ".join([said, *(f"{level} {RECEIVED[had]}" for level, had in levels)])


def _reader(
    level: str, shown: Mapping[str, Sequence[Seen]], partitions: Mapping[str, Mapping[str, Any]]
) -> Reader:
    counts = {GIVEN: 0, HELD: 0, SKIPPED: 0}
    values = []
    for name, found in shown.items():
        if is_internal(partitions[name]["topic"]):
            continue
        had = [(each, each.uncommitted if level == LEVELS[0] else each.committed) for each in found]
        for _, what in had:
            if what in counts:
                counts[what] += 1
        given = tuple(each.value for each, what in had if what == GIVEN)
        if found:
            values.append((name, given[-CELLS_MOST:]))
    return Reader(level, counts[GIVEN], counts[HELD], counts[SKIPPED], tuple(values))


def _facts(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    ids = snapshot["transactions"]
    yield "transactional ids", str(len(ids))
    still = [each for each in ids.values() if each["state"] in ("Ongoing", "PrepareCommit",
                                                               "PrepareAbort")]  # fmt: skip
    yield "open", str(len(still))
