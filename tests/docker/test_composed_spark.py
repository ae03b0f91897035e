"""The compose profile `spark`: a job in its containers writes a table that both sides see."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from kit import spark
from kit.clusters import docker as composed
from kit.course import PROJECT
from tests.real_clusters import missing

pytestmark = [
    pytest.mark.docker, pytest.mark.spark, pytest.mark.full, pytest.mark.timeout(600)
]  # fmt: skip
MASTER = ("127.0.0.1", 7077)
SERVICES = ("spark-master", "spark-worker-1", "spark-worker-2")

JOB = """
import json
from kit.spark import session, table_format, temporary
from pyspark.sql import functions as F

spark, table = session(), str(temporary() / "numbers")
spark.range(1000, numPartitions=4).write.format(table_format(spark)).save(table)
where = F.expr("reflect('java.lang.System', 'getProperty', 'java.class.path')")
found = spark.read.format(table_format(spark)).load(table).repartition(4)
homes = {row[0].split("/jars/")[0] for row in found.select(where).distinct().collect()}
print(json.dumps({"rows": found.count(), "master": spark.sparkContext.master,
                  "homes": sorted(home.split(":")[-1] for home in homes)}))
"""


@pytest.fixture
def master(spark_image: str) -> Iterator[str]:
    with socket.socket() as probe:
        if probe.connect_ex(MASTER) == 0:
            missing("The free port 7077", "end the Spark cluster that listens there")
    command = [*composed.compose_command(), "-p", composed.PROJECT, "--profile", "spark"]
    environment = {**os.environ, "KAFKALAB_UID": str(os.getuid())}
    try:
        subprocess.run(
            [*command, "up", "-d", *SERVICES],
            cwd=PROJECT, env=environment, check=True, capture_output=True,
        )  # fmt: skip
        yield "spark://{}:{}".format(*MASTER)
    finally:
        composed.down()


def test_a_job_runs_in_the_containers_and_down_leaves_none(master: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", JOB],
        cwd=PROJECT, env={**os.environ, spark.MASTER_VARIABLE: master},
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert found == {"rows": 1000, "master": master, "homes": ["/opt/spark"]}
    assert composed.attach() is None  # Kafka's containers are not there
    removed = composed.down()
    assert len([each for each in removed if each.startswith("container")]) == len(SERVICES)
