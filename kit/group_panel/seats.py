"""Brings a member of the coordinator and a client's own word together: one seat for both.

A client is found by its member id.  Where the coordinator does not know that id, the seat shows
the client alone: it has not joined yet, or it was removed and has not heard of it (a zombie).
Where no client is known, the seat shows the member alone: another program's, or what is left of
a client that came back under a new id, until its session is over.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kit.film.source import Snapshot
from kit.group_panel.view import GONE

STATES = {
    "STABLE": "stable",
    "stable": "stable",
    "to join": "must join again",
    "joined": "has joined, waits for the others",
    "to sync": "must ask for its assignment",
    "synced": "waits for the assignment",
    "UNREVOKED_PARTITIONS": "must give partitions back",
    "UNRELEASED_PARTITIONS": "waits for partitions that others give back",
    "BEHIND": "has not caught up with the epoch",
    "UNSUBSCRIBED": "is not subscribed",
}
"""What the coordinator's word for a member's state means; the KIP-848 ones are Kafka's."""


@dataclass(frozen=True)
class Seat:
    """A place in the group; at least one of `member` and `client` is there."""

    name: str
    member: Mapping[str, Any] | None
    client: Mapping[str, Any] | None

    @property
    def is_known(self) -> bool:
        """Whether the client itself tells what it believes."""
        return self.client is not None

    @property
    def process(self) -> str:
        """running, frozen, killed, left; "" if it does not report."""
        return "" if self.client is None else str(self.client["state"])

    @property
    def is_gone(self) -> bool:
        return self.process in GONE

    def believes(self, topic: str) -> list[int]:
        """What it thinks it owns; a process that is gone thinks nothing."""
        if self.client is None or self.is_gone:
            return []
        return sorted(self.client["owned"].get(topic) or ())

    def owns(self, topic: str) -> list[int]:
        """What it owns by the coordinator's word."""
        return self._told("owns", topic)

    def target(self, topic: str) -> list[int]:
        return self._told("target", topic)

    def revoking(self, topic: str) -> list[int]:
        return self._told("revoking", topic)

    def _told(self, what: str, topic: str) -> list[int]:
        by_topic = {} if self.member is None else self.member.get(what) or {}
        return sorted(by_topic.get(topic) or ())

    def position(self, topic: str, index: int) -> int | None:
        by_topic = {} if self.client is None else self.client["positions"]
        at = (by_topic.get(topic) or {}).get(index)
        return None if at is None or at < 0 else int(at)

    def standing(self, now_us: int) -> str:
        """What the coordinator thinks of it."""
        if self.member is None:
            return "" if self.is_gone else "not a member"
        ends = self.member.get("session_ends_at")
        if ends is not None and self.process in (*GONE, "frozen"):
            left = max(0.0, (ends - now_us) / 1e6)
            return f"session ends in {left:.1f} s"
        state = str(self.member.get("state") or "")
        return STATES.get(state.upper(), STATES.get(state, state.lower()))


def seats(snapshot: Snapshot) -> list[Seat]:
    """Everybody with a place in the group, in the order of names."""
    group = snapshot["group"]
    members = {each["id"]: each for each in (group["members"] if group else ())}
    found = [
        Seat(name, members.pop(_id_of(name, client, members), None), client)
        for name, client in snapshot["clients"].items()
    ]
    named = {seat.name for seat in found}
    for member in members.values():
        name = member["instance_id"] or member["client_id"] or member["id"]
        if name in named:  # the same program twice, or an id that it had before
            name = f"{name} {member['id'][-4:]}"
        named.add(name)
        found.append(Seat(name, member, None))
    shown = [seat for seat in found if not (seat.is_gone and seat.member is None)]
    return sorted(shown, key=lambda seat: (len(seat.name) > 2, len(seat.name) == 2, seat.name))


def _id_of(name: str, client: Mapping[str, Any], members: Mapping[str, Any]) -> str:
    """A client's member id; one that has not said it yet is known by its client.id."""
    if client["member_id"] or client["state"] in GONE:
        return str(client["member_id"])
    return next((id for id, each in members.items() if each["client_id"] == name), "")


def name_of(snapshot: Snapshot, member_id: str) -> str:
    """A member's name by its id."""
    for seat in seats(snapshot):
        if seat.member is not None and seat.member["id"] == member_id:
            return seat.name
    return member_id


def with_names(words: str, snapshot: Snapshot) -> str:
    """The words with names in place of member ids."""
    for seat in seats(snapshot):
        for about, key in ((seat.member, "id"), (seat.client, "member_id")):
            if about is not None and about[key]:
                words = words.replace(about[key], seat.name)
    return words
