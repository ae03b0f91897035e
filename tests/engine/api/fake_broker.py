"""A broker without logs or peers: what the admin APIs see of one, and a way to ask it.

Every answer goes through the codec, in the version that was asked, so a field that this version
cannot carry fails the test.
"""

from __future__ import annotations

import random
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from engine import api
from engine.events import Outbox, Reply, Request
from engine.metadata.active_controller import ActiveController
from engine.metadata.image import BrokerImage, MetadataImage, PartitionImage, TopicImage
from engine.settings import Settings
from engine.wire import codec, uuids
from engine.wire.errors import Errors, KafkaError

IDS = random.Random(1)


class FakeReplicas:
    """Partitions by (topic, index); all of them led here."""

    def __init__(self) -> None:
        self.partitions: dict[tuple[str, int], Any] = {}
        self.hosted = self

    def serving(self, topic: str, index: int) -> Any:
        if (topic, index) not in self.partitions:
            raise KafkaError(Errors.UNKNOWN_TOPIC_OR_PARTITION)
        return self.partitions[topic, index]


class FakeBroker:
    """Broker 101 of 101, 102 and a fenced 103."""

    def __init__(self, **settings: Any) -> None:
        self.node_id = 101
        self.controller = ActiveController((100,))
        self.settings = Settings({"node.id": 101, **settings})
        self.metadata = MetadataImage(offset=42)
        self.outbox = Outbox()
        self.lifecycle = SimpleNamespace(cluster_id="cluster-1")
        self.plane = None
        self.replicas = FakeReplicas()
        self.forwarded: list[Request] = []
        self.refused: Any = None
        for broker_id, rack in ((101, "a"), (102, "b"), (103, None)):
            self.metadata.brokers[broker_id] = BrokerImage(
                broker_id, 1, bytes(16), "127.0.0.1", 9000 + broker_id, rack, broker_id == 103
            )

    def forward(self, now: int, request: Request, without: Any = None, refused: Any = None) -> None:
        self.forwarded.append(request if without is None else replace(request, body=without))
        self.refused = refused

    def add_topic(self, name: str, *partitions: PartitionImage) -> bytes:
        topic_id = uuids.new(IDS)
        self.metadata.topics[topic_id] = TopicImage(name, topic_id, dict(enumerate(partitions)))
        self.metadata.topic_ids[name] = topic_id
        return topic_id

    def ask(self, body: Any, version: int) -> Any:
        """The answer as the client decodes it; None if the request was forwarded."""
        name = type(body).__name__
        received = codec.decode(name, version, codec.encode(body, version))
        assert api.check_version(SimpleNamespace(api_key=body.API_KEY, api_version=version)) is None
        api.dispatch(self, 0, Request("client", (1,), version, received))  # type: ignore[arg-type]
        replies = [each for each in self.outbox.effects if isinstance(each, Reply)]
        self.outbox.effects = [e for e in self.outbox.effects if not isinstance(e, Reply)]
        return self.through_codec(replies[0].body, version) if replies else None

    @staticmethod
    def through_codec(body: Any, version: int) -> Any:
        return codec.decode(type(body).__name__, version, codec.encode(body, version))


def partition(
    leader: int = 101, replicas: tuple[int, ...] = (101, 102), epoch: int = 5, **more: Any
) -> PartitionImage:
    """A partition whose replicas are all in sync."""
    return PartitionImage(
        replicas, more.pop("isr", replicas), leader=leader, leader_epoch=epoch, **more
    )


def versions(name: str, first: int = 0, last: int = 99) -> list[int]:
    """The versions in which an API is offered."""
    return [each for each in api.APIS[name].versions if first <= each <= last]
