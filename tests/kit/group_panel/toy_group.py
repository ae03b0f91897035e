"""A toy with a cluster's face and one group, for panels under test; and members that only talk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

from kit.film.source import Frame, Line
from kit.group_panel.view import Belief, of_group

START_US = 1_000_000
Owned = Mapping[str, Sequence[int]]
"""By the member's name: partitions of `orders`."""


def member(name: str, owns: Sequence[int] = (), **more: Any) -> dict[str, Any]:
    """A member as a snapshot tells it; its id is `NAME-id`."""
    return {
        "id": f"{name}-id",
        "instance_id": None,
        "client_id": name,
        "host": "/127.0.0.1",
        "state": "stable",
        "owns": {"orders": list(owns)} if owns else {},
        **more,
    }


def belief(name: str, owned: Sequence[int] = (), state: str = "running", **more: Any) -> Belief:
    """What the client of that name says."""
    options = {"protocol": "range", "ours": True, **more}
    return Belief(f"{name}-id", state, owned={"orders": list(owned)} if owned else {}, **options)


def group_of(members: Sequence[Mapping[str, Any]], **more: Any) -> dict[str, Any]:
    return {
        "type": "classic",
        "state": "Stable",
        "generation": 3,
        "coordinator": 101,
        "protocol_type": "consumer",
        "protocol": "range",
        "leader": members[0]["id"] if members else None,
        "members": list(members),
        "offsets": {"orders": {0: 10, 1: 10}},
        **more,
    }


def snapshot_of(
    group: Mapping[str, Any] | None, time_us: int = START_US, partitions: int = 4, end: int = 12
) -> dict[str, Any]:
    """A cluster's whole snapshot with the group `g`."""
    log = {"role": "leader", "high_watermark": end, "log_end_offset": end}
    states = {index: {"leader": 101, "logs": {101: dict(log)}} for index in range(partitions)}
    return {
        "time_us": time_us,
        "brokers": {101: {"state": "running"}},
        "topics": {"orders": {"id": "x", "partitions": states}},
        "groups": {} if group is None else {"g": dict(group)},
    }


def shown(group: Mapping[str, Any] | None, clients: Mapping[str, Belief], **how: Any) -> Any:
    """What the panel shows of such a snapshot."""
    plain = {name: each.to_plain() for name, each in clients.items()}
    return of_group(snapshot_of(group, **how), "g", plain, ["orders"])


def line(at_ms: int, kind: str, client: str, *partitions: int) -> Line:
    """What a member tells, so many milliseconds after the start."""
    named = tuple(f"orders-{index}" for index in partitions)
    return Line(START_US + at_ms * 1000, -1, kind, "", {"client": client, "partitions": named})


def frame(number: int, at_ms: int, snapshot: Mapping[str, Any], *lines: Line) -> Frame:
    return Frame(number, {**snapshot, "time_us": START_US + at_ms * 1000}, lines)


class ToyCluster:
    """A cluster whose one group is what the test says."""

    bootstrap = "nowhere:1"

    def __init__(self, group: Mapping[str, Any] | None = None, partitions: int = 4) -> None:
        self.group, self.partitions = group, partitions
        self.time_us = START_US
        self.lines: list[dict[str, Any]] = []

    def snapshot(self, values: bool = False, tail: int = 0) -> dict[str, Any]:
        self.time_us += 100_000
        return deepcopy(snapshot_of(self.group, self.time_us, self.partitions))

    def trace(self, since: int = 0) -> dict[str, Any]:
        return {"lines": self.lines[since:], "next": len(self.lines)}

    def tell(self, rule: str, why: str, **fields: Any) -> None:
        self.lines.append(
            {"time_us": self.time_us, "node": 101, "kind": "group", "partition": "", "why": why,
             "rule": rule, "fields": {"group": "g", **fields}}
        )  # fmt: skip


class ToyCrew:
    """Members that are nothing but their beliefs, and remember what was asked of them."""

    def __init__(self, beliefs: Mapping[str, Belief] | None = None) -> None:
        self.now: dict[str, Belief] = dict(beliefs or {})
        self.calls: list[tuple[str, ...]] = []
        self.fresh: list[Line] = []

    def beliefs(self) -> dict[str, Belief]:
        return dict(self.now)

    def lines(self) -> list[Line]:
        fresh, self.fresh = self.fresh, []
        return fresh

    def add(self, protocol: str) -> str:
        self.calls.append(("add", protocol))
        return "C"

    def remove(self, name: str) -> None:
        self.calls.append(("remove", name))

    def kill(self, name: str) -> None:
        self.calls.append(("kill", name))

    def freeze(self, name: str) -> None:
        self.calls.append(("freeze", name))

    def thaw(self, name: str) -> None:
        raise RuntimeError(f"{name} is not frozen.")

    def close(self) -> None:
        self.calls.append(("close",))
