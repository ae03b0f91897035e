"""An engine killed, or without power, comes back on its files; a bad folder gets a sentence."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from kit.clusters import engine, settings_table
from kit.clusters.kafka_cluster import KafkaCluster

ROOT = Path(__file__).parents[3]
PATIENCE_S = 60.0
LOG = "00000000000000000000.log"


class Served:
    """`python -m engine` on a folder, with its output in a file."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.folder = folder
        self.output = folder.with_suffix(".out")
        self.control = folder.with_suffix(".json")
        self.control.unlink(missing_ok=True)
        options = ["--data", str(folder), "--control", str(self.control)]
        for name, value in settings_table.as_dict().items():
            options += ["--set", f"{name}={value}"]
        options += arguments
        with self.output.open("w") as out:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "engine", *options],
                cwd=ROOT, stdout=out, stderr=out, start_new_session=True,
            )  # fmt: skip
        deadline = time.monotonic() + PATIENCE_S
        while not self.control.exists():
            assert self.process.poll() is None, self.output.read_text()
            assert time.monotonic() < deadline, self.output.read_text()
            time.sleep(0.01)
        ports = json.loads(self.control.read_text())["ports"].values()
        self.bootstrap = ",".join(f"127.0.0.1:{port}" for port in ports)

    def end(self, number: int) -> None:
        if self.process.poll() is None:
            self.process.send_signal(number)
        self.process.wait(PATIENCE_S)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def started(folder: Path) -> Iterator[list[Served]]:
    """Engines that the test starts; all are ended."""
    engines: list[Served] = []
    yield engines
    for each in engines:
        each.end(signal.SIGKILL)


def stand_still(served: Served) -> None:
    served.process.send_signal(signal.SIGSTOP)
    process = psutil.Process(served.process.pid)
    while process.status() != psutil.STATUS_STOPPED:
        time.sleep(0.001)


def create(bootstrap: str, name: str, replicas: int = 3) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(name, 1, replicas)])[name].result(PATIENCE_S)


def records(bootstrap: str, topic: str) -> list[str]:
    """Everything that a consumer gets from partition 0."""
    place = TopicPartition(topic, 0, 0)
    reader = Consumer({"bootstrap.servers": bootstrap, "group.id": "check", "check.crcs": True,
                       "enable.partition.eof": True, "enable.auto.commit": False})  # fmt: skip
    reader.assign([place])
    found: list[str] = []
    while True:
        message = reader.poll(PATIENCE_S)
        assert message is not None, "neither a record nor the end came"
        if message.error():
            break
        found.append(message.value().decode())
    reader.close()
    return found


def produce(bootstrap: str, topic: str, values: list[str], **config: Any) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0, "acks": "all", **config})
    for value in values:
        producer.produce(topic, value, partition=0)
    assert producer.flush(PATIENCE_S) == 0


def test_killed_in_the_middle_of_a_load_it_has_every_acknowledged_record(folder, started) -> None:
    started.append(Served(folder))
    bootstrap = started[-1].bootstrap
    create(bootstrap, "kept")
    acknowledged: list[str] = []

    def reported(error: Any, message: Any) -> None:
        if error is None:
            acknowledged.append(message.value().decode())

    producer = Producer({"bootstrap.servers": bootstrap, "acks": "all", "linger.ms": 1,
                         "message.timeout.ms": 60_000, "log_level": 0})  # fmt: skip
    for number in range(90_000):
        producer.produce("kept", str(number), partition=0, on_delivery=reported)
        if number == 50_000:
            while len(acknowledged) < 20_000:
                producer.poll(0.01)
            stand_still(started[-1])  # the rest is under way when it dies, however fast it is
    started[-1].end(signal.SIGKILL)
    producer.purge()
    producer.flush(PATIENCE_S)
    assert len(acknowledged) < 90_000, "nothing was under way: the kill came too late"

    started.append(Served(folder))
    found = records(started[-1].bootstrap, "kept")
    assert not set(acknowledged) - set(found)
    assert len(found) == len(set(found))


def test_a_cluster_stopped_cleanly_is_the_same_when_it_comes_back(folder, started) -> None:
    started.append(Served(folder))
    create(started[-1].bootstrap, "same")
    produce(started[-1].bootstrap, "same", ["a", "b"], **{"enable.idempotence": True})
    cluster_id = json.loads(started[-1].control.read_text())["cluster_id"]
    started[-1].end(signal.SIGTERM)
    assert started[-1].process.returncode == 0
    assert (folder / "101" / ".kafka_cleanshutdown").exists()

    started.append(Served(folder))
    assert json.loads(started[-1].control.read_text())["cluster_id"] == cluster_id
    produce(started[-1].bootstrap, "same", ["c"], **{"enable.idempotence": True})
    assert records(started[-1].bootstrap, "same") == ["a", "b", "c"]
    create(started[-1].bootstrap, "another")
    topic_ids = {
        (folder / "101" / f"{name}-0" / "partition.metadata").read_text()
        for name in ("same", "another")
    }
    assert len(topic_ids) == 2


