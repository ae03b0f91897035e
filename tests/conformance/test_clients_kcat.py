"""An unmodified kcat on the engine."""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest

from kit.clusters.kafka_cluster import KafkaCluster
from tests.real_clusters import missing

PATIENCE_S = 60


def kcat(cluster: KafkaCluster, *arguments: str, given: str = "") -> str:
    if shutil.which("kcat") is None:
        missing("kcat", "apt-get install kcat")
    command = ["kcat", "-b", cluster.bootstrap, *arguments]
    done = subprocess.run(command, input=given, capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
@pytest.mark.parametrize("acks", ["1", "all"])
def test_lines_go_in_and_come_out(engine_cluster, codec, acks) -> None:
    topic = f"lines-{codec}-{acks}"
    engine_cluster.create_topic(topic)
    lines = "".join(f"order {n}\n" for n in range(100))
    kcat(engine_cluster, "-P", "-t", topic, "-z", codec, "-X", f"acks={acks}", given=lines)
    found = kcat(engine_cluster, "-C", "-t", topic, "-o", "beginning", "-e", "-q")
    assert found == lines


def test_metadata_lists_brokers_and_topics(engine_cluster) -> None:
    engine_cluster.create_topic("listed", partitions=2)
    shown = json.loads(kcat(engine_cluster, "-L", "-J"))
    assert sorted(b["id"] for b in shown["brokers"]) == engine_cluster.brokers
    (listed,) = [t for t in shown["topics"] if t["topic"] == "listed"]
    assert [len(p["isrs"]) for p in listed["partitions"]] == [3, 3]


def test_offsets_are_asked_for_by_time(engine_cluster) -> None:
    engine_cluster.create_topic("timed")
    kcat(engine_cluster, "-P", "-t", "timed", given="a\nb\n")
    assert "offset 2" in kcat(engine_cluster, "-Q", "-t", "timed:0:-1")


def test_a_group_goes_on_where_it_stopped(engine_cluster) -> None:
    engine_cluster.create_topic("grouped")
    kcat(engine_cluster, "-P", "-t", "grouped", given="a\nb\n")
    reading = ("-G", "kcats", "-X", "auto.offset.reset=earliest", "-e", "-q", "grouped")
    assert kcat(engine_cluster, *reading) == "a\nb\n"
    kcat(engine_cluster, "-P", "-t", "grouped", given="c\n")
    assert kcat(engine_cluster, *reading) == "c\n"
