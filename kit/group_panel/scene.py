"""Turns a frame into a scene to draw: members, and each partition where it is read.

A partition is a piece.  It is in the lane of the member that believes it owns it, because that
member's process reads it; a partition without a reader is in the tray above.  What the
coordinator says otherwise is drawn beside it:

    own        member and coordinator agree
    reported   the coordinator says so, and the member reports nothing itself
    revoking   the member has been asked to give it back and has not yet (KIP-848)
    stale      the member believes it owns it, and the coordinator says no: a zombie, or it has
               not heard yet
    given      the coordinator says so, and the member does not know it yet, or is gone
    target     where it goes when its present owner has given it back (KIP-848)
    free       it has no reader

This module decides in plain data, so that the drawings cannot disagree.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from kit.film.source import Snapshot
from kit.group_panel.seats import Seat, seats
from kit.group_panel.view import partitions

OWN, REPORTED, REVOKING, STALE = "own", "reported", "revoking", "stale"
GIVEN, TARGET, FREE = "given", "target", "free"
HELD = (OWN, REPORTED, REVOKING, STALE)
TRAY = ""
CLASSIC = ("range", "cooperative-sticky")
"""The protocols of which all members of a classic group must have one in common."""
SAYS = {
    OWN: "{seat} owns it, and knows it",
    REPORTED: "{seat} owns it by the coordinator's word; {seat} itself tells nothing",
    REVOKING: "{seat} must give it back and has not yet",
    STALE: "{seat} believes it owns it, but the coordinator says no",
    GIVEN: "the coordinator says that {seat} owns it; {seat} does not have it",
    TARGET: "goes to {seat} when its owner has given it back",
    FREE: "it has no reader",
}


@dataclass(frozen=True)
class Piece:
    """A partition in a member's lane, or in the tray (`seat` is "")."""

    partition: int
    seat: str
    kind: str
    says: str


@dataclass(frozen=True)
class Lag:
    """How far reading is behind: -1 where it is not known."""

    partition: int
    end: int
    committed: int
    position: int

    @property
    def lag(self) -> int:
        """The log's end less what is committed; what was never committed counts from the start."""
        return -1 if self.end < 0 else max(0, self.end - max(0, self.committed))

    @property
    def unread(self) -> int:
        """The log's end less what has been read, if that is known."""
        read = max(self.position, self.committed, 0)
        return -1 if self.end < 0 else max(0, self.end - read)


@dataclass(frozen=True)
class Member:
    """A card: the process, and what the coordinator thinks of it."""

    name: str
    id: str
    process: str
    standing: str
    protocol: str
    leads: bool
    is_member: bool
    ours: bool
    epoch: int
    zombie: bool


@dataclass(frozen=True)
class Scene:
    """Everything a drawing of one moment shows, but for the sentence and the bars."""

    group: str
    topic: str
    state: str
    facts: tuple[tuple[str, str], ...]
    members: tuple[Member, ...]
    pieces: tuple[Piece, ...]
    lags: tuple[Lag, ...]

    def to_plain(self) -> dict[str, Any]:
        plain = asdict(self)
        for lag, drawn in zip(self.lags, plain["lags"], strict=True):
            drawn |= {"lag": lag.lag, "unread": lag.unread}
        return plain

    def of(self, seat: str) -> list[Piece]:
        return [each for each in self.pieces if each.seat == seat]


def build(snapshot: Snapshot, topic: str) -> Scene:
    """What a moment of a group looks like, for one topic."""
    group, found = snapshot["group"], seats(snapshot)
    pieces = [each for index in partitions(snapshot, topic) for each in _pieces(
        snapshot, found, topic, index)]  # fmt: skip
    return Scene(
        group=snapshot["id"],
        topic=topic,
        state=group["state"] if group else "",
        facts=tuple(_facts(snapshot, topic)),
        members=tuple(_member(snapshot, seat, pieces) for seat in found),
        pieces=tuple(pieces),
        lags=tuple(lags(snapshot, found, topic)),
    )


