"""Turns a frame into a scene to draw: one partition's replicas, aligned by offset.

This module decides, in plain data, everything that needs a decision, so that the three
drawings (browser, still picture, text) cannot disagree: which offsets are in view, which
records are committed as far as *this* replica knows (below its own high watermark), and
where logs diverge.  They diverge by the rule that brokers follow themselves (KIP-101): a
replica's record of epoch e does not belong if the leader's log ends epoch e at or before
its offset.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from kit.film.source import Frame, Snapshot
from kit.film.words import join

RECORDS_IN_VIEW = 8
FREE_COLUMNS = 2
LEAST_COLUMNS = 8


@dataclass(frozen=True)
class Cell:
    """One record in one replica's log; `parted`: the leader's history does not have it."""

    offset: int
    epoch: int
    value: str
    committed: bool
    parted: bool


@dataclass(frozen=True)
class Row:
    """One replica: its broker's state and the part of its log that is in view."""

    id: int
    state: str
    role: str
    in_isr: bool
    eligible: bool
    fenced: bool
    cut_from: tuple[int, ...]
    cells: tuple[Cell, ...]
    log_start_offset: int
    log_end_offset: int
    high_watermark: int


@dataclass(frozen=True)
class Controller:
    """One of several controllers; the active one decides, and `role` is what it is as a voter."""

    id: int
    state: str
    role: str
    epoch: int
    is_active: bool
    cut_from: tuple[int, ...]


@dataclass(frozen=True)
class Small:
    """One partition in the strip of small multiples: per replica (id, LEO, HW, epoch, up)."""

    partition: int
    leader: int
    trouble: str
    bars: tuple[tuple[int, int, int, int, bool], ...]


@dataclass(frozen=True)
class Message:
    """A message from one broker to another in this step."""

    source: int
    destination: int
    says: str


@dataclass(frozen=True)
class Scene:
    """Everything a drawing of one partition at one moment shows, but for the sentence."""

    topic: str
    partition: int
    leader: int
    leader_epoch: int
    facts: tuple[tuple[str, str], ...]
    controller: tuple[int, str]
    controllers: tuple[Controller, ...]
    """Empty if there is only one."""
    offsets: tuple[int, int]
    parts_at: int | None
    rows: tuple[Row, ...]
    strip: tuple[Small, ...]
    messages: tuple[Message, ...]

    def to_plain(self) -> dict[str, Any]:
        """The scene as dicts and lists, for a widget's trait."""
        return asdict(self)


def partition_of(snapshot: Snapshot, topic: str, partition: int) -> Mapping[str, Any] | None:
    """One partition of a snapshot, or None."""
    found = snapshot.get("topics", {}).get(topic, {}).get("partitions", {}).get(partition)
    return found if isinstance(found, Mapping) else None


def same_topic(was: Snapshot, now: Snapshot, topic: str) -> bool:
    """False if the name belongs to another topic now: it was deleted, and made again."""
    before, after = was.get("topics", {}).get(topic), now.get("topics", {}).get(topic)
    return not (before and after) or before.get("id") == after.get("id")


def build(frame: Frame, topic: str, partition: int) -> Scene:
    """The scene of a frame; just the brokers, if there is no such partition in it."""
    snapshot = frame.snapshot
    found = partition_of(snapshot, topic, partition)
    state = found or {"leader": -1, "replicas": sorted(snapshot.get("brokers", {}))}
    partitions = snapshot["topics"][topic]["partitions"] if found else {}
    logs = state.get("logs", {})
    offsets = offsets_in_view([end_of(log) for log in logs.values()])
    rows = tuple(_row(snapshot, state, replica, offsets) for replica in state["replicas"])
    parted = [offset for row in rows for offset in parted_offsets(state, row.id)[:1]]
    controller = snapshot.get("controller") or {}
    return Scene(
        topic=topic,
        partition=partition,
        leader=state["leader"],
        leader_epoch=state.get("leader_epoch", -1),
        facts=tuple(_facts(snapshot, topic, found)) if found else (),
        controller=(controller.get("id", -1), controller.get("state", "unknown")),
        controllers=tuple(_controllers(snapshot)),
        offsets=offsets,
        parts_at=min(parted, default=None),
        rows=rows,
        strip=tuple(_small(snapshot, index, partitions[index]) for index in sorted(partitions)),
        messages=tuple(messages(frame, topic, partition)),
    )


def offsets_in_view(ends: Sequence[int]) -> tuple[int, int]:
    """First and last-plus-one offset to draw: the newest records and some free places."""
    end = max(ends, default=0)
    first = max(0, end - RECORDS_IN_VIEW)
    return first, max(end + FREE_COLUMNS, first + LEAST_COLUMNS)


def end_of(log: Mapping[str, Any]) -> int:
    """A log's end offset; 0 if the provider does not know it."""
    return max(0, log.get("log_end_offset") or 0)


def records(log: Mapping[str, Any]) -> dict[int, tuple[int, str]]:
    """Epoch and value by offset, of those records the snapshot holds."""
    found: dict[int, tuple[int, str]] = {}
    for batch in log.get("batches") or ():
        values = batch.get("values") or ()
        for place, offset in enumerate(range(batch["base_offset"], batch["last_offset"] + 1)):
            value = str(values[place]) if place < len(values) else ""
            found[offset] = (batch["epoch"], value)
    return found


def values(log: Mapping[str, Any], offsets: Iterable[int]) -> str:
    """Records of a log by value where they are few and short, else by offset."""
    wanted, held = list(offsets), records(log)
    named = [held[offset][1] for offset in wanted if offset in held and held[offset][1]]
    if len(named) == len(wanted) <= 3 and all(len(value) <= 8 for value in named):
        return join(named)
    if len(wanted) == 1:
        return f"record {wanted[0]}"
    return f"records {wanted[0]}–{wanted[-1]}"


