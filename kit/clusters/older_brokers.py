"""What a broker is asked that does not know the requests of Kafka 4: one with ZooKeeper.

It has neither DescribeTopicPartitions nor fenced brokers: a broker without a session is not among
those that it names.  Metadata tells the same of a topic, but for the ELR, which it does not have.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engine.wire import messages as m
from kit.clusters.connections import NotSpoken

_Topic = m.DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponseTopic
_Partition = m.DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponsePartition


def described(ask: Callable[[Any], Any], name: str | None = None) -> list[Any]:
    """All topics, or one, in the shape of DescribeTopicPartitions; `ask` sends a request."""
    wanted = None if name is None else [m.MetadataRequest.MetadataRequestTopic(name=name)]
    answer = ask(m.MetadataRequest(wanted, allow_auto_topic_creation=False))
    return [
        _Topic(
            topic.error_code,
            topic.name,
            topic.topic_id,
            topic.is_internal,
            [
                _Partition(
                    p.error_code,
                    p.partition_index,
                    p.leader_id,
                    p.leader_epoch,
                    p.replica_nodes,
                    p.isr_nodes,
                )
                for p in topic.partitions
            ],
        )
        for topic in answer.topics
    ]


def brokers(ask: Callable[[Any], Any]) -> list[Any]:
    """The brokers of DescribeCluster, with the fenced ones where there is such a thing."""
    try:
        answer = ask(m.DescribeClusterRequest(include_fenced_brokers=True))
    except NotSpoken:
        answer = ask(m.DescribeClusterRequest())
    return list(answer.brokers)
