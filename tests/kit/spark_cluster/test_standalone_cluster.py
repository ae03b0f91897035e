"""A standalone Spark cluster: up, a job whose executor dies, a driver that dies, and down.

`down` ends every cluster of the kit, so all of it runs in a process table of its own.
"""

from __future__ import annotations

import json
import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from kit import jars, spark, spark_cluster
from kit.clusters import registry
from kit.clusters.interface import ClusterError
from kit.course import PROJECT
from tests.kit.spark_cluster.kafka_to_delta import RECORDS
from tests.real_clusters import run_apart

SESSION = """
kafkalab() { "$PYTHON" -m kit.cli "$@"; }
kafkalab up spark
kafkalab up spark
kafkalab status
SPARK_MASTER=$(kafkalab up spark | sed 's/.*SPARK_MASTER=//')
SPARK_MASTER=$SPARK_MASTER "$PYTHON" -m tests.kit.spark_cluster.kafka_to_delta
"$PYTHON" -c "
from tests.kit.spark_cluster.kafka_to_delta import spark_cluster, wait_for
cluster = spark_cluster.attach()
wait_for(lambda: not cluster.executors())
print('executors:', len(cluster.executors()), 'workers:', len(cluster.workers()))"
kafkalab down
ls -A "$TMPDIR"/kafka-inside-out-*
ps -e -o args= | grep -c '[j]ava' || true
"""


@pytest.fixture
def short_folder() -> Iterator[str]:
    """Sockets live in it, and their paths must stay under 108 bytes."""
    with tempfile.TemporaryDirectory(prefix="kl", dir="/tmp") as folder:
        yield folder


@pytest.mark.full
@pytest.mark.spark
@pytest.mark.timeout(600)
def test_a_job_outlives_its_executor_and_down_leaves_nothing() -> None:
    done = run_apart(SESSION)
    lines = done.stdout.splitlines()
    told = done.stdout + done.stderr
    stays_up = "It stays up until you run: kafkalab down. SPARK_MASTER=spark://127.0.0.1:"
    assert lines[0].startswith(stays_up), told
    address = lines[0].split("=")[1]
    assert lines[1] == f"It is up already. SPARK_MASTER={address}"
    assert f"spark     shared  {address}" in done.stdout
    reports = [json.loads(line) for line in lines if line.startswith("{")]
    assert len(reports) == 1, told
    assert reports[0] == {
        "format": "delta" if jars.DELTA.installed() else "parquet",
        "running when the other executor was there": True,
        "rows": RECORDS,
        "offsets": RECORDS,
        "sum": RECORDS * (RECORDS - 1) // 2,
        "commands with the secret": 0,
        "listening beyond loopback": [],
    }, told
    assert "executors: 0 workers: 2" in lines, told
    assert lines[-2:] == ["Nothing of the kit is running now.", "0"], told


def test_a_session_joins_a_cluster_of_this_machine_over_loopback(tmp_path) -> None:
    chosen = spark.settings("spark://127.0.0.1:7077", tmp_path, tmp_path)
    assert chosen["spark.driver.bindAddress"] == chosen["spark.driver.host"] == "127.0.0.1"
    assert str(tmp_path) in chosen["spark.executor.extraJavaOptions"]
    assert str(PROJECT) in chosen["spark.executorEnv.PYTHONPATH"]
    assert "spark.executor.memory" not in spark.settings("spark://host:7077", tmp_path, tmp_path)


def test_the_secret_is_in_a_file_of_its_own_and_only_for_its_cluster(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    master = "spark://127.0.0.1:7077"
    registry.Registration("label", "spark", str(tmp_path), False, master, os.getpid()).save()
    assert spark_cluster.properties_of(master) is None
    spark_cluster._write_properties(tmp_path)
    file = spark_cluster.properties_of(master)
    assert file is not None
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert spark_cluster.properties_of("spark://127.0.0.1:7078") is None
    monkeypatch.delenv("PYSPARK_SUBMIT_ARGS", raising=False)
    with spark._submitted(file):
        assert os.environ["PYSPARK_SUBMIT_ARGS"] == f"--properties-file {file} pyspark-shell"
    assert "PYSPARK_SUBMIT_ARGS" not in os.environ


def test_without_pyspark_the_remedy_is_named(monkeypatch) -> None:
    monkeypatch.setattr(jars, "java", lambda: "/usr/bin/java")
    monkeypatch.setattr(spark_cluster, "find_spec", lambda name: None)
    with pytest.raises(ClusterError, match=r"PySpark is not installed.*run: make setup"):
        spark_cluster.start()


def test_a_process_that_does_not_start_leaves_its_log_and_nothing_else(
    monkeypatch, tmp_path, short_folder
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("TMPDIR", short_folder)
    monkeypatch.setattr(tempfile, "tempdir", None)
    home = tmp_path / "spark"
    (home / "bin").mkdir(parents=True)
    (home / "bin" / "spark-class").write_text("echo 'ERROR Master: no room' >&2; exit 3\n")
    monkeypatch.setattr(jars, "java", lambda: "/usr/bin/java")
    monkeypatch.setattr(spark_cluster, "_spark_home", lambda: home)
    with pytest.raises(ClusterError, match=r"Spark's master ended .*no room.*last-failure\.log"):
        spark_cluster.start()
    assert registry.registrations() == []
    assert [*Path(short_folder).glob("kafka-inside-out-*/*")] == []