def _pieces(snapshot: Snapshot, found: Sequence[Seat], topic: str, index: int) -> Iterator[Piece]:
    """A partition, wherever it is drawn."""

    def piece(kind: str, seat: str = TRAY) -> Piece:
        return Piece(index, seat, kind, SAYS[kind].format(seat=seat))

    held = False
    for seat in found:
        believes, owns = index in seat.believes(topic), index in seat.owns(topic)
        if not seat.is_known and owns:
            held = True
            yield piece(REPORTED, seat.name)
        elif believes:
            held = True
            beyond = not owns and _gives_back(snapshot, seat)
            asked = beyond or index in seat.revoking(topic)
            yield piece(REVOKING if asked else OWN if owns else STALE, seat.name)
        elif owns and not _between_generations(snapshot, seat):
            yield piece(GIVEN, seat.name)
        if index in seat.target(topic) and not (owns or believes):
            yield piece(TARGET, seat.name)
    if not held:
        yield piece(FREE)


def _gives_back(snapshot: Snapshot, seat: Seat) -> bool:
    """KIP-848: what a member has beyond its assignment it is asked for; a real broker does not
    show what it asked for.
    """
    return seat.member is not None and snapshot["group"]["type"] == "consumer"


def _between_generations(snapshot: Snapshot, seat: Seat) -> bool:
    """Classic: the coordinator's assignment is the last generation's, until the next is stored."""
    group = snapshot["group"]
    running = seat.process == "running"
    return running and group["type"] == "classic" and group["state"] != "Stable"


def _member(snapshot: Snapshot, seat: Seat, pieces: Sequence[Piece]) -> Member:
    group, member, client = snapshot["group"], seat.member or {}, seat.client or {}
    mine = [each for each in pieces if each.seat == seat.name]
    epoch = member.get("epoch", client.get("generation", -1))
    return Member(
        name=seat.name,
        id=str(member.get("id") or client.get("member_id") or ""),
        process=seat.process,
        standing=_standing(snapshot, seat),
        protocol=str(client.get("protocol") or ""),
        leads=bool(group and seat.member and group.get("leader") == member["id"]),
        is_member=seat.member is not None,
        ours=bool(client.get("ours")),
        epoch=-1 if epoch is None else int(epoch),
        zombie=seat.member is None and any(each.kind == STALE for each in mine),
    )


def _standing(snapshot: Snapshot, seat: Seat) -> str:
    """What the coordinator thinks of it; of one that it refuses, why."""
    group, said = snapshot["group"], seat.standing(snapshot["time_us"])
    if group is None or seat.member is not None or seat.process != "running":
        return said
    wants, has = (seat.client or {}).get("protocol"), group.get("protocol")
    is_refused = group["type"] == "classic" and wants in CLASSIC and has and wants != has
    return f"{said}: the others use {has}" if is_refused else said


def lags(snapshot: Snapshot, found: Sequence[Seat], topic: str) -> Iterator[Lag]:
    """End, committed offset and position of each partition."""
    group = snapshot["group"]
    committed = (group["offsets"].get(topic) or {}) if group else {}
    for index in partitions(snapshot, topic):
        at = [seat.position(topic, index) for seat in found if index in seat.believes(topic)]
        known = [each for each in at if each is not None]
        end = snapshot["ends"][topic][index]
        yield Lag(index, end, committed.get(index, -1), max(known, default=-1))


def _facts(snapshot: Snapshot, topic: str) -> Iterator[tuple[str, str]]:
    group = snapshot["group"]
    if group is None:
        yield "group", "not known to any coordinator"
        return
    yield "protocol", group["type"]
    yield "state", group["state"]
    if group["type"] == "consumer":
        yield "epoch", str(group.get("epoch", "?"))
        yield "assignor", str(group.get("assignor") or "–")
    else:
        if group["generation"] >= 0:
            yield "generation", str(group["generation"])
        yield "assignor", str(group["protocol"] or "–")
    state = snapshot["brokers"].get(group["coordinator"], "running")
    words = "" if state == "running" else f" {state}"
    yield "coordinator", f"{group['coordinator']}{words}"
    found = seats(snapshot)
    behind = [each.lag for each in lags(snapshot, found, topic) if each.lag >= 0]
    yield "members", str(len(group["members"]))
    if behind:
        yield "lag", str(sum(behind))