def test_a_torn_last_batch_is_cut_and_reported(folder, started) -> None:
    started.append(Served(folder, "--brokers", "1"))
    create(started[-1].bootstrap, "torn", replicas=1)
    for value in ("whole", "torn"):
        produce(started[-1].bootstrap, "torn", [value])
    started[-1].end(signal.SIGKILL)
    log = folder / "101" / "torn-0" / LOG
    size = log.stat().st_size
    os.truncate(log, size - 3)

    started.append(Served(folder, "--brokers", "1"))
    assert records(started[-1].bootstrap, "torn") == ["whole"]
    (line,) = [x for x in started[-1].output.read_text().splitlines() if "torn-0" in x]
    assert "broker 101: torn-0: " in line
    produce(started[-1].bootstrap, "torn", ["next"])
    assert records(started[-1].bootstrap, "torn") == ["whole", "next"]


@pytest.fixture(scope="module")
def cluster() -> Iterator[KafkaCluster]:
    with engine.start() as served:
        yield served


def test_after_a_power_loss_what_was_flushed_is_there(cluster) -> None:
    cluster.create_topic("alone", assignment={0: [102]})
    produce(cluster.bootstrap, "alone", ["flushed"])
    cluster.stop(102)  # a clean stop flushes
    cluster.start(102)
    cluster.wait_until(lambda c: c.leader("alone") == 102, PATIENCE_S)
    produce(cluster.bootstrap, "alone", ["in the page cache"])
    cluster.kill(102)
    cluster.start(102)
    cluster.wait_until(lambda c: c.leader("alone") == 102, PATIENCE_S)
    assert records(cluster.bootstrap, "alone") == ["flushed", "in the page cache"]
    cluster.lose_power(102)
    assert cluster.snapshot()["brokers"][102]["state"] == "killed"
    cluster.start(102)
    cluster.wait_until(lambda c: c.leader("alone") == 102, PATIENCE_S)
    assert records(cluster.bootstrap, "alone") == ["flushed"]


def test_a_replica_that_lost_power_gets_its_records_back_from_the_leader(cluster) -> None:
    cluster.create_topic("healed", assignment={0: [101, 102, 103]})
    produce(cluster.bootstrap, "healed", ["a", "b", "c"])
    cluster.lose_power(102)
    cluster.start(102)

    def end(_: object) -> int:
        logs = cluster.snapshot()["topics"]["healed"]["partitions"][0]["logs"]
        return int(logs[102].get("log_end_offset", -1))

    cluster.wait_until(lambda c: end(c) == 3, PATIENCE_S)


# -- one sentence and the mending command


def refusal(*arguments: str, **options: Any) -> str:
    command = [sys.executable, "-m", "engine", *arguments]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_S, **options
    )
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    return done.stderr.strip()


def test_a_taken_port() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = refusal("--brokers", "1", "--port", str(port))
    assert (
        said == f"Port {port} on 127.0.0.1 is taken; choose another with --port, or end its owner."
    )


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    said = refusal("--data", str(tmp_path / "file" / "data"))
    assert said.startswith(f"Cannot write to {tmp_path / 'file' / 'data'} (")
    assert "--data" in said
    if os.getuid() == 0:  # the permission bits mean nothing to root
        return
    (tmp_path / "locked").mkdir(mode=0o500)
    assert "Permission denied" in refusal("--data", str(tmp_path / "locked"))


def test_a_folder_of_another_cluster_or_node(folder, started) -> None:
    started.append(Served(folder, "--brokers", "1"))
    said = refusal("--data", str(folder))
    assert f"is served by process {started[-1].process.pid} already" in said
    assert f"kill {started[-1].process.pid}" in said
    started[-1].end(signal.SIGKILL)
    said = refusal("--data", str(folder), "--cluster-id", "AAAAAAAAAAAAAAAAAAAAAQ")
    assert "belongs to node 100 of cluster" in said
    assert "--data" in said
    (folder / "101").rename(folder / "102")
    assert "belongs to node 101" in refusal("--data", str(folder), "--brokers", "2")


def test_a_wrong_option() -> None:
    assert "NAME=VALUE" in refusal("--set", "min.insync.replicas")
    assert "from 1 to 100" in refusal("--brokers", "0")
    assert "replica.lag.time.max.ms" in refusal("--set", "replica.lag.time.max.ms=soon")
    assert "no.such.setting" in refusal("--set", "no.such.setting=1")
    assert "fetch-divergence" in refusal("--rule", "no-such-rule")
