"""What lessons write by hand is of today: a broker deletes what is older than retention.ms."""

from __future__ import annotations

from kit.clusters import engine
from kit.probes.clients import partition, produce_at
from kit.probes.raw_client import RawClient
from kit.probes.requests import first_partition, producing
from lessons.nb08_producers.scenes import numbered

PATIENCE_S = 60
OFTEN = {"log.retention.check.interval.ms": "100"}


def test_no_record_of_a_lesson_is_too_old_to_be_kept() -> None:
    with engine.start(settings=OFTEN) as cluster:
        for topic in ("raw", "by-hand", "numbered"):
            cluster.create_topic(topic, assignment={0: [101]})
        cluster.create_topic("short", assignment={0: [101]}, config={"retention.ms": "1"})
        with RawClient(cluster, 101, "lesson") as client:
            assert first_partition(client.ask(producing("raw"))).error_code == 0
        assert produce_at(cluster, 101, "by-hand", "A") == "NONE"
        assert numbered(cluster, "numbered", 7, 0, 0) == "offset 0"
        assert produce_at(cluster, 101, "short", "gone") == "NONE"

        def start(topic: str) -> int:
            return int(partition(cluster, topic)["logs"][101]["log_start_offset"])

        cluster.wait_until(lambda _: start("short") == 1, PATIENCE_S, "a look at the logs' age")
        assert [start(topic) for topic in ("raw", "by-hand", "numbered")] == [0, 0, 0]
