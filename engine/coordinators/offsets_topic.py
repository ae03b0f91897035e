"""Which broker coordinates a group, and where its records live.

`__consumer_offsets` has `offsets.topic.num.partitions` partitions (50).  A group belongs
to partition `abs(hashCode(group id)) % partitions`, with Java's string hash, and the
leader of that partition is its coordinator.  So coordinators are elected, replicated
and moved by the means that every partition has; they have no election of their own.

The topic does not exist in a new cluster.  The first FindCoordinator asks the controller
to create it and is answered COORDINATOR_NOT_AVAILABLE; the client asks again.  With fewer
brokers than `offsets.topic.replication.factor` it cannot be created, as in Kafka.
"""

from __future__ import annotations

from engine.metadata.image import MetadataImage
from engine.settings import Settings
from engine.wire import messages as m

OFFSETS_TOPIC = "__consumer_offsets"


def java_hash(text: str) -> int:
    """`String.hashCode`: over UTF-16 units, in 32 bits with sign."""
    value = 0
    units = text.encode("utf-16-be", "surrogatepass")
    for high, low in zip(units[::2], units[1::2], strict=True):
        value = (31 * value + (high << 8 | low)) & 0xFFFFFFFF
    return value - (1 << 32) if value >= 1 << 31 else value


def partition_for(group_id: str, partitions: int) -> int:
    """The smallest int of Java has no positive counterpart; Kafka takes 0 for it."""
    value = java_hash(group_id)
    return 0 if value == -(1 << 31) else abs(value) % partitions


def partition_count(metadata: MetadataImage, settings: Settings) -> int:
    """Of the topic as it is, or as it will be created."""
    topic_id = metadata.topic_ids.get(OFFSETS_TOPIC)
    if topic_id is None:
        return int(settings["offsets.topic.num.partitions"])
    return len(metadata.topics[topic_id].partitions)


def coordinator_of(metadata: MetadataImage, group_id: str) -> int | None:
    """The broker to ask about a group, None while there is no topic or no leader."""
    topic_id = metadata.topic_ids.get(OFFSETS_TOPIC)
    if topic_id is None:
        return None
    partitions = metadata.topics[topic_id].partitions
    leader: int = partitions[partition_for(group_id, len(partitions))].leader
    broker = metadata.brokers.get(leader)
    return None if broker is None or broker.fenced else leader


def creation_request(settings: Settings) -> m.CreateTopicsRequest:
    """CreateTopics for the topic, with the configs Kafka gives it."""
    configs = {
        "cleanup.policy": "compact",
        "compression.type": "producer",
        "segment.bytes": str(settings["offsets.topic.segment.bytes"]),
    }
    topic = m.CreateTopicsRequest.CreatableTopic(
        name=OFFSETS_TOPIC,
        num_partitions=settings["offsets.topic.num.partitions"],
        replication_factor=settings["offsets.topic.replication.factor"],
        configs=[
            m.CreateTopicsRequest.CreatableTopicConfig(name=name, value=value)
            for name, value in configs.items()
        ],
    )
    return m.CreateTopicsRequest(topics=[topic], timeout_ms=30_000)
