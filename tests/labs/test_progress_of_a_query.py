"""The progress panel over a real query: its numbers are the topic's, and it moves by itself."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from confluent_kafka import Producer

from kit.clusters.interface import Cluster
from kit.spark import temporary
from kit.spark_progress import progress

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]


def write(cluster: Cluster, count: int) -> None:
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
    for number in range(count):
        producer.produce("watched", key=str(number), value=b"{}")
    producer.flush()


@pytest.mark.full
def test_a_querys_lag_state_and_watermark_are_seen(spark: Any, engine_cluster: Cluster) -> None:
    engine_cluster.create_topic("watched", partitions=2)
    write(engine_cluster, 250)
    source = spark.readStream.format("kafka").option("subscribe", "watched")
    source = source.option("kafka.bootstrap.servers", engine_cluster.bootstrap)
    source = source.option("startingOffsets", "earliest").option("maxOffsetsPerTrigger", 100)
    once = source.load().withWatermark("timestamp", "1 hour").dropDuplicates(["key", "timestamp"])
    query = once.writeStream.format("noop").queryName("watched to nothing")
    query = query.option("checkpointLocation", str(temporary())).start()
    try:
        panel = progress(query)
        query.processAllAvailable()
        panel.refresh()
        rows = [batch.rows for batch in panel.batches if batch.rows]
        assert sum(rows) == 250
        assert max(rows) <= 100
        lags = [batch.lag["watched"] for batch in panel.batches]
        assert lags[0] == 250 - rows[0]
        assert (max(lags), lags[-1]) == (lags[0], 0)
        assert panel.batches[-1].state_rows == 250
        newest = panel.batches[len(rows) - 1]
        assert (newest.newest_event_s or 0) - (newest.watermark_s or 0) == pytest.approx(
            3600, abs=60
        )
        assert newest.stages["addBatch"] > 0

        async def watched() -> None:
            """As in a notebook: the cell has returned, and the browser has the panel in view."""
            write(engine_cluster, 50)
            while sum(batch.rows for batch in panel.batches) < 300:
                panel._handle_custom_msg({"type": "watch"}, [])
                await asyncio.sleep(1)

        # In a thread: the browser's tests leave a running loop in this one.
        with ThreadPoolExecutor(1) as kernel:
            kernel.submit(asyncio.run, asyncio.wait_for(watched(), 60)).result()
        assert "watched 0" in panel.words
    finally:
        query.stop()
    panel.refresh()
    assert panel.text.splitlines()[0].endswith("0 records behind; ended")
