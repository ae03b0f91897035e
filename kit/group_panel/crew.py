"""Members of a running cluster's group that the panel starts and ends: a process each.

    crew = Crew(cluster.bootstrap, "orders", "g")
    crew.add("cooperative-sticky")      a real consumer, in a process under a reaper
    crew.freeze("A")                    SIGSTOP: no heartbeat, and it does not know
    crew.kill("A")                      SIGKILL: its session must time out

A process of its own is what makes freezing and killing true (kit/film/client_processes.py).  Each
says over a loopback connection what happens to it (`member_process.py`).
"""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from kit.clusters.interface import ClusterError
from kit.film.client_processes import ClientProcesses
from kit.film.source import Line
from kit.group_panel.view import GONE, Belief
from kit.probes.background_load import letters

PROTOCOLS = ("range", "cooperative-sticky", "consumer")
"""How a member joins: eager, cooperative, or by the consumer protocol (KIP-848)."""
MEMBERS_MOST = 40
LEAVING_S = 10.0
BRISK: Mapping[str, Any] = {
    "auto.offset.reset": "earliest",
    "auto.commit.interval.ms": 1000,
    "enable.partition.eof": True,
    "topic.metadata.refresh.interval.ms": 5000,
    "reconnect.backoff.max.ms": 500,
    "log_level": 0,
}
SESSION_MS, HEARTBEAT_MS = 6000, 500


def protocol_settings(protocol: str, session_ms: int = SESSION_MS) -> dict[str, Any]:
    """What makes a member eager, cooperative, or one of the consumer protocol.

    In the consumer protocol the broker decides about sessions and heartbeats.
    """
    if protocol == "consumer":
        return {"group.protocol": "consumer"}
    return {
        "partition.assignment.strategy": protocol,
        "session.timeout.ms": session_ms,
        "heartbeat.interval.ms": HEARTBEAT_MS,
    }


class Crew:
    """The panel's own members; every method can be called from any thread."""

    def __init__(
        self,
        bootstrap: str,
        topic: str,
        group: str,
        settings: Mapping[str, Any] | None = None,
        work_ms: float = 2.0,
        *,
        commits_lost: bool = False,
    ) -> None:
        """`commits_lost`: a member whose partitions are lost attempts to commit them."""
        self._bootstrap, self._topic, self._group = bootstrap, topic, group
        self._settings, self._work_ms = dict(settings or {}), work_ms
        self._commits_lost = commits_lost
        self._beliefs: dict[str, Belief] = {}
        self._clients = ClientProcesses("kit.group_panel.member_process", "members", self._hear)
        self._fresh: list[Line] = []
        self._made = 0
        self._turn = threading.RLock()

    # -- what a panel reads

    def beliefs(self) -> dict[str, Belief]:
        """By name, what each member says of itself; also of those that are gone."""
        with self._turn:
            return dict(self._beliefs)

    def lines(self) -> list[Line]:
        """What happened to members since the last call."""
        with self._turn:
            fresh, self._fresh = self._fresh, []
            return fresh

    # -- what a panel's buttons do

    def add(self, protocol: str = "range") -> str:
        """Starts a member; returns its name."""
        if protocol not in PROTOCOLS:
            raise ClusterError(f"There is no {protocol!r} here; there are {', '.join(PROTOCOLS)}.")
        with self._turn:
            alive = [each for each in self._beliefs.values() if each.state not in GONE]
            if len(alive) >= MEMBERS_MOST:
                raise ClusterError(f"{MEMBERS_MOST} members are enough: remove one first.")
            name = letters(self._made)
            self._made += 1
            self._beliefs[name] = Belief("", protocol=protocol, ours=True)
            order = {
                "topic": self._topic,
                "work_ms": self._work_ms,
                "commits_lost": self._commits_lost,
                "settings": self._settings_of(name, protocol),
            }
            self._clients.spawn(name, order)
            return name

    def remove(self, name: str) -> None:
        """Lets a member leave cleanly, and waits until it has left."""
        if self._alive(name).state == "frozen":
            raise ClusterError(f"{name} is frozen and cannot leave: thaw it first, or kill it.")
        child = self._clients.children[name]
        child.signal(signal.SIGTERM)
        with contextlib.suppress(TimeoutError):
            child.wait(LEAVING_S)
        self._becomes(name, "left")

    def kill(self, name: str) -> None:
        """Ends a member without warning: the coordinator must find out by itself."""
        self._alive(name)
        self._clients.children[name].signal(signal.SIGKILL)
        self._becomes(name, "killed")

    def freeze(self, name: str) -> None:
        """Stops a member's process where it is."""
        if self._alive(name).state == "frozen":
            raise ClusterError(f"{name} is frozen already.")
        self._clients.children[name].signal(signal.SIGSTOP)
        self._becomes(name, "frozen")

    def thaw(self, name: str) -> None:
        """Lets a frozen member go on."""
        if self._alive(name).state != "frozen":
            raise ClusterError(f"{name} is not frozen.")
        self._becomes(name, "thawed", "running")
        self._clients.children[name].signal(signal.SIGCONT)

    def close(self) -> None:
        """Ends every member."""
        self._clients.close()

    # -- inside

    def _settings_of(self, name: str, protocol: str) -> dict[str, Any]:
        return {
            "bootstrap.servers": self._bootstrap,
            "group.id": self._group,
            "client.id": name,
            **BRISK,
            **protocol_settings(protocol),
            **self._settings,
        }

    def _alive(self, name: str) -> Belief:
        with self._turn:
            if name not in self._beliefs:
                raise ClusterError(f"There is no member {name} of this panel.")
            if self._beliefs[name].state in GONE:
                raise ClusterError(f"{name} is gone: add another member.")
            return self._beliefs[name]

    def _becomes(self, name: str, kind: str, state: str = "") -> None:
        with self._turn:
            if self._beliefs[name].state == (state or kind):
                return
            self._beliefs[name] = replace(self._beliefs[name], state=state or kind)
            self._note(name, kind, time.time_ns() // 1000)

    def _note(
        self,
        name: str,
        kind: str,
        time_us: int,
        partitions: tuple[str, ...] = (),
        why: str = "",
    ) -> None:
        fields = {"client": name, "partitions": partitions}
        self._fresh.append(Line(time_us, -1, kind, "", fields, why))

    def _hear(self, told: Mapping[str, Any]) -> None:
        with self._turn:
            name, kind = told["name"], told["kind"]
            before = self._beliefs.get(name)
            if before is None or before.state in GONE:
                return
            owned: dict[str, list[int]] = {}
            for topic, index in told["owned"]:
                owned.setdefault(topic, []).append(index)
            positions: dict[str, dict[int, int]] = {}
            for topic, index, at in told["positions"]:
                positions.setdefault(topic, {})[index] = at
            self._beliefs[name] = replace(
                before, member_id=told["member_id"] or before.member_id,
                owned=owned, positions=positions,
            )  # fmt: skip
            if kind == "left":
                self._becomes(name, kind)
            elif kind:
                self._note(name, kind, told["time_us"], tuple(told["partitions"]), told["why"])
