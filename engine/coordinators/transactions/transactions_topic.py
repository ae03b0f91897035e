"""Which broker coordinates a transactional id, and where its record lives.

`__transaction_state` has `transaction.state.log.num.partitions` partitions (50).  An id belongs to
partition `abs(hashCode(id)) % partitions`, and that partition's leader is its coordinator, as
with groups.

What the topic holds decides over other topics' records, so Kafka fixes its configs: compacted, not
compressed, no unclean leader, and its own min.insync.replicas.
"""

from __future__ import annotations

from engine.coordinators.offsets_topic import partition_for
from engine.coordinators.transactions.transaction_records import TRANSACTIONS_TOPIC
from engine.metadata.image import MetadataImage
from engine.settings import Settings
from engine.wire import messages as m


def partition_of(transactional_id: str, metadata: MetadataImage, settings: Settings) -> int:
    """In the topic as it is, or as it will be created."""
    topic = metadata.topic(TRANSACTIONS_TOPIC)
    configured = int(settings["transaction.state.log.num.partitions"])
    return partition_for(transactional_id, configured if topic is None else len(topic.partitions))


def leader_of(metadata: MetadataImage, topic_name: str, index: int) -> int | None:
    """The broker that leads a partition and is up; None if there is none now."""
    topic = metadata.topic(topic_name)
    image = None if topic is None else topic.partitions.get(index)
    broker = None if image is None else metadata.brokers.get(image.leader)
    return None if broker is None or broker.fenced else broker.id


def creation_request(settings: Settings) -> m.CreateTopicsRequest:
    """CreateTopics for the topic, with the configs Kafka gives it."""
    configs = {
        "cleanup.policy": "compact",
        "compression.type": "uncompressed",
        "min.insync.replicas": str(settings["transaction.state.log.min.isr"]),
        "segment.bytes": str(settings["transaction.state.log.segment.bytes"]),
        "unclean.leader.election.enable": "false",
    }
    topic = m.CreateTopicsRequest.CreatableTopic(
        name=TRANSACTIONS_TOPIC,
        num_partitions=settings["transaction.state.log.num.partitions"],
        replication_factor=settings["transaction.state.log.replication.factor"],
        configs=[
            m.CreateTopicsRequest.CreatableTopicConfig(name=name, value=value)
            for name, value in configs.items()
        ],
    )
    return m.CreateTopicsRequest(topics=[topic], timeout_ms=30_000)
