"""One group of a snapshot, with what its members believe.

    time_us
    id, group       the group as in engine/cluster/snapshot.py; None if the coordinator has none
    brokers         by id: state
    ends            by topic and partition: where a consumer's reading ends (the high watermark)
    clients         by name: what a member says of itself, as in `Belief`

Nothing else of a snapshot is kept, so that a frame is small and changes only when something that
the panel shows has changed.  A member's session end moves with every heartbeat; it is kept only
for a member that is dead or frozen.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from kit.film.source import Snapshot

Partitions = Mapping[str, list[int]]
"""By topic."""
AWAKE = "running"
GONE = ("killed", "left")


@dataclass(frozen=True)
class Belief:
    """What a member's own process says: its id, what it owns, how far it has read.

    `state` is running, frozen, killed or left; `protocol` the assignor it was started with, or
    `consumer`; `ours` whether the panel started it and can end it.
    """

    member_id: str
    state: str = AWAKE
    protocol: str = ""
    owned: Partitions = field(default_factory=dict)
    positions: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    generation: int = -1
    ours: bool = False

    def to_plain(self) -> dict[str, Any]:
        return asdict(self)


def of_group(
    whole: Snapshot, group_id: str, clients: Mapping[str, Mapping[str, Any]], topics: Iterable[str]
) -> dict[str, Any]:
    """What the panel shows of a snapshot; `topics` beside those that the group reads."""
    group = whole.get("groups", {}).get(group_id)
    names = {*topics, *_topics(group, clients)}
    return {
        "time_us": whole.get("time_us", 0),
        "id": group_id,
        "group": None if group is None else {**group, "members": _members(group, clients)},
        "brokers": {id: broker.get("state") for id, broker in whole.get("brokers", {}).items()},
        "ends": {
            name: {p: _end(state) for p, state in topic.get("partitions", {}).items()}
            for name, topic in whole.get("topics", {}).items()
            if name in names
        },
        "clients": {name: dict(client) for name, client in sorted(clients.items())},
    }


def _topics(group: Mapping[str, Any] | None, clients: Mapping[str, Mapping[str, Any]]) -> list[str]:
    found = [topic for client in clients.values() for topic in client["owned"]]
    if group is not None:
        found += [topic for member in group["members"] for topic in member.get("owns") or ()]
        found += group["offsets"]
    return found


def _members(
    group: Mapping[str, Any], clients: Mapping[str, Mapping[str, Any]]
) -> list[dict[str, Any]]:
    silent = {each["member_id"] for each in clients.values() if each["state"] != AWAKE}
    return [
        {
            name: part
            for name, part in member.items()
            if name != "session_ends_at" or member["id"] in silent
        }
        for member in group["members"]
    ]


def _end(partition: Mapping[str, Any]) -> int:
    """Up to where a consumer can read; -1 if the leader cannot be asked."""
    log = partition.get("logs", {}).get(partition.get("leader"), {})
    end = log.get("high_watermark")
    return -1 if end is None else int(end)


def partitions(snapshot: Snapshot, topic: str) -> list[int]:
    """A topic's partitions."""
    return sorted(snapshot["ends"].get(topic, {}))


def remember_ends(before: Snapshot | None, snapshot: dict[str, Any]) -> dict[str, Any]:
    """Keeps the last known end of a partition whose leader does not answer."""
    for topic, ends in snapshot["ends"].items():
        for index, end in ends.items():
            if end < 0 and before is not None:
                ends[index] = before["ends"].get(topic, {}).get(index, -1)
    return snapshot
