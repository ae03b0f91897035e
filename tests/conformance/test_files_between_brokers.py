"""A partition's files move between the engine and a real Kafka, and are served there as they were.

On the one side a compacted topic gets transactions, some of them aborted, and one that stays open;
the cleaner passes over it.  The broker stops, and its files replace those of a new topic on the
other side.  What both brokers then say must be the same: the records, for readers of both isolation
levels, and the producers.

Kafka's dump-log reads every kind of file on the way, and the engine's classes read the real
broker's as the tool does.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource

from engine.records.batch import decode, iterate
from engine.storage.log import Log
from engine.storage.log_config import LogConfig
from engine.storage.log_loader import Checkpointed
from engine.storage.real_disk import RealDisk
from kit.clusters import engine
from kit.clusters.data_dirs import data_dir
from kit.clusters.interface import Cluster
from kit.clusters.kafka_cluster import KafkaCluster
from tests.conformance.kafka_tools import KafkaTools
from tests.real_clusters import restored

pytestmark = pytest.mark.real

BROKER, PATIENCE_S = 101, 60.0
COMPACTED = {
    "cleanup.policy": "compact",
    "internal.segment.bytes": 3_000,
    "min.cleanable.dirty.ratio": 0.01,
    "min.insync.replicas": 1,
}
TRANSACTIONS, KEYS = 60, 12
LEVELS = ("read_uncommitted", "read_committed")
METADATA = "__cluster_metadata-0"
Seen = list[tuple[int, str, str]]


@dataclass(frozen=True)
class Moved:
    """What the first broker said of a partition, and its files."""

    topic: str
    uncommitted: Seen
    committed: Seen
    producers: list[str]
    files: Path
    whole: Path
    """All of the broker's files, the internal topics' too."""


@pytest.fixture(scope="module")
def clusters(local_cluster: KafkaCluster) -> Iterator[dict[str, KafkaCluster]]:
    with engine.start() as ours, restored(local_cluster):
        yield {"engine": ours, "kafka": local_cluster}


@pytest.fixture(scope="module")
def tools() -> Iterator[KafkaTools]:
    with KafkaTools() as running:
        yield running


@pytest.fixture(scope="module", params=["engine", "kafka"])
def source(request: pytest.FixtureRequest) -> str:
    side: str = request.param
    return side


@pytest.fixture(scope="module")
def moved(
    clusters: dict[str, KafkaCluster],
    tools: KafkaTools,
    source: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Moved:
    """A partition with a history; its broker is stopped for the copy, and started again."""
    cluster, topic = clusters[source], f"moved-{source}"
    cluster.create_topic(topic, assignment={0: [BROKER]}, config=COMPACTED)
    hanging = write(cluster, topic)
    cluster.wait_until(lambda c: is_compacted(c, topic), PATIENCE_S, "a pass of the cleaner")
    freeze(cluster, topic)
    seen = {level: read(cluster, topic, level) for level in LEVELS}
    producers = described(tools, cluster, topic)
    assert len(producers) == 2, "the writer and the one that hangs"
    cluster.stop(BROKER)
    whole = tmp_path_factory.mktemp(source) / "data"
    shutil.copytree(data_dir(cluster, BROKER), whole)
    cluster.start(BROKER)
    del hanging
    return Moved(topic, *(seen[level] for level in LEVELS), producers, whole / f"{topic}-0", whole)


def write(cluster: KafkaCluster, topic: str) -> Producer:
    """Transactions, every third of them aborted; the producer of the last one, which stays open."""
    there = {"bootstrap.servers": cluster.bootstrap, "linger.ms": 0, "log_level": 0}
    writer = Producer({**there, "transactional.id": f"{topic}-writer"})
    writer.init_transactions(PATIENCE_S)
    for number in range(TRANSACTIONS):
        writer.begin_transaction()
        for each in range(4):
            writer.produce(topic, f"{number}-{each}" + "." * 40, f"k{(number + each) % KEYS}", 0)
        if number % 3 == 1:
            assert writer.flush(PATIENCE_S) == 0
            writer.abort_transaction(PATIENCE_S)
        else:
            writer.commit_transaction(PATIENCE_S)
    hanging = Producer({**there, "transactional.id": f"{topic}-hanging"})
    hanging.init_transactions(PATIENCE_S)
    hanging.begin_transaction()
    hanging.produce(topic, "open", "k0", 0)
    assert hanging.flush(PATIENCE_S) == 0
    return hanging


def is_compacted(cluster: Cluster, topic: str) -> bool:
    """Whether most of the closed segments' records are gone."""
    found = sorted((data_dir(cluster, BROKER) / f"{topic}-0").glob("*.log"))
    try:
        counted = sum(len(decode(data, at)) for data in map(Path.read_bytes, found)
                      for header, at in iterate(data) if not header.is_control)  # fmt: skip
    except FileNotFoundError:
        return False  # a segment was just replaced
    return counted < 2 * TRANSACTIONS


def freeze(cluster: KafkaCluster, topic: str) -> None:
    """No more compaction, so that both sides can be read at leisure."""
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    settings = {"cleanup.policy": "delete", "retention.ms": "-1"}
    entries = [
        ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
        for name, value in settings.items()
    ]
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic, incremental_configs=entries)
    admin.incremental_alter_configs([resource])[resource].result(PATIENCE_S)


