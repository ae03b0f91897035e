"""What a controller's log says, read from its files."""

from __future__ import annotations

from kit.clusters import engine
from kit.probes import metadata_log


def test_a_topic_is_some_records_after_what_was_there() -> None:
    with engine.start() as cluster:
        before = metadata_log.end(cluster)
        assert metadata_log.since(cluster, before) == []
        cluster.create_topic("orders", partitions=2, config={"retention.ms": 60_000})
        written = metadata_log.since(cluster, before)
    assert [each.kind for each in written] == [
        "TopicRecord",
        "ConfigRecord",
        *["PartitionRecord"] * 2,
    ]
    assert [each.offset for each in written] == list(range(before, before + 4))
    assert str(written[1]).split(maxsplit=2)[2] == "topic orders: retention.ms = 60000"
