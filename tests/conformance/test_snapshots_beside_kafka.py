"""Snapshots of the metadata go both ways: Kafka starts from the engine's, the engine from Kafka's.

The engine writes a metadata log whose beginning is deleted, so that nothing but a snapshot has it.
A real controller is stopped, its log replaced by that one, and started again.  A damaged snapshot
they judge differently.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from random import Random

import pytest

from engine import api
from engine.control.controller import Controller
from engine.metadata import snapshot
from engine.metadata.records import METADATA_DIRECTORY
from engine.records import batch
from engine.settings import Settings
from engine.storage.real_disk import RealDisk
from engine.wire.errors import KafkaError
from kit.clusters import local
from kit.clusters.data_dirs import data_dir
from kit.clusters.kafka_cluster import KafkaCluster
from tests.conformance.controller_session import NOW, Session, create
from tests.real_clusters import require_local_kafka

pytestmark = [pytest.mark.real, pytest.mark.full, pytest.mark.heavy]

OFTEN = {"metadata.log.max.record.bytes.between.snapshots": 2000}
CUT = {**OFTEN, "internal.metadata.log.segment.bytes": 4096, "metadata.max.retention.bytes": 0}
TOPICS = 40
PATIENCE_S = 60.0


def snapshots(folder: Path) -> list[Path]:
    return sorted((folder / METADATA_DIRECTORY).glob(f"*{snapshot.SUFFIX}"))


def written_by_the_engine(folder: Path) -> list[str]:
    """The folder of a controller; the names of its topics."""
    session = Session(folder, CUT)
    session.join(101, "north")
    session.join(102, "south")
    names = [f"engine-{number}" for number in range(TOPICS)]
    for name in names:
        session.ask(create(name))
    assert session.controller.log.start_offset > 0
    session.controller.close()
    return names


def restart_on(cluster: KafkaCluster, files: Path) -> None:
    """Starts the real cluster on the metadata log in `files`."""
    for broker in cluster.brokers:
        cluster.kill(broker)
    cluster.kill(100)
    metadata = data_dir(cluster, 100) / METADATA_DIRECTORY
    shutil.rmtree(metadata)
    shutil.copytree(files / METADATA_DIRECTORY, metadata)
    for broker in cluster.brokers:
        shutil.rmtree(data_dir(cluster, broker) / METADATA_DIRECTORY)
    with (data_dir(cluster, 100).parent / "100.properties").open("a") as properties:
        properties.writelines(f"{name}={value}\n" for name, value in OFTEN.items())
    cluster.start(100)
    for broker in cluster.brokers:
        cluster.start(broker)


def test_kafka_starts_from_the_engines_snapshot_and_the_engine_from_kafkas(tmp_path: Path) -> None:
    require_local_kafka()
    ours = tmp_path / "engine"
    names = written_by_the_engine(ours)
    with local.start() as kafka:
        restart_on(kafka, ours)
        kafka.wait_until(
            lambda c: set(names) <= set(c.snapshot()["topics"]), PATIENCE_S, "the engine's topics"
        )
        for number in range(5):
            kafka.create_topic(f"kafka-{number}")
        kafka.stop(100)
        theirs = tmp_path / "kafka"
        shutil.copytree(data_dir(kafka, 100), theirs)
    controller = Controller(100, Settings(OFTEN), RealDisk(theirs), Random(4), api.refusal)
    controller.start(NOW)
    assert len(snapshots(theirs)) >= 2, "the engine's, and one that Kafka wrote"
    assert snapshots(theirs)[-1].name > snapshots(ours)[-1].name
    assert {*names, "kafka-0", "kafka-4"} <= set(controller.image.topic_ids)
    assert set(controller.image.brokers) >= {101, 102, 103}
    controller.close()


def test_kafka_takes_a_snapshot_that_was_cut_for_a_whole_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Topics are missing then; the engine refuses the file."""
    require_local_kafka()
    monkeypatch.setattr(snapshot, "RECORDS_PER_BATCH", 20)
    names = written_by_the_engine(tmp_path)
    newest = snapshots(tmp_path)[-1]
    data = newest.read_bytes()
    places = [position for _, position in batch.iterate(data)]
    newest.write_bytes(data[: places[3] + 30])
    with pytest.raises(KafkaError, match="is damaged"):
        Controller(100, Settings(), RealDisk(tmp_path), Random(4), api.refusal).start(NOW)
    with local.start() as kafka:
        restart_on(kafka, tmp_path)
        kafka.create_topic("after")
        kafka.wait_until(
            lambda c: {names[0], "after"} <= set(c.snapshot()["topics"]), PATIENCE_S, "two topics"
        )
        assert set(names) - set(kafka.snapshot()["topics"])
