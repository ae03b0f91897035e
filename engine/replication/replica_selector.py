"""Which replica a consumer should read from (KIP-392).

Traffic between two data centres costs money, and a partition's leader is in one of them.  A
consumer names its rack (`client.rack`) in each Fetch.  A leader with a rack-aware selector
answers with the id of a follower in that rack and without records; the consumer fetches there
from then on.

    consumer, rack b -> leader 101, rack a     offset 7, rack b
                     <-                        preferred_read_replica 102, no records
                     -> follower 102, rack b   offset 7
                     <-                        records below the follower's high watermark

A follower qualifies if it is in the ISR and holds the offset that is asked for.  One outside
the ISR may fall behind without end, and with it all that read from it.  The leader is
preferred to any follower in its own rack.

The client decides how long it stays there.  It asks the leader again when its metadata expires,
when the follower says that it has no such replica, and when the offset is outside of the
follower's log.

Left out: selectors other than Kafka's own two, LeaderSelector and RackAwareReplicaSelector.
"""

from __future__ import annotations

from engine.replication.partition import Partition

RACK_AWARE = "org.apache.kafka.common.replica.RackAwareReplicaSelector"


def preferred_read_replica(partition: Partition, rack: str, offset: int) -> int | None:
    """The follower that a consumer in `rack` should read `offset` from; None: read here.

    Of several, the one with the most records; then the one that was level last.
    """
    if not rack or not partition.is_leader or _rack_of(partition, partition.node_id) == rack:
        return None
    nearby = [
        (each.log_end_offset, each.caught_up_us // 1000, each.broker_id)
        for each in partition.followers.values()
        if each.broker_id in partition.in_sync_replicas
        and each.log_start_offset <= offset <= each.log_end_offset
        and _rack_of(partition, each.broker_id) == rack
    ]
    return max(nearby)[2] if nearby else None


def _rack_of(partition: Partition, broker_id: int) -> str | None:
    broker = partition.metadata.brokers.get(broker_id)
    return None if broker is None or broker.fenced else broker.rack
