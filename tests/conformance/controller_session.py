"""A controller on real files and without a network: what is asked is answered at once."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

from engine import api
from engine.control.controller import Controller
from engine.events import Effect, Flush, Flushed, Reply, Request
from engine.settings import Settings
from engine.storage.real_disk import RealDisk
from engine.wire import messages as m

NOW = 1_767_225_600_000_000


class Session:
    """A controller; brokers `join` it."""

    def __init__(self, directory: Path, settings: Mapping[str, object] | None = None) -> None:
        self.disk = RealDisk(directory)
        self.controller = Controller(100, Settings(settings), self.disk, Random(3), api.refusal)
        self.replies: list[Any] = []
        self.take(self.controller.start(NOW))

    def take(self, effects: list[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, Reply):
                self.replies.append(effect.body)
            elif isinstance(effect, Flush):
                self.disk.flush(effect.path)
                self.take(self.controller.step(NOW, Flushed(effect.token)))

    def ask(self, body: Any) -> Any:
        self.take(self.controller.step(NOW, Request("client", (0,), type(body).LATEST, body)))
        return self.replies[-1]

    def join(self, broker: int, rack: str) -> None:
        request = m.BrokerRegistrationRequest
        answer = self.ask(
            request(
                broker_id=broker,
                incarnation_id=bytes(15) + bytes([broker]),
                listeners=[request.Listener(name="PLAINTEXT", host="localhost", port=9092)],
                rack=rack,
                log_dirs=[bytes(14) + bytes([1, broker])],
            )
        )
        self.ask(
            m.BrokerHeartbeatRequest(
                broker_id=broker,
                broker_epoch=answer.broker_epoch,
                current_metadata_offset=answer.broker_epoch,
            )
        )


def create(name: str) -> m.CreateTopicsRequest:
    """One partition on both brokers."""
    request = m.CreateTopicsRequest
    row = request.CreatableReplicaAssignment(partition_index=0, broker_ids=[101, 102])
    topic = request.CreatableTopic(
        name=name,
        num_partitions=-1,
        replication_factor=-1,
        assignments=[row],
        configs=[request.CreatableTopicConfig(name="min.insync.replicas", value="2")],
    )
    return request(topics=[topic])
