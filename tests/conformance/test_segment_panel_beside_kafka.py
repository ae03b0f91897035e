"""The Segment panel over the files of running brokers, the engine's and a local Kafka's."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka import Producer

from kit.clusters.kafka_cluster import KafkaCluster
from kit.probes.stored_batches import StoredBatch, stored
from kit.segment_panel.panel import SegmentPanel
from tests.real_clusters import restored

pytestmark = pytest.mark.real

TOPIC = "opened"
CONFIG = {"internal.segment.bytes": 4000, "index.interval.bytes": 200}


@pytest.fixture(scope="module", params=["engine_cluster", "local_cluster"])
def cluster(request: pytest.FixtureRequest) -> Iterator[KafkaCluster]:
    found: KafkaCluster = request.getfixturevalue(request.param)
    with restored(found):
        yield found


def test_the_files_hold_what_a_consumer_reads_and_look_ups_find_it(cluster: KafkaCluster) -> None:
    """On Kafka the active segment's indexes are mapped, and mostly room for more entries."""
    cluster.create_topic(TOPIC, partitions=1, config=CONFIG)
    for codec in ("none", "zstd"):
        producer = Producer(
            {"bootstrap.servers": cluster.bootstrap, "linger.ms": 0, "compression.type": codec}
        )
        for number in range(40):
            producer.produce(TOPIC, f"{number} " + "x" * 40, key="k")
            assert producer.flush(30) == 0
    panel = SegmentPanel(cluster, TOPIC)
    seen = [
        StoredBatch(b.header.base_offset, b.header.records_count, b.size, b.codec)
        for segment in panel.replica.segments
        for b in segment.batches
    ]
    assert seen == stored(cluster, TOPIC)
    assert len(panel.replica.segments) > 1
    assert panel.scene["notes"] == []
    end = panel.replica.log_end
    probes = 0
    for offset in range(0, end, 7):
        panel.look_up(offset=offset)
        assert panel.scene["opened"]["first_offset"] <= offset
        assert panel.scene["opened"]["last_offset"] >= offset
        assert panel.opened is not None
        assert panel.opened.trouble == ""
        probes += sum(step["kind"] == "probe" for step in panel.scene["lookup"]["steps"])
        panel.look_up(time=panel.opened.header.base_timestamp)
        assert panel.scene["lookup"]["answer"].startswith("Offset ")
    assert probes > end // 7
    assert ("log end", str(end)) in [tuple(fact) for fact in panel.scene["facts"]]
