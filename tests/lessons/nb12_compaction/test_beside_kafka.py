"""What a Java broker alone can show: its cleaner threads, and its end without file handles."""

from __future__ import annotations

import resource
import sys
from pathlib import Path

import pytest

from kit.clusters import broker_log
from kit.clusters.kafka_cluster import KafkaCluster
from kit.clusters.local import LocalProvider
from lessons.nb12_compaction import passes, records, scenes
from tests.real_clusters import restored

pytestmark = pytest.mark.real


def test_a_running_broker_changes_its_cleaner_threads_and_still_cleans(
    local_cluster: KafkaCluster,
) -> None:
    seen = scenes.cleaner_threads(local_cluster)
    assert seen["kafka-log-cleaner-thread: how many in 103's process"] == [1, 2, 1]
    config = {**scenes.TWO, **scenes.NEVER, "cleanup.policy": "compact"}
    local_cluster.create_topic("users", assignment={0: [103]}, config=config)
    records.write(local_cluster, "users", [("a", "1")] * 5)
    passes.clean(local_cluster, "users")
    assert [each.offset for each in records.read(local_cluster, "users")] == [3, 4]


@pytest.mark.skipif(sys.platform != "linux", reason="prlimit and /proc are Linux's")
def test_a_broker_without_file_handles_ends_at_a_new_segment(local_cluster: KafkaCluster) -> None:
    provider = local_cluster.provider
    assert isinstance(provider, LocalProvider)
    with restored(local_cluster):
        local_cluster.create_topic("orders", assignment={0: [102]}, config=scenes.TWO)
        records.write(local_cluster, "orders", [("a", "1")] * 10)
        pid = provider.pid(102)
        few = len(list(Path(f"/proc/{pid}/fd").iterdir())) + 10
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (few, few))
        records.write(local_cluster, "orders", [("a", "1")] * 60, patience_s=5)
        local_cluster.wait_until(lambda c: provider.nodes()[102].state == "stopped", 60)
        assert broker_log.find(local_cluster, 102, "Too many open files").lines
    assert len(records.read(local_cluster, "orders")) >= 10
