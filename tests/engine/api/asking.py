"""A whole cluster in virtual time, and a client that asks it one thing after another."""

from __future__ import annotations

from typing import Any

from engine.cluster.cluster import Cluster
from engine.cluster.spec import ClusterSpec
from engine.events import Request
from engine.storage.memory_disk import MemoryDisk
from engine.wire import codec
from engine.wire import messages as m

Topics = m.CreateTopicsRequest
SECOND_US = 1_000_000


class Asking:
    """Brokers 101, 102, 103 and their controller, all up."""

    def __init__(self, settings: dict[str, Any] | None = None) -> None:
        spec = ClusterSpec(settings=settings or {})
        disks = {node: MemoryDisk() for node in (spec.controller, *spec.brokers)}
        self.cluster = Cluster(spec, disks, 1_700_000_000 * SECOND_US)
        self.cluster.boot()
        self.run_until(lambda: all(not self.image(b).brokers[b].fenced for b in spec.brokers))

    def image(self, broker_id: int) -> Any:
        return self.cluster.nodes[broker_id].metadata

    def run_until(self, holds: Any) -> None:
        for _ in range(20_000):
            try:
                if holds():
                    return
            except KeyError:
                pass
            self.cluster.step()
        raise AssertionError("it never came to hold")

    def ask(self, body: Any, version: int | None = None, broker: int = 101) -> Any:
        """The answer as the client decodes it."""
        version = type(body).LATEST if version is None else version
        name = type(body).__name__
        received = codec.decode(name, version, codec.encode(body, version))
        self.cluster.submit(broker, Request("client", (1,), version, received))
        self.run_until(lambda: self.cluster.outgoing)
        (_, reply) = self.cluster.outgoing.pop()
        answer = type(reply.body).__name__
        return codec.decode(answer, version, codec.encode(reply.body, version))

    def create(self, name: str, partitions: int = 2, replicas: int = 3, **more: Any) -> Any:
        topic = Topics.CreatableTopic(name, partitions, replicas, **more)
        answer = self.ask(Topics([topic])).topics[0]
        self.run_until(lambda: all(name in self.image(b).topic_ids for b in (101, 102, 103)))
        return answer
