"""Follows who reads each partition, and when it had no reader: the stop-the-world bars.

The members tell what happens to them, in lines like those of a trace:

    assigned, revoked, lost     partitions that come and go
    reads                       the first record (or the end of the log) after an assignment
    killed, left, frozen, thawed

A partition is *read* when an awake member has it and has read from it since it was given to it.
It *waits* when an awake member has it and has not read yet, and it is *stopped* when no awake
member has it.  A pause begins when reading ends (the partition was revoked, its owner is dead or
frozen) and is over with the first record that the new owner processes.  Two awake members that
read one partition are a zombie and its successor.

Of a member that reports nothing itself, the coordinator's word is all there is (`reported`).  While
such a group rebalances, it cannot be seen from outside whether it reads (`unsure`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kit.film.source import Frame, Line, Snapshot
from kit.group_panel.view import GONE

READS, WAITS, STOPPED, TWICE, REPORTED, UNSURE = (
    "reads",
    "waits",
    "stopped",
    "twice",
    "reported",
    "unsure",
)
PAUSED = (WAITS, STOPPED)
SETTLED = ("Stable", "")
TopicPartition = tuple[str, int]


@dataclass(frozen=True)
class Change:
    """From `at_us` on a partition is in this state; `owner` is a member's name or id."""

    at_us: int
    kind: str
    owner: str


@dataclass(frozen=True)
class Pause:
    """A time in which a partition that had been read was not; `end_us` is None while it lasts."""

    partition: TopicPartition
    start_us: int
    end_us: int | None

    def lasts_us(self, now_us: int) -> int:
        return (now_us if self.end_us is None else self.end_us) - self.start_us


@dataclass
class Ownership:
    """The state of each partition, frame after frame."""

    changes: dict[TopicPartition, list[Change]] = field(default_factory=dict)
    holders: dict[TopicPartition, dict[str, bool]] = field(default_factory=dict)
    """By partition, who has it, and whether it has read."""
    asleep: dict[str, None] = field(default_factory=dict)
    last: int = -1

    def follow(self, frames: Iterable[Frame]) -> None:
        """Takes in frames that are new."""
        for frame in frames:
            if frame.number > self.last:
                self.last = frame.number
                for line in frame.lines:
                    self._hear(line)
                self._look(frame.snapshot)

    def _hear(self, line: Line) -> None:
        client = line["client"]
        if client is None:
            return
        named = [_split(name) for name in line["partitions"] or ()]
        match line.kind:
            case "assigned":
                for each in named:
                    self.holders.setdefault(each, {})[client] = False
            case "reads":
                named = [each for each in named if client in self.holders.get(each, ())]
                for each in named:
                    self.holders[each][client] = True
            case "revoked" | "lost":
                for each in named:
                    self.holders.get(each, {}).pop(client, None)
            case "killed" | "left":
                named = self._of(client)
                for each in named:
                    del self.holders[each][client]
                self.asleep.pop(client, None)
            case "frozen":
                self.asleep[client] = None
                named = self._of(client)
            case "thawed":
                self.asleep.pop(client, None)
                named = self._of(client)
        for each in named:
            self._note(each, line.time_us, *self._state(each))

    def _of(self, client: str) -> list[TopicPartition]:
        return [each for each, by in self.holders.items() if client in by]

    def _state(self, partition: TopicPartition) -> tuple[str, str]:
        awake = {
            client: read
            for client, read in self.holders.get(partition, {}).items()
            if client not in self.asleep
        }
        readers = [client for client, read in awake.items() if read]
        if readers:
            return (TWICE if len(readers) > 1 else READS), readers[-1]
        return (WAITS, next(reversed(awake))) if awake else (STOPPED, "")

    def _look(self, snapshot: Snapshot) -> None:
        """Members that tell nothing: what the coordinator says of them."""
        group = snapshot["group"]
        if group is None:
            return
        known = {each["member_id"] for each in snapshot["clients"].values()}
        kind = REPORTED if group["state"] in SETTLED or group["type"] == "consumer" else UNSURE
        told = {
            (topic, index): member["id"]
            for member in group["members"]
            if member["id"] not in known
            for topic, indexes in (member.get("owns") or {}).items()
            for index in indexes
        }
        for each, owner in told.items():
            if not self.holders.get(each):
                self._note(each, snapshot["time_us"], kind, owner)
        for each, changes in self.changes.items():
            if changes[-1].kind in (REPORTED, UNSURE) and each not in told:
                self._note(each, snapshot["time_us"], *self._state(each))

    def _note(self, partition: TopicPartition, at_us: int, kind: str, owner: str) -> None:
        changes = self.changes.setdefault(partition, [])
        if not changes and kind == STOPPED:
            return
        if not changes or (changes[-1].kind, changes[-1].owner) != (kind, owner):
            changes.append(Change(at_us, kind, owner))

    def spans(self, topic: str, until_us: int) -> dict[int, list[tuple[int, int, str, str]]]:
        """By partition: (from, to, kind, owner), one after the other."""
        return {
            index: [
                (change.at_us, after.at_us if after else max(until_us, change.at_us),
                 change.kind, change.owner)
                for change, after in zip(changes, [*changes[1:], None], strict=True)
            ]
            for (name, index), changes in sorted(self.changes.items())
            if name == topic
        }  # fmt: skip

    def pauses(self, topic: str) -> list[Pause]:
        """All pauses of a topic's partitions, in the order in which they began."""
        found = []
        for each, changes in self.changes.items():
            began: int | None = None
            read = False
            for change in changes:
                if change.kind in PAUSED:
                    began = change.at_us if read and began is None else began
                else:
                    if began is not None and began < change.at_us:
                        found.append(Pause(each, began, change.at_us))
                    began, read = None, True
            if began is not None:
                found.append(Pause(each, began, None))
        return sorted(
            (each for each in found if each.partition[0] == topic),
            key=lambda pause: (pause.start_us, pause.partition),
        )


def is_awake(client: Mapping[str, Any]) -> bool:
    return client["state"] not in (*GONE, "frozen")


def _split(name: str) -> TopicPartition:
    topic, _, index = name.rpartition("-")
    return topic, int(index)
