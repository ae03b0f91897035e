"""Several clients at once: a scenario in which requests wait for each other.

A case of the matrix (case.py) asks one thing after another over one connection.  JoinGroup and
SyncGroup wait for other members, so here each actor has a connection of its own; a request is
sent, and its answer is taken later.

A scenario is a function over a `Stage`.  What is compared between the two sides is all that the
actors were answered, in the scenario's order, and which of them heard nothing for a while.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any

from engine.wire import framing
from engine.wire import messages as m
from engine.wire.errors import Errors
from tests.conformance.probe.side import Side, group_name

PATIENCE_S = 60.0
NOTHING = "nothing yet"
UNORDERED = {
    "members", "topics", "groups", "topic_partitions", "assigned_partitions",
    "partitions_pending_revocation", "subscribed_topic_names",
}  # fmt: skip
"""Fields whose rows Kafka takes from a hash map."""


class Actor:
    """One client: a connection to the coordinator, and what it is waiting for."""

    def __init__(self, stage: Stage, name: str) -> None:
        self.stage = stage
        self.name = name
        self.waiting: list[tuple[Any, int]] = []
        self.socket = socket.create_connection(stage.address, PATIENCE_S)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self, request: Any, version: int | None = None) -> None:
        version = type(request).LATEST if version is None else version
        self.waiting.append((request, version))
        self.socket.sendall(framing.write_request(version, 7, self.name, request))

    def hear(self) -> Any:
        """The next answer, noted for the comparison."""
        self.socket.settimeout(PATIENCE_S)
        size = int.from_bytes(self._exactly(4), "big")
        request, version = self.waiting.pop(0)
        answer = framing.read_response(type(request).API_KEY, version, self._exactly(size))[1]
        self.stage.note(self, answer)
        return answer

    def hears_nothing(self, for_s: float = 0.3) -> None:
        """Notes whether an answer has come."""
        self.socket.settimeout(for_s)
        try:
            came = bool(self.socket.recv(1, socket.MSG_PEEK))
        except TimeoutError:
            came = False
        self.stage.told.append((self.name, "an answer" if came else NOTHING))

    def ask(self, request: Any, version: int | None = None) -> Any:
        self.send(request, version)
        return self.hear()

    def _exactly(self, size: int) -> bytes:
        received = bytearray()
        while len(received) < size:
            chunk = self.socket.recv(size - len(received))
            if not chunk:
                raise ConnectionResetError(f"{self.stage.side.name} closed on {self.name}")
            received += chunk
        return bytes(received)


class Stage:
    """One scenario on one side; `told` is what is compared."""

    def __init__(self, side: Side, name: str) -> None:
        self.side = side
        self.group = group_name(f"probe-{name}")
        self.address = side.brokers[side.coordinator]
        self.told: list[tuple[str, Any]] = []
        self.ids: dict[str, str] = {}
        self.actors: dict[str, Actor] = {}

    def actor(self, name: str) -> Actor:
        if name not in self.actors:
            self.actors[name] = Actor(self, name)
        return self.actors[name]

    def move(self, broker: int) -> None:
        """All actors go to another broker."""
        self.close()
        self.address = self.side.brokers[broker]

    def close(self) -> None:
        for each in self.actors.values():
            each.socket.close()
        self.actors.clear()

    def note(self, actor: Actor, answer: Any) -> None:
        if isinstance(answer, m.JoinGroupResponse) and answer.member_id not in self.ids:
            count = sum(label.startswith(f"{actor.name} ") for label in self.ids.values())
            if answer.member_id:
                self.ids[answer.member_id] = f"{actor.name} {count + 1}"
        self.told.append((actor.name, answer))

    def heard(self) -> list[tuple[str, Any]]:
        """All that was told, with names for the ids, which are each side's own."""
        return [(who, self.plain(what)) for who, what in self.told]

    def plain(self, node: Any, field: str = "") -> Any:
        if isinstance(node, list):
            rows = [self.plain(each, field) for each in node]
            return sorted(rows, key=repr) if field in UNORDERED else rows
        if isinstance(node, tuple):
            return tuple(self.plain(each) for each in node)
        if hasattr(node, "__slots__"):
            shown = {each: self.plain(getattr(node, each), each) for each in node.__slots__}
            return {"": type(node).__name__, **shown}
        if isinstance(node, str):
            if field == "error_message":
                return bool(node)
            return self.ids.get(node, node.replace(self.group, "GROUP"))
        if field == "error_code":
            return Errors(node).name
        if field in ("commit_timestamp", "current_state_timestamp", "assignment_timestamp"):
            return node > 0
        if field == "metadata_hash":
            return node != 0
        if field == "topic_id":
            return "an id" if any(node) else "no id"
        return bytes(node) if isinstance(node, memoryview) else node


Scenario = Callable[[Stage], None]


def run(side: Side, name: str, scenario: Scenario) -> Stage:
    """The scenario on one side, up to where it could not go on."""
    stage = Stage(side, name)
    try:
        scenario(stage)
    except (AssertionError, OSError) as error:
        stage.told.append(("the scenario stopped", str(error)))
    finally:
        stage.close()
    return stage
