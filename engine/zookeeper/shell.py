"""An operator at ZooKeeper's command line, as a node of a world.

    world.add("zkcli", Shell("zkcli", world.cluster.spec))
    world.tell("zkcli", "delete", "/controller")      another broker becomes the controller

Nothing protects Kafka's znodes from such a client: what it changes, the brokers believe.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Protocol

from engine.events import Effect, Event, Expired, Outbox, Request, Response
from engine.zookeeper.client import Client, ClientRound, ClientTimer
from engine.zookeeper.settings import ZooKeeperSettings
from engine.zookeeper.tree import Create, Delete, GetChildren, GetData, Operation, Result, SetData


class Ensemble(Protocol):
    """What a shell needs to know of a cluster: its ClusterSpec says it."""

    @property
    def ensemble(self) -> tuple[int, ...]: ...


class Shell:
    """A client with a session of its own; `results` has one for each command, in order."""

    def __init__(
        self, name: str, spec: Ensemble, settings: ZooKeeperSettings | None = None
    ) -> None:
        self.name = name
        self.outbox = Outbox()
        self.results: list[Result] = []
        self.client = Client(name, spec.ensemble, settings or ZooKeeperSettings(), self.outbox,
                             Random(f"shell/{name}"), self)  # fmt: skip

    def start(self, now: int) -> list[Effect]:
        self.client.start(now)
        return self.outbox.drain()

    def step(self, now: int, event: Event) -> list[Effect]:
        match event:
            case Request():
                self.client.noticed(now, event)
            case Response(_, ClientRound() as token, body):
                self.client.answered(now, token, body)
            case Expired(ClientTimer()):
                self.client.expired(now)
        return self.outbox.drain()

    # -- commands; `version` -1 is any

    def get(self, now: int, path: str) -> list[Effect]:
        return self._ask(GetData(path))

    def ls(self, now: int, path: str) -> list[Effect]:
        return self._ask(GetChildren(path))

    def create(self, now: int, path: str, data: str = "", ephemeral: bool = False) -> list[Effect]:
        return self._ask(Create(path, data, ephemeral))

    def set(self, now: int, path: str, data: str, version: int = -1) -> list[Effect]:
        return self._ask(SetData(path, data, version))

    def delete(self, now: int, path: str, version: int = -1) -> list[Effect]:
        return self._ask(Delete(path, version))

    def _ask(self, operation: Operation) -> list[Effect]:
        self.client.ask([operation], self._answered)
        return self.outbox.drain()

    def _answered(self, now: int, results: Sequence[Result]) -> None:
        self.results += results

    # -- its session

    def session_began(self, now: int) -> None:
        """Commands that wait are asked now."""

    def session_expired(self, now: int) -> None:
        """Its ephemeral znodes are gone."""

    def noticed(self, now: int, what: str, path: str) -> None:
        """It sets no watches."""
