"""An image as records: what a snapshot holds, and what leads from one image to a later one.

    topic orders, partition 0    TopicRecord  PartitionRecord

The log has one record for each change; here there is one for each thing that exists.  Applied in
this order to an empty image, they give this one.  Source: MetadataImage.write of Kafka 4.3.1.
"""

from __future__ import annotations

from collections.abc import Iterator

from engine.metadata.features import METADATA_FEATURE
from engine.metadata.image import BrokerImage, MetadataImage, PartitionImage, TopicImage
from engine.metadata.quota_entities import Entity
from engine.metadata.records import encode_record
from engine.wire import messages as m


def records(image: MetadataImage) -> Iterator[m.Message]:
    """The whole image: features first, as they decide how everything else is read.

    Without kraft.version: the quorum writes it itself (engine/quorum/voter_history.py).
    """
    for name in sorted(image.features, key=lambda each: (each != METADATA_FEATURE, each)):
        yield m.FeatureLevelRecord(name=name, feature_level=image.features[name])
    for broker in image.brokers.values():
        yield _registration(broker)
    yield from image.controllers.values()
    for topic in image.topics.values():
        yield m.TopicRecord(name=topic.name, topic_id=topic.id)
        for index, partition in topic.partitions.items():
            yield _partition(topic, index, partition)
    for (resource_type, resource), configs in image.configs.items():
        for name, value in configs.items():
            yield m.ConfigRecord(resource_type, resource, name, value)
    for entity, limits in image.quotas.items():
        for key, limit in limits.items():
            yield _quota(entity, key, limit)
    if image.next_producer_id:
        yield m.ProducerIdsRecord(-1, -1, image.next_producer_id)


def removals(before: MetadataImage, after: MetadataImage) -> list[m.Message]:
    """Takes away what a later image does not have."""
    found: list[m.Message] = [
        m.RemoveTopicRecord(topic_id) for topic_id in before.topics if topic_id not in after.topics
    ]
    for broker in before.brokers.values():
        if broker.id not in after.brokers:
            found.append(m.UnregisterBrokerRecord(broker.id, broker.epoch))
    for resource, configs in before.configs.items():
        kept = after.configs.get(resource, {})
        found += [m.ConfigRecord(*resource, name, None) for name in configs if name not in kept]
    for entity, limits in before.quotas.items():
        left = after.quotas.get(entity, {})
        found += [_quota(entity, key, 0.0, remove=True) for key in limits if key not in left]
    gone = [name for name in before.features if name not in after.features]
    found += [m.FeatureLevelRecord(name, 0) for name in gone]
    return found


def additions(before: MetadataImage, after: MetadataImage) -> list[m.Message]:
    """What a later image has and this one has not, or not so; `removals` are applied first."""
    known = {encode_record(record) for record in records(before)}
    found = [record for record in records(after) if encode_record(record) not in known]
    if before.kraft_version != after.kraft_version:
        found.append(m.KRaftVersionRecord(0, after.kraft_version))
    return found


def _registration(broker: BrokerImage) -> m.RegisterBrokerRecord:
    return m.RegisterBrokerRecord(
        broker_id=broker.id,
        incarnation_id=broker.incarnation,
        broker_epoch=broker.epoch,
        end_points=list(broker.end_points),
        features=list(broker.features),
        rack=broker.rack,
        fenced=broker.fenced,
        in_controlled_shutdown=broker.in_controlled_shutdown,
        log_dirs=list(broker.directories),
    )


def _partition(topic: TopicImage, index: int, partition: PartitionImage) -> m.PartitionRecord:
    return m.PartitionRecord(
        partition_id=index,
        topic_id=topic.id,
        replicas=list(partition.replicas),
        isr=list(partition.isr),
        leader=partition.leader,
        leader_recovery_state=partition.leader_recovery_state,
        leader_epoch=partition.leader_epoch,
        partition_epoch=partition.partition_epoch,
        directories=list(partition.directories),
        eligible_leader_replicas=list(partition.elr) or None,
        last_known_elr=list(partition.last_known_elr) or None,
    )


def _quota(entity: Entity, key: str, limit: float, remove: bool = False) -> m.ClientQuotaRecord:
    record = m.ClientQuotaRecord
    parts = [record.EntityData(kind, name) for kind, name in entity]
    return record(entity=parts, key=key, value=limit, remove=remove)
