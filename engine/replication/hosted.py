"""The replicas that a broker hosts, and who leads what it does not.

A request names a partition, and the broker has three answers:

    it is here, and leads (or follows)      a Partition
    it is led elsewhere                     NOT_LEADER_OR_FOLLOWER: ask for metadata, go there
    it is unknown here                      UNKNOWN_TOPIC_OR_PARTITION

The metadata log decides between the last two, so a broker that has not read far enough sends
a client to look again rather than to create a topic that is already there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from engine.metadata.image import MetadataImage
from engine.replication.partition import Partition
from engine.wire.errors import Errors, KafkaError

Key = tuple[str, int]
Endpoint = TypeVar("Endpoint")


class HostedPartitions:
    """`partitions` by (topic, index): those with a replica on this broker."""

    def __init__(self, metadata: MetadataImage) -> None:
        self.metadata = metadata
        self.partitions: dict[Key, Partition] = {}

    def serving(self, topic: str, index: int) -> Partition:
        """The replica here, in any role; KafkaError if there is none."""
        partition = self.partitions.get((topic, index))
        if partition is not None:
            return partition
        known = self.leader_of(topic, index) is not None
        raise KafkaError(
            Errors.NOT_LEADER_OR_FOLLOWER if known else Errors.UNKNOWN_TOPIC_OR_PARTITION
        )

    def leading(self, topic: str, index: int) -> Partition:
        """The replica here if it leads; KafkaError otherwise."""
        partition = self.serving(topic, index)
        if not partition.is_leader:
            raise KafkaError(Errors.NOT_LEADER_OR_FOLLOWER)
        return partition

    def leader_of(self, topic: str, index: int) -> tuple[int, int] | None:
        """(leader, leader epoch) of any partition in the cluster; None if there is none."""
        known = self.metadata.topic(topic)
        image = known.partitions.get(index) if known is not None else None
        return (image.leader, image.leader_epoch) if image is not None else None

    def topic_name(self, topic_id: bytes) -> str:
        """A topic's name by its id; empty if there is none."""
        topic = self.metadata.topics.get(topic_id)
        return topic.name if topic is not None else ""

    def endpoints(
        self, make: Callable[..., Endpoint], leaders: Iterable[int | None]
    ) -> list[Endpoint]:
        """Addresses of the leaders that an answer names, each once (KIP-951)."""
        wanted = sorted({each for each in leaders if each is not None})
        brokers = (self.metadata.brokers.get(broker_id) for broker_id in wanted)
        return [make(node_id=b.id, host=b.host, port=b.port, rack=b.rack) for b in brokers if b]
