"""What a controller counts, by the names of Kafka's metrics: kafka.controller:type=KafkaController.

    ActiveControllerCount     1 on the active one, 0 on the others: over a cluster the sum is 1
    OfflinePartitionsCount    partitions without a leader
    FencedBrokerCount         registered, and not in service

Each controller counts what it has applied itself.  A broker that is no controller has none of
these.

Source: QuorumControllerMetrics and ControllerMetadataMetrics of Kafka 4.3.1.
Left out: the times of the event queue (ControllerEventManager): here an event is a step, and none
waits.  Rates, and what is kept for each broker.
"""

from __future__ import annotations

from engine.control.controller import Controller
from engine.metadata.image import NO_LEADER


def of(controller: Controller) -> dict[str, int]:
    """The gauges of one controller now."""
    image = controller.image
    brokers = image.brokers.values()
    partitions = [each for topic in image.topics.values() for each in topic.partitions.values()]
    return {
        "ActiveControllerCount": int(controller.is_active),
        "ActiveBrokerCount": sum(not each.fenced for each in brokers),
        "FencedBrokerCount": sum(each.fenced for each in brokers),
        "ControlledShutdownBrokerCount": sum(each.in_controlled_shutdown for each in brokers),
        "GlobalTopicCount": len(image.topics),
        "GlobalPartitionCount": len(partitions),
        "OfflinePartitionsCount": sum(each.leader == NO_LEADER for each in partitions),
        "PreferredReplicaImbalanceCount": sum(
            each.leader != each.replicas[0] for each in partitions
        ),
        "LastAppliedRecordOffset": image.offset - 1,
        "LastCommittedRecordOffset": controller.log.high_watermark - 1,
    }
