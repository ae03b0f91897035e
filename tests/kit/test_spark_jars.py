"""The connector's jars: a set of their own, wanted only where PySpark is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kit import jars
from kit.course import PROJECT


def test_the_two_sets_lie_apart_and_each_has_its_variable(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("KAFKA_JARS", raising=False)
    monkeypatch.delenv("SPARK_JARS", raising=False)
    assert jars.SPARK.directory() != jars.directory()
    monkeypatch.setenv("SPARK_JARS", str(tmp_path / "mine"))
    assert jars.SPARK.directory() == tmp_path / "mine"
    with pytest.raises(jars.JarsMissing, match=r"SPARK_JARS names .* no spark-sql-kafka jar"):
        jars.SPARK.require()


@pytest.mark.parametrize("jar_set", [jars.SPARK, jars.DELTA], ids=["connector", "delta"])
def test_the_recorded_jars_are_those_of_the_pom(jar_set: jars.JarSet) -> None:
    pom = jar_set.pom.read_text()
    for name in jar_set.recorded():
        artifact, version = name.removesuffix(".jar").rsplit("-", 1)
        assert f"<artifactId>{artifact}</artifactId>" in pom
        assert f"<version>{version}</version>" in pom


def test_setup_fetches_the_connector_only_beside_pyspark(monkeypatch, capsys) -> None:
    fetched: list[str] = []

    def ensure(jar_set: jars.JarSet) -> Path:
        fetched.append(jar_set.variable)
        return Path("somewhere")

    monkeypatch.setattr(jars.JarSet, "ensure", ensure)
    monkeypatch.setattr(jars, "find_spec", lambda name: None)
    assert jars.main([]) == 0
    assert fetched == ["KAFKA_JARS", "KAFKA_TIERED_JARS", "KAFKA_STREAMS_JARS"]
    fetched.clear()
    monkeypatch.setattr(jars, "find_spec", lambda name: object())
    assert jars.main([]) == 0
    others = ["KAFKA_JARS", "KAFKA_TIERED_JARS", "KAFKA_STREAMS_JARS"]
    assert fetched == [*others, "SPARK_JARS", "DELTA_JARS"]


def test_setup_goes_on_without_delta_and_says_so(monkeypatch, capsys) -> None:
    def ensure(jar_set: jars.JarSet) -> Path:
        if jar_set is jars.DELTA:
            raise jars.JarsMissing("Maven could not fetch them")
        return Path("somewhere")

    monkeypatch.setattr(jars.JarSet, "ensure", ensure)
    monkeypatch.setattr(jars, "find_spec", lambda name: object())
    assert jars.main([]) == 0
    said = capsys.readouterr().out
    assert "Parquet tables, not Delta tables: Maven could not fetch them" in said


@pytest.mark.spark
@pytest.mark.real
def test_the_installed_connector_is_the_recorded_one() -> None:
    jars.SPARK.verify(jars.SPARK.ensure(), jars.SPARK.recorded())


MERGED = """
from kit import jars, spark
jars.DELTA.ensure()
session = spark.session()
assert spark.table_format(session) == "delta"
table = str(spark.temporary() / "orders")
rows = session.createDataFrame([("a", 1), ("b", 1)], "id STRING, revision INT")
rows.write.format(spark.table_format(session)).save(table)
newer = session.createDataFrame([("b", 2), ("c", 1)], "id STRING, revision INT")
newer.createOrReplaceTempView("n")
session.sql(
    f"MERGE INTO delta.`{table}` t USING n ON t.id = n.id "
    "WHEN MATCHED AND n.revision > t.revision THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
)
again = rows.write.format("delta").mode("append")
for attempt in range(2):  # a batch that is repeated: the table's log knows it
    again.option("txnAppId", "lab").option("txnVersion", 1).save(table)
found = session.read.format("delta").load(table).orderBy("id", "revision").collect()
print([tuple(row) for row in found])
of_delta = session._jvm.org.apache.spark.sql.delta.sources.DeltaSQLConf
print(session.conf.get(of_delta.DELTA_LOG_CACHE_SIZE().key()))
"""


@pytest.mark.full
@pytest.mark.spark
@pytest.mark.real
@pytest.mark.timeout(300)
def test_a_delta_table_takes_a_merge_and_a_repeated_batch_once() -> None:
    done = subprocess.run(
        [sys.executable, "-c", MERGED], capture_output=True, text=True, cwd=PROJECT
    )
    assert done.returncode == 0, done.stderr
    rows, tables_in_memory = done.stdout.splitlines()
    assert rows == str([("a", 1), ("a", 1), ("b", 1), ("b", 2), ("c", 1)])
    assert tables_in_memory == "32"
