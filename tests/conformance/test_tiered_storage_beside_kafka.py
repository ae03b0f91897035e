"""Tiered storage (KIP-405) on the engine and on a real Kafka with its tests' LocalTieredStorage.

Both get the same bytes.  What is compared must then be the same: which segments are in the store,
byte by byte, where the log and its local part begin, and what consumers read.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, KafkaError, TopicPartition

from kit import jars, tiered_storage
from kit.tiered_storage import FIRST_MS, Offsets, TieredCluster

PATIENCE_S = 60


@pytest.fixture(scope="module")
def on_engine() -> Iterator[TieredCluster]:
    with tiered_storage.on_engine() as cluster:
        yield cluster


@pytest.fixture(scope="module")
def on_kafka() -> Iterator[TieredCluster]:
    with tiered_storage.on_kafka() as cluster:
        yield cluster


def by_confluent(cluster: TieredCluster, topic: str) -> list[str]:
    """What confluent-kafka reads from offset 0 on."""
    reader = Consumer(
        {"bootstrap.servers": cluster.bootstrap, "group.id": "r", "enable.partition.eof": True}
    )
    reader.assign([TopicPartition(topic, 0, 0)])
    found = []
    while True:
        message = reader.poll(PATIENCE_S)
        assert message is not None, "no end of the partition"
        if message.error():
            assert message.error().code() == KafkaError._PARTITION_EOF, message.error()
            reader.close()
            return found
        found.append(message.value().decode())


def test_confluent_reads_what_only_the_tier_has(on_engine: TieredCluster) -> None:
    sent = tiered_storage.fill(on_engine, "alone")
    offsets = tiered_storage.where(on_engine, "alone")
    assert offsets.log_start == 0 < offsets.local_start
    assert by_confluent(on_engine, "alone") == sent


@pytest.mark.real
@pytest.mark.timeout(300)
def test_both_sides_keep_the_same_in_the_same_places(
    on_engine: TieredCluster, on_kafka: TieredCluster
) -> None:
    sides = (on_engine, on_kafka)
    sent = [tiered_storage.fill(each, "orders") for each in sides]
    assert sent[0] == sent[1]
    ours, theirs = (tiered_storage.where(each, "orders") for each in sides)
    assert ours == theirs
    assert ours.log_start == 0 < ours.local_start <= ours.latest_tiered < ours.log_end
    for each in sides:
        assert tiered_storage.read(each, "orders") == sent[0]
        assert by_confluent(each, "orders") == sent[0]
    for second in (0, 5, 31, 59):
        found = [tiered_storage.at(each, "orders", FIRST_MS + 1000 * second) for each in sides]
        assert found == [10 * second] * 2


@pytest.mark.real
@pytest.mark.timeout(300)
def test_the_store_has_the_same_files_with_the_same_bytes(
    on_engine: TieredCluster, on_kafka: TieredCluster
) -> None:
    for each in (on_engine, on_kafka):
        tiered_storage.fill(each, "files")
    ours, theirs = (of_topic(each, "files") for each in (on_engine, on_kafka))
    assert list(ours) == list(theirs)
    assert len(ours) >= 5 * 5
    for name, content in ours.items():
        assert content == theirs[name], name


def of_topic(cluster: TieredCluster, topic: str) -> dict[str, bytes]:
    return tiered_storage.files(cluster, topic)


def written(cluster: TieredCluster, topic: str) -> list[str]:
    """What Kafka's dump tool reads in the metadata of a topic's remote segments, ids left out."""
    folder = {"engine": "tier/__remote_log_metadata/*", "kafka": "data/__remote_log_metadata-0"}
    lines = []
    for file in sorted(cluster.tier.parent.glob(f"{folder[cluster.kind]}/*.log")):
        command = [jars.java(), "-cp", jars.classpath(), "org.apache.kafka.tools.DumpLogSegments"]
        command += ["--remote-log-metadata-decoder", "--files", str(file)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S)
        lines += [each for each in done.stdout.splitlines() if f":{topic}-0," in each]
    payloads = (line.partition("payload: ")[2] for line in lines)
    return [
        re.sub(r"(TopicIdPartition|[Ii]d)=[^,}]*|eventTimestampMs=\d+", "", p) for p in payloads
    ]


@pytest.mark.real
@pytest.mark.timeout(300)
def test_both_write_down_the_same_and_kafkas_tool_reads_it(
    on_engine: TieredCluster, on_kafka: TieredCluster
) -> None:
    for each in (on_engine, on_kafka):
        tiered_storage.fill(each, "noted")
    ours, theirs = (written(each, "noted") for each in (on_engine, on_kafka))
    assert ours == theirs
    assert sum("COPY_SEGMENT_FINISHED" in each for each in ours) * 2 == len(ours) > 10
    assert all("endOffset" in each for each in ours[::2])


@pytest.mark.real
@pytest.mark.timeout(300)
def test_deleted_records_and_a_deleted_topic_leave_the_store(
    on_engine: TieredCluster, on_kafka: TieredCluster
) -> None:
    seen = []
    for each in (on_engine, on_kafka):
        tiered_storage.fill(each, "short")
        before = len(of_topic(each, "short"))
        assert tiered_storage.delete_records(each, "short", 155) == 155
        tiered_storage.until(lambda e=each, b=before: len(of_topic(e, "short")) < b, "files go")
        oldest = min(int(re.match(r"\d+", name)[0]) for name in of_topic(each, "short"))
        offsets = tiered_storage.where(each, "short")
        assert isinstance(offsets, Offsets)
        assert tiered_storage.read(each, "short", 155)[0].startswith("0155")
        seen.append((oldest <= 155, offsets))
        tiered_storage.delete(each, "short")
        tiered_storage.until(lambda e=each: not of_topic(e, "short"), "the topic's files go")
    assert seen[0] == seen[1]