def read(cluster: KafkaCluster, topic: str, level: str) -> Seen:
    """Offset, key and value of what a reader sees, up to where it may read."""
    reader = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "group.id": "reader",
            "isolation.level": level,
            "enable.partition.eof": True,
            "enable.auto.commit": False,
            "log_level": 0,
        }
    )
    reader.assign([TopicPartition(topic, 0, 0)])
    found: Seen = []
    while True:
        message = reader.poll(PATIENCE_S)
        assert message is not None, "the end was not reached"
        if message.error() is not None:
            reader.close()
            return found
        found.append((message.offset(), message.key().decode(), message.value().decode()))


def described(tools: KafkaTools, cluster: KafkaCluster, topic: str) -> list[str]:
    """The producers of the partition, in the tool's own lines but for the time of the last one."""
    command = ("describe-producers", "--topic", topic, "--partition", "0")
    printed = tools.run(cluster.bootstrap, "transactions", *command)
    return sorted(line for line in printed.splitlines() if line[:1].isdigit())


def test_the_other_broker_serves_the_same(
    clusters: dict[str, KafkaCluster], tools: KafkaTools, source: str, moved: Moved
) -> None:
    other = clusters["kafka" if source == "engine" else "engine"]
    config = {"retention.ms": -1, "min.insync.replicas": 1}
    other.create_topic(moved.topic, assignment={0: [BROKER]}, config=config)
    there = data_dir(other, BROKER) / f"{moved.topic}-0"
    other.stop(BROKER)
    for file in there.iterdir():
        if file.name != "partition.metadata":
            file.unlink()
    for file in moved.files.iterdir():
        if file.name != "partition.metadata":
            shutil.copy(file, there)
    other.start(BROKER)
    other.wait_until(lambda c: c.leader(moved.topic) == BROKER, PATIENCE_S, "a leader")
    assert read(other, moved.topic, "read_uncommitted") == moved.uncommitted
    assert read(other, moved.topic, "read_committed") == moved.committed
    assert described(tools, other, moved.topic) == moved.producers


def test_the_history_has_what_it_should_have(moved: Moved) -> None:
    assert moved.uncommitted[-1][2] == "open"
    assert all(value != "open" for _, _, value in moved.committed)
    assert {key for _, key, _ in moved.committed} == {f"k{number}" for number in range(KEYS)}
    offsets = [offset for offset, _, _ in moved.uncommitted]
    assert offsets[-1] > 2 * len(offsets), "compaction left no gaps"
    names = {file.suffix for file in moved.files.iterdir()}
    assert names >= {".log", ".index", ".timeindex", ".txnindex", ".snapshot", ".metadata"}


def dumped(tools: KafkaTools, files: list[Path], *options: str) -> str:
    return tools.run("", "dump-log", "--files", ",".join(map(str, sorted(files))), *options)


def test_the_engine_reads_the_files_as_the_tools_do(tools: KafkaTools, moved: Moved) -> None:
    """Records, producers and aborted ranges."""
    folder = moved.files
    disk = RealDisk(folder.parent.parent / "copy")
    copy = shutil.copytree(folder, Path(disk.root) / folder.name, dirs_exist_ok=True)
    text = dumped(tools, [*copy.glob("*.log")], "--deep-iteration", "--print-data-log")
    theirs = [int(each) for each in re.findall(r"^\| offset: (\d+)", text, re.MULTILINE)]
    indexes = [each for each in copy.glob("*.txnindex") if each.stat().st_size]
    ranges = re.findall(
        r"producerId: (\d+) firstOffset: (\d+) lastOffset: (\d+) lastStableOffset: (\d+)",
        dumped(tools, indexes) if indexes else "",
    )
    snapshot = max(copy.glob("*.snapshot"))
    states = re.findall(
        r"producerId: (\d+) producerEpoch: (\d+) .*?lastSequence: (-?\d+)",
        dumped(tools, [snapshot]),
    )

    log = Log(disk, folder.name, LogConfig(), 0, Checkpointed(True, 1 << 40))
    ours, aborted = [], []
    for segment in log.segments:
        data = disk.read(segment.path, 0, disk.size(segment.path))
        ours += [each.offset for _, at in iterate(data) for each in decode(data, at)]
        aborted += [
            (each.producer_id, each.first_offset, each.last_offset, each.last_stable_offset)
            for each in segment.transaction_index
        ]
    assert ours == theirs
    assert aborted == [tuple(map(int, each)) for each in ranges]
    assert aborted, "nothing was aborted"
    known = {(producer, state.epoch, state.last_sequence) for producer, state in log.producers}
    assert known == {tuple(map(int, each)) for each in states}
    log.close()
    disk.close()


def test_dump_log_has_no_complaint_about_any_file(
    tools: KafkaTools, moved: Moved, source: str
) -> None:
    if source == "kafka":
        return  # its files are its own
    whole = [each for each in moved.whole.rglob("*") if each.is_file()]
    logs = [each for each in whole if each.suffix == ".log" and each.parent.name != METADATA]
    assert "isvalid: false" not in dumped(tools, logs, "--deep-iteration")
    indexes = [each for each in whole if each.name.endswith("index") and each.stat().st_size]
    kinds = {each.suffix for each in indexes}
    assert kinds == {".index", ".timeindex", ".txnindex"}
    checked = [each for each in indexes if each.suffix != ".txnindex"]
    passed = dumped(tools, checked, "--index-sanity-check").count("passed sanity check.")
    assert passed == len(checked)
    assert "mismatch" not in dumped(tools, checked, "--verify-index-only").lower()
    assert dumped(tools, [each for each in whole if each.suffix == ".snapshot"]).count("producerId")
    ids = [each for each in logs if each.parent.name.startswith("__transaction_state-")]
    text = dumped(tools, ids, "--transaction-log-decoder")
    assert f'"transactionalId":"{moved.topic}-writer"' in text
    assert '"transactionStatus":1' in text, "the open transaction"
