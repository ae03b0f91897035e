"""What a group's coordinator has written to `__consumer_offsets`, read as any consumer could.

    group_log.records(cluster, "billing")        every record about the group, in order
    group_log.generation(cluster, "billing")     the generation, or the epoch, of the newest one

The admin API shows no classic group's generation; the coordinator's own records do.
"""

from __future__ import annotations

from engine.coordinators.classic.stored_group import GroupRecord
from engine.coordinators.consumer.stored_group import ConsumerRecord
from engine.coordinators.group_records import decode_record
from engine.coordinators.offsets import OffsetRecord
from engine.coordinators.offsets_topic import OFFSETS_TOPIC, partition_for
from engine.wire import messages as m
from kit.clusters.interface import Cluster
from kit.probes import clients

Written = OffsetRecord | GroupRecord | ConsumerRecord


def records(cluster: Cluster, group: str) -> list[Written]:
    """ClusterError where the partition cannot be read."""
    topic = clients.admin(cluster).list_topics(OFFSETS_TOPIC, clients.ANSWER_S)
    count = len(topic.topics[OFFSETS_TOPIC].partitions)
    if not count:
        return []
    read = clients.records(cluster, OFFSETS_TOPIC, partition_for(group, count))
    found = (decode_record(each.key(), each.value()) for each in read)
    return [each for each in found if isinstance(each, Written) and each.group == group]


def generation(cluster: Cluster, group: str) -> int:
    """The newest generation, or epoch in the consumer protocol; 0 if the group has none yet."""
    newest = 0
    for each in records(cluster, group):
        match each:
            case GroupRecord(value=m.GroupMetadataValue() as value):
                newest = value.generation
            case ConsumerRecord(value=m.ConsumerGroupMetadataValue() as value):
                newest = value.epoch
    return newest