def epoch_at(log: Mapping[str, Any], offset: int) -> int:
    """The epoch of an offset, by the log's epoch list; -1 if the list does not say."""
    started = [epoch for epoch, start in log.get("epochs") or () if start <= offset]
    return max(started, default=-1)


def parted_offsets(state: Mapping[str, Any], replica: int) -> list[int]:
    """Offsets of a replica's log that the leader's history does not have, lowest first."""
    logs = state.get("logs", {})
    leader, log = logs.get(state["leader"]), logs.get(replica)
    if leader is None or log is None or replica == state["leader"]:
        return []
    held = records(log)
    low = min(held, default=log.get("log_start_offset") or 0)
    parted = []
    for offset in range(low, end_of(log)):
        epoch = held[offset][0] if offset in held else epoch_at(log, offset)
        later = [start for known, start in leader.get("epochs") or () if known > epoch]
        if epoch >= 0 and later and offset >= min(later):
            parted.append(offset)
    return parted


def _row(
    snapshot: Snapshot, state: Mapping[str, Any], replica: int, offsets: tuple[int, int]
) -> Row:
    broker = snapshot.get("brokers", {}).get(replica, {})
    log = state.get("logs", {}).get(replica, {})
    held, start, end = records(log), log.get("log_start_offset") or 0, end_of(log)
    high_watermark = log.get("high_watermark")
    high_watermark = -1 if high_watermark is None else high_watermark
    parted = set(parted_offsets(state, replica))
    cells = []
    for offset in range(max(offsets[0], start), min(offsets[1], end)):
        epoch, value = held.get(offset, (epoch_at(log, offset), ""))
        cells.append(Cell(offset, epoch, value, offset < high_watermark, offset in parted))
    down = broker.get("state", "unknown") not in ("running", "paused")
    role = "offline" if down else "leader" if replica == state["leader"] else "follower"
    return Row(
        id=replica,
        state=broker.get("state", "unknown"),
        role=role,
        in_isr=replica in state.get("isr", ()),
        eligible=replica in (state.get("elr") or ()),
        fenced=bool(broker.get("fenced")) and not down,
        cut_from=tuple(cut_from(snapshot, replica)),
        cells=tuple(cells),
        log_start_offset=start,
        log_end_offset=-1 if log.get("log_end_offset") is None else end,
        high_watermark=high_watermark,
    )


def _controllers(snapshot: Snapshot) -> Iterator[Controller]:
    found = snapshot.get("controllers", {})
    for each, known in sorted(found.items()) if len(found) > 1 else ():
        yield Controller(
            id=each,
            state=known["state"],
            role=known.get("role", ""),
            epoch=known.get("epoch", -1),
            is_active=bool(known.get("is_active")),
            cut_from=tuple(cut_from(snapshot, each)),
        )


def cut_from(snapshot: Snapshot, node: int) -> list[int]:
    """The nodes to which a node's link is cut, one way or both."""
    broken = [link for link in snapshot.get("links") or () if link["state"].startswith("cut")]
    ends = [link["between"] for link in broken]
    return sorted(b if a == node else a for a, b in ends if node in (a, b))


def _facts(snapshot: Snapshot, topic: str, state: Mapping[str, Any]) -> list[tuple[str, str]]:
    def ids(brokers: Sequence[int]) -> str:
        return ", ".join(map(str, brokers)) or "none"

    facts = [
        ("leader", str(state["leader"]) if state["leader"] >= 0 else "none"),
        ("epoch", str(state.get("leader_epoch", "?"))),
        ("ISR", ids(state.get("isr") or ())),
    ]
    if state.get("elr"):
        facts.append(("ELR", ids(state["elr"])))
    least = (snapshot["topics"][topic].get("config") or {}).get("min.insync.replicas")
    if least is not None:
        facts.append(("min.insync.replicas", str(least)))
    return facts


def _small(snapshot: Snapshot, index: int, state: Mapping[str, Any]) -> Small:
    bars = []
    for replica in state["replicas"]:
        log = state.get("logs", {}).get(replica, {})
        up = snapshot.get("brokers", {}).get(replica, {}).get("state") in ("running", "paused")
        epochs = [epoch for epoch, _ in log.get("epochs") or ()]
        bars.append(
            (replica, end_of(log), log.get("high_watermark") or 0, max(epochs, default=0), up)
        )
    missing = len(state["replicas"]) - len(state.get("isr") or ())
    trouble = "no leader" if state["leader"] < 0 else "under-replicated" if missing else ""
    return Small(index, state["leader"], trouble, tuple(bars))


def messages(frame: Frame, topic: str, partition: int) -> list[Message]:
    """A leader's messages to its followers in this frame, by the trace; the last one counts."""
    state = partition_of(frame.snapshot, topic, partition)
    newest: dict[int, Message] = {}
    for line in frame.lines:
        if state is None or line.partition != f"{topic}-{partition}" or line.node < 0:
            continue
        leader = state["leader"]
        if line.kind == "append" and line.node != leader and leader >= 0:
            base, last = line["base"], line["last"]
            says = f"record {base}" if base == last else f"records {base}–{last}"
            newest[line.node] = Message(leader, line.node, says)
        elif line.kind == "diverging" and line.node != leader and leader >= 0:
            says = f"epoch {line['epoch']} ends at {line['end']}"
            newest[line.node] = Message(leader, line.node, says)
    return [newest[replica] for replica in sorted(newest)]
