"""Share groups on a real Kafka: the workers of notebook 01, and what its console client prints."""

from __future__ import annotations

import pytest

from kit.clusters.kafka_cluster import KafkaCluster
from lessons.nb01_events import share

pytestmark = [pytest.mark.real, pytest.mark.timeout(180)]


def test_all_workers_of_a_share_group_work_on_one_partition(local_cluster: KafkaCluster) -> None:
    local_cluster.create_topic("packing")
    orders = [f"order {number}" for number in range(12)]
    got = share.packed(local_cluster, "packing", "packers", [100, 100, 100], orders)
    assert got is not None
    assert all(got)
    assert sorted(each for worker in got for each in worker) == sorted(orders)


def test_a_slow_worker_of_a_share_group_gets_fewer_records(local_cluster: KafkaCluster) -> None:
    local_cluster.create_topic("packing")
    orders = [f"order {number}" for number in range(20)]
    got = share.packed(local_cluster, "packing", "uneven", [1_000, 50], orders)
    assert got is not None
    slow, fast = got
    assert len(slow) < len(fast)
